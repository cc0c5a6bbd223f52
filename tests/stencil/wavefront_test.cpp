// Passes of several steps: the bits of plain steps for every number of steps, slab and instruction set; and the closed form.

#include "cg/stencil/wavefront.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cg/stencil/heat_field.hpp"
#include "support/heat_domain.hpp"

namespace cg2d {
namespace {

using test::HeatDomain;

constexpr std::array<comm::Extents, 6> shapes{
    {{1, 1, 1}, {5, 4, 9}, {8, 3, 12}, {17, 1, 8}, {1, 9, 10}, {300, 40, 11}}};

/// One pass over a slab of `start`; planes of other slabs come from it, too. The slab is stepped in place in `result`.
void make_pass(HeatDomain& start, HeatDomain& result, Wavefront& wavefront, const SlabPass& pass,
               int planes_per_moment) {
  wavefront.begin(pass);
  const auto moments = wavefront.moments();
  for (auto first = moments.begin; first < moments.end; first += planes_per_moment) {
    std::vector<const double*> given;
    std::vector<double*> made;
    for (auto z = first; z < first + planes_per_moment; ++z) {
      const auto made_z = z - pass.step_count;
      given.push_back(pass.slab.contains(z)        ? result.plane(z)
                      : pass.planes(0).contains(z) ? start.plane(z)
                                                   : nullptr);
      made.push_back(pass.slab.contains(made_z) ? result.plane(made_z) : nullptr);
    }
    wavefront.advance(first, given, made);
  }
}

bool equal(HeatDomain& a, HeatDomain& b, const comm::IndexRange& planes) {
  for (auto z = planes.begin; z < planes.end; ++z) {
    if (!std::equal(a.plane(z), a.plane(z) + a.layout().size(), b.plane(z))) return false;
  }
  return true;
}

TEST(SlabPassTest, PlanesShrinkTowardsTheSlab) {
  const SlabPass pass{.domain_planes = 10, .slab = {.begin = 2, .end = 5}, .step_count = 3};
  EXPECT_EQ(pass.planes(0), (comm::IndexRange{.begin = 0, .end = 8}));
  EXPECT_EQ(pass.planes(1), (comm::IndexRange{.begin = 0, .end = 7}));
  EXPECT_EQ(pass.planes(2), (comm::IndexRange{.begin = 1, .end = 6}));
  EXPECT_EQ(pass.planes(3), pass.slab);
  EXPECT_EQ(pass.computed_planes(), 7 + 5 + 3);
}

TEST(PlaneLayoutTest, LinesHaveZerosAroundThemAndPlanesAreAligned) {
  for (const auto& shape : shapes) {
    const PlaneLayout layout(shape);
    EXPECT_EQ(layout.byte_count() % plane_alignment, 0);
    EXPECT_GT(layout.stride(), layout.line_length);
    EXPECT_GE(layout.line(0), 1);
    EXPECT_LE(layout.line(layout.line_count), layout.size());
    EXPECT_EQ(layout.line(3) % 8, 0);
  }
}

/// All slabs that begin at a plane and have one plane, four, or all that follow.
std::vector<comm::IndexRange> slabs_of(std::int64_t plane_count) {
  std::vector<comm::IndexRange> slabs;
  for (std::int64_t begin = 0; begin < plane_count; ++begin) {
    for (const auto end : {begin + 1, begin + 4, plane_count}) {
      if (end <= plane_count) slabs.push_back({.begin = begin, .end = end});
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
    const auto plain = plain_steps(shape);
    for (const int planes_per_moment : {1, 2, 8}) {
      for (const auto set : kernels::heat_instruction_sets()) {
        Wavefront wavefront(
            PlaneLayout(shape),
            {.most_steps = 7, .planes_per_moment = planes_per_moment, .loop = kernels::heat_loop(set)});
        for (const auto& slab : slabs_of(shape[2])) {
          // What an earlier pass has left does not count: the first one is the longest.
          for (const int steps : {7, 1, 2, 3, 4, 5, 6}) {
            HeatDomain start = plain.front();
            HeatDomain result = plain.front();
            HeatDomain expected = plain[static_cast<std::size_t>(steps)];
            make_pass(start, result, wavefront,
                      {.domain_planes = shape[2], .slab = slab, .step_count = steps}, planes_per_moment);
            ASSERT_TRUE(equal(result, expected, slab))
                << shape[0] << "x" << shape[1] << "x" << shape[2] << ", " << steps << " steps, planes "
                << slab.begin << " to " << slab.end << ", " << planes_per_moment << " at once, "
                << name_of(set);
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
      for (std::int64_t z = 0; z < shape[2]; ++z)
        largest = std::max(largest, field.compare(z, step, domain.plane(z)).largest_error);
      EXPECT_LE(largest, field.tolerance(step)) << "step " << step;
      domain.step();
    }
  }
}

TEST(HeatFieldTest, AWrongPointShows) {
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
}

TEST(HeatFieldTest, APlaneInTheWrongPlaceShows) {
  const comm::Extents shape{20, 15, 9};
  const HeatField field(shape);
  HeatDomain domain(shape);
  EXPECT_FALSE(field.compare(3, 0, domain.plane(4)).largest_error <= field.tolerance(64));
}

}  // namespace
}  // namespace cg2d
