// Steps of CG in coordinates, against those of the vectors themselves.

#include "cg/stencil/power_front.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/plain_laplacian.hpp"

namespace cg2d::cg_coordinates_test {
namespace {

using test::add;
using test::dot;
using test::Vector;

constexpr comm::Extents shape{9, 8, 7};

struct Bases {
  std::vector<Vector> p;
  std::vector<Vector> r;
};
Bases bases_of(const test::PlainCg& cg, int steps) {
  return {.p = test::chebyshev_basis(shape, cg.p, steps), .r = test::chebyshev_basis(shape, cg.r, steps)};
}

std::vector<kernels::PowerSums> sums_of(const Bases& bases) {
  std::vector<kernels::PowerSums> sums;
  for (size_t j = 0; j < bases.p.size(); ++j) {
    const auto before = j > 0 ? j - 1 : 0;
    sums.push_back({.pp = dot(bases.p[j], bases.p[j]),
                    .rr = dot(bases.r[j], bases.r[j]),
                    .pr = dot(bases.p[j], bases.r[j]),
                    .pp_before = dot(bases.p[j], bases.p[before]),
                    .rr_before = dot(bases.r[j], bases.r[before]),
                    .pr_before = dot(bases.p[j], bases.r[before])});
  }
  return sums;
}

Vector combination(const Bases& bases, const CoordinateSteps& steps,
                   std::array<double, 2> kernels::PowerWeights::*weights) {
  Vector vector(bases.p.front().size());
  for (size_t j = 0; j < steps.weights.size(); ++j) {
    add(vector, (steps.weights[j].*weights)[0], bases.p[j]);
    add(vector, (steps.weights[j].*weights)[1], bases.r[j]);
  }
  return vector;
}

void expect_near(const Vector& actual, const Vector& expected, double tolerance) {
  auto difference = actual;
  add(difference, -1.0, expected);
  EXPECT_LE(std::sqrt(dot(difference, difference)), tolerance * std::sqrt(dot(expected, expected)));
}

TEST(CgCoordinatesTest, StepsLeadToTheVectorsOfPlainSteps) {
  for (const int made_before : {0, 3, 10}) {
    for (const int steps : {1, 2, 4, 8}) {
      SCOPED_TRACE(testing::Message() << made_before << " steps before, " << steps);
      test::PlainCg cg(shape);
      for (int k = 0; k < made_before; ++k) cg.step();
      const auto bases = bases_of(cg, steps);
      const auto result = step_in_coordinates(sums_of(bases), steps);
      ASSERT_EQ(result.step_count, steps);
      auto x = cg.x;
      add(x, 1.0, combination(bases, result, &kernels::PowerWeights::x));
      for (int k = 0; k < steps; ++k) {
        cg.step();
        EXPECT_NEAR(std::sqrt(result.square_sums[static_cast<size_t>(k)]), std::sqrt(dot(cg.r, cg.r)),
                    1e-8 * std::sqrt(dot(bases.r.front(), bases.r.front())));
      }
      // A basis of 8 polynomials loses up to 8 of 16 digits.
      expect_near(x, cg.x, 1e-8);
      expect_near(combination(bases, result, &kernels::PowerWeights::r), cg.r, 1e-6);
      expect_near(combination(bases, result, &kernels::PowerWeights::p), cg.p, 1e-6);
    }
  }
}

TEST(CgCoordinatesTest, TheyEndWhereRIsShortEnough) {
  test::PlainCg cg(shape);
  const auto sums = sums_of(bases_of(cg, 8));
  for (int k = 0; k < 3; ++k) cg.step();
  const double after_three = dot(cg.r, cg.r);
  const auto result = step_in_coordinates(sums, 8, 1.001 * after_three);
  EXPECT_EQ(result.step_count, 3);
  EXPECT_NEAR(result.square_sums.back(), after_three, 1e-8 * after_three);
}

TEST(CgCoordinatesTest, NothingIsLeftAfterTheLastDigit) {
  // One point: the first step solves it.
  const comm::Extents point{1, 1, 1};
  const test::PlainCg cg(point);
  const Bases bases{.p = test::chebyshev_basis(point, cg.p, 4), .r = test::chebyshev_basis(point, cg.r, 4)};
  const auto result = step_in_coordinates(sums_of(bases), 4);
  EXPECT_EQ(result.step_count, 1);
  EXPECT_NEAR(combination(bases, result, &kernels::PowerWeights::x).front(), 1.0 / 6.0, 1e-15);
  EXPECT_NEAR(combination(bases, result, &kernels::PowerWeights::r).front(), 0.0, 1e-15);
}

TEST(CgCoordinatesTest, NoStepWithoutADirection) {
  const std::vector<kernels::PowerSums> zeros(3);
  EXPECT_EQ(step_in_coordinates(zeros, 2).step_count, 0);
  std::vector<kernels::PowerSums> no_direction(3);
  no_direction[0].rr = 1.0;
  EXPECT_EQ(step_in_coordinates(no_direction, 2).step_count, 0);
}

}  // namespace
}  // namespace cg2d::cg_coordinates_test
