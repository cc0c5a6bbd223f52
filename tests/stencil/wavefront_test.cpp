// Passes of several steps: the bits of plain steps for every number of steps, slab and instruction set; and the closed form.

#include "cg/stencil/wavefront.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/heat_domain.hpp"

namespace cg2d::wavefront_test {
namespace {

using test::HeatDomain;

constexpr std::array<comm::Extents, 6> shapes{
    {{1, 1, 1}, {5, 4, 9}, {8, 3, 12}, {17, 1, 8}, {1, 9, 10}, {300, 40, 11}}};

/// A plane of WavefrontBorders.
double* border_plane(std::vector<double>& planes, const PlaneLayout& layout, int step, int64_t number) {
  return planes.data() + SkewedPass::border_place(step, number) * layout.size();
}

/// One pass over a slab of `result`, in place. plain: the domain after each number of steps, where the next rank's planes come from.
/// Returns whether those for the rank before are right.
bool make_pass(std::vector<HeatDomain>& plain, HeatDomain& result, Wavefront& wavefront,
               const SkewedPass& pass, int planes_at_once) {
  const auto& layout = result.layout();
  std::vector<double> lent_planes(
      static_cast<size_t>(SkewedPass::border_planes * pass.step_count * layout.size()));
  auto borrowed_planes = lent_planes;
  for (int step = 0; step < pass.step_count; ++step) {
    const auto borrowed = pass.borrowed(step);
    for (auto z = borrowed.begin; z < borrowed.end; ++z)
      std::copy_n(plain[static_cast<size_t>(step)].plane(z), layout.size(),
                  border_plane(borrowed_planes, layout, step, z - borrowed.begin));
  }
  int looks = 0;
  wavefront.begin(pass,
                  {.lent = lent_planes.data(), .borrowed = borrowed_planes.data(), .look = [&] { ++looks; }});
  const auto wavefront_steps = wavefront.wavefront_steps();
  for (auto first = wavefront_steps.begin; first < wavefront_steps.end; first += planes_at_once) {
    std::vector<const double*> given;
    std::vector<double*> made;
    for (auto z = first; z < first + planes_at_once; ++z) {
      const auto made_z = z - pass.step_count;
      given.push_back(pass.slab.contains(z) ? result.plane(z) : nullptr);
      made.push_back(pass.planes(pass.step_count).contains(made_z) ? result.plane(made_z) : nullptr);
    }
    wavefront.advance(first, given, made);
  }
  bool is_right = looks > 0;
  for (int step = 0; step < pass.step_count; ++step) {
    const auto lent = pass.lent(step);
    for (auto z = lent.begin; z < lent.end; ++z) {
      const double* const expected = plain[static_cast<size_t>(step)].plane(z);
      is_right = is_right && std::equal(expected, expected + layout.size(),
                                        border_plane(lent_planes, layout, step, z - lent.begin));
    }
  }
  return is_right;
}

bool equal(HeatDomain& a, HeatDomain& b, const comm::IndexRange& planes) {
  for (auto z = planes.begin; z < planes.end; ++z) {
    if (!std::equal(a.plane(z), a.plane(z) + a.layout().size(), b.plane(z))) return false;
  }
  return true;
}

/// The slabs that begin at a plane and have two planes, five, or all that follow, from which so many steps can be made: neither they nor the
/// next rank's slab become too thin.
std::vector<comm::IndexRange> slabs_of(int64_t plane_count, int steps) {
  constexpr auto least = SkewedPass::border_planes;
  std::vector<comm::IndexRange> slabs;
  for (int64_t begin = 0; begin < plane_count; ++begin) {
    for (const auto end : {begin + 2, begin + 5, plane_count}) {
      const bool is_last = end == plane_count;
      const auto thinnest = is_last && begin > 0 ? end - begin - steps + 1 : end - begin;
      const bool next_is_thick = is_last || plane_count - end - steps + 1 >= least;
      if (end <= plane_count && next_is_thick && (begin == 0 || thinnest >= least))
        slabs.push_back({.begin = begin, .end = end});
    }
  }
  return slabs;
}

/// For each number of steps, 0 to 7, the domain after them.
std::vector<HeatDomain> plain_steps(const comm::Extents& shape) {
  std::vector<HeatDomain> domains{HeatDomain(shape)};
  while (domains.size() <= 7) {
    domains.push_back(domains.back());
    domains.back().step();
  }
  return domains;
}

TEST(WavefrontTest, PassesHaveTheBitsOfPlainSteps) {
  for (const auto& shape : shapes) {
    auto plain = plain_steps(shape);
    for (const int planes_at_once : {1, 2, 8}) {
      for (const auto set : kernels::of_this_processor(kernels::sets_without_gathers)) {
        Wavefront wavefront(PlaneLayout(shape), {.most_steps = 7, .planes_at_once = planes_at_once},
                            kernels::heat_loop(set));
        // Values that an earlier pass has left do not count: the first pass is the longest.
        for (const int steps : {7, 1, 2, 3, 4, 5, 6}) {
          for (const auto& slab : slabs_of(shape[2], steps)) {
            SCOPED_TRACE(std::to_string(steps) + " steps, planes " + std::to_string(slab.begin) + " to " +
                         std::to_string(slab.end) + ", " + std::to_string(planes_at_once) + " at once, " +
                         std::string(name_of(set)));
            const SkewedPass pass{.domain_planes = shape[2], .slab = slab, .step_count = steps};
            HeatDomain result = plain.front();
            ASSERT_TRUE(make_pass(plain, result, wavefront, pass, planes_at_once)) << "lent planes";
            ASSERT_TRUE(equal(result, plain[static_cast<size_t>(steps)], pass.planes(steps)));
          }
        }
      }
    }
  }
}

TEST(HeatFieldTest, StepsFollowTheClosedForm) {
  for (const auto& shape : shapes) {
    HeatDomain domain(shape);
    const HeatField field(shape);
    for (int step = 0; step <= 40; ++step) {
      double largest = 0.0;
      for (int64_t z = 0; z < shape[2]; ++z)
        largest = std::max(largest, field.compare(z, step, domain.plane(z)).largest_error);
      EXPECT_LE(largest, field.tolerance(step)) << "step " << step;
      domain.step();
    }
  }
}

TEST(HeatFieldTest, AWrongPointOrPlaneShows) {
  const comm::Extents shape{20, 15, 5};
  const HeatField field(shape);
  for (const double wrong : {1e-9, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    HeatDomain domain(shape);
    const auto right = field.compare(2, 0, domain.plane(2));
    EXPECT_LE(right.largest_error, field.tolerance(0));
    domain.plane(2)[domain.layout().line(3) + 7] += wrong;
    const auto figures = field.compare(2, 0, domain.plane(2));
    EXPECT_FALSE(figures.largest_error <= field.tolerance(64)) << wrong;
    EXPECT_NE(figures.checksum, right.checksum);
  }
  HeatDomain domain(shape);
  EXPECT_FALSE(field.compare(3, 0, domain.plane(4)).largest_error <= field.tolerance(64)) << "plane";
}

}  // namespace
}  // namespace cg2d::wavefront_test
