// Passes of several steps over slabs: heat with the bits of plain steps for every number of steps, slab and instruction set, and in closed
// form; Chebyshev polynomials against those of the whole domain, and steps of CG in their coordinates.

#include "cg/stencil/wavefront.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cg/stencil/power_front.hpp"
#include "support/heat_domain.hpp"
#include "support/plain_laplacian.hpp"

namespace cg2d::wavefront_test {
namespace {

using test::HeatDomain;
using test::Vector;

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

// ---------------------------------------------------------------- Chebyshev polynomials

Vector random_vector(const comm::Extents& shape, unsigned seed) {
  std::minstd_rand random(seed);
  Vector vector(static_cast<size_t>(comm::whole_domain(shape).size()));
  for (auto& value : vector) value = static_cast<double>(random()) / 1e9 - 1.0;
  return vector;
}

/// Plane z of p and r: lines of p, a zero, r, and numbers that do not belong to them.
std::vector<double> plane_of(const comm::Extents& shape, const PlaneLayout& layout, const Vector& p,
                             const Vector& r, int64_t z) {
  std::vector<double> plane(static_cast<size_t>(layout.size()), 99.0);
  for (int64_t y = 0; y < shape[1]; ++y) {
    auto* const line = plane.data() + layout.line(y);
    const auto* const from = p.data() + (z * shape[1] + y) * shape[0];
    const auto* const from_r = r.data() + (z * shape[1] + y) * shape[0];
    std::copy_n(from, shape[0], line);
    line[shape[0]] = 0.0;
    std::copy_n(from_r, shape[0], line + shape[0] + 1);
  }
  return plane;
}

/// Visits of a place: for each the step that came.
using Steps = std::map<std::tuple<int64_t, int64_t>, std::vector<int>>;

struct FrontCase {
  comm::Extents shape;
  SlabPass pass;
  int planes_at_once;
};

void expect_polynomials(const FrontCase& test, PowerFront& front, const PlaneLayout& given_layout) {
  const auto& shape = test.shape;  // no structured binding: clang 14 lets no lambda capture one
  const auto& pass = test.pass;
  const int n = test.planes_at_once;
  const auto p = random_vector(shape, 1);
  const auto r = random_vector(shape, 2);
  const auto of_p = test::chebyshev_basis(shape, p, pass.step_count);
  const auto of_r = test::chebyshev_basis(shape, r, pass.step_count);
  Steps steps;
  const auto expect_line = [&](const double* line, const Vector& expected, const PowerFront::Line& at) {
    for (int64_t x = 0; x < shape[0]; ++x)
      ASSERT_NEAR(line[x], expected[static_cast<size_t>((at.z * shape[1] + at.y) * shape[0] + x)], 1e-12)
          << "step " << at.step << ", point " << x << " " << at.y << " " << at.z;
  };
  front.begin(pass);
  for (auto first = pass.planes(0).begin; first < pass.slab.end + pass.step_count; first += n) {
    std::vector<std::vector<double>> planes(static_cast<size_t>(n));
    std::vector<const double*> given(planes.size());
    for (size_t k = 0; k < planes.size(); ++k) {
      const auto z = first + static_cast<int64_t>(k);
      if (!pass.planes(0).contains(z)) continue;
      planes[k] = plane_of(shape, given_layout, p, r, z);
      given[k] = planes[k].data();
    }
    front.advance(first, given, [&](const PowerFront::Line& line) {
      const auto step = static_cast<size_t>(line.step);
      steps[{line.z, line.y}].push_back(line.step);
      expect_line(line.now.p, of_p[step], line);
      expect_line(line.now.r, of_r[step], line);
      const Vector zeros(p.size());
      expect_line(line.before.p, step > 0 ? of_p[step - 1] : zeros, line);
      expect_line(line.before.r, step > 0 ? of_r[step - 1] : zeros, line);
    });
  }
  for (auto z = pass.planes(0).begin; z < pass.planes(0).end; ++z) {
    std::vector<int> expected;
    for (int step = 0; step <= pass.step_count; ++step) {
      if (pass.planes(step).contains(z)) expected.push_back(step);
    }
    for (int64_t y = 0; y < shape[1]; ++y)
      EXPECT_EQ((steps[{z, y}]), expected) << "plane " << z << ", line " << y;
  }
}

TEST(PowerFrontTest, PassesOverSlabsMakeThePolynomialsOfTheDomain) {
  for (const auto& shape : {comm::Extents{1, 1, 1}, {5, 4, 9}, {17, 1, 8}, {1, 9, 10}, {40, 12, 13}}) {
    const PlaneLayout domain(shape);
    const PlaneLayout given({3 * shape[0] + 2, shape[1], shape[2]});
    for (const int n : {1, 2, 4}) {
      PowerFront front(domain, given, {.most_steps = 5, .planes_at_once = n});
      for (const comm::IndexRange& slab : {comm::IndexRange{.begin = 0, .end = shape[2]},
                                           {.begin = 0, .end = 1},
                                           {.begin = shape[2] / 2, .end = shape[2]},
                                           {.begin = shape[2] / 3, .end = shape[2] / 3 + 1}}) {
        // Values that an earlier pass has left do not count.
        for (const int steps : {5, 0, 1, 2, 3, 4}) {
          SCOPED_TRACE(testing::Message()
                       << shape[0] << "x" << shape[1] << "x" << shape[2] << ", " << n << " planes, slab "
                       << slab.begin << " to " << slab.end << ", " << steps << " steps");
          expect_polynomials({.shape = shape,
                              .pass = {.domain_planes = shape[2], .slab = slab, .step_count = steps},
                              .planes_at_once = n},
                             front, given);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// ---------------------------------------------------------------- steps of CG in coordinates (on domains: stencil_run_test.cpp)

/// One point: A = 6, so that T_j((A - 6) / 6) r = T_j(0) r, and the first step solves A x = 1.
TEST(CgCoordinatesTest, NothingIsLeftAfterTheLastDigit) {
  const std::vector<double> basis{1.0, 0.0, -1.0, 0.0, 1.0};
  std::vector<kernels::PowerSums> sums;
  for (size_t j = 0; j < basis.size(); ++j) {
    const double square = basis[j] * basis[j];
    const double before = basis[j] * basis[j > 0 ? j - 1 : 0];
    sums.push_back({.pp = square,
                    .rr = square,
                    .pr = square,
                    .pp_before = before,
                    .rr_before = before,
                    .pr_before = before});
  }
  const auto result = step_in_coordinates(sums, 4);
  EXPECT_EQ(result.step_count, 1);
  double x = 0.0;
  double r = 0.0;
  for (size_t j = 0; j < result.weights.size(); ++j) {
    x += (result.weights[j].x[0] + result.weights[j].x[1]) * basis[j];
    r += (result.weights[j].r[0] + result.weights[j].r[1]) * basis[j];
  }
  EXPECT_NEAR(x, 1.0 / 6.0, 1e-15);
  EXPECT_NEAR(r, 0.0, 1e-15);
}

TEST(CgCoordinatesTest, NoStepWithoutADirection) {
  const std::vector<kernels::PowerSums> zeros(3);
  EXPECT_EQ(step_in_coordinates(zeros, 2).step_count, 0);
  std::vector<kernels::PowerSums> no_direction(3);
  no_direction[0].rr = 1.0;
  EXPECT_EQ(step_in_coordinates(no_direction, 2).step_count, 0);
}

}  // namespace
}  // namespace cg2d::wavefront_test
