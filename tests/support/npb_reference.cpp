#include "support/npb_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/bits.hpp"

namespace cg2d::test {
namespace {

/// The generator of the NAS benchmarks as their definition writes it (RNR-94-007, section 2.3): doubles,
/// split into halves of 23 bits. Every operation is exact. Advances x and returns x * 2^-46.
double randlc(double& x) {
  constexpr double a = 1'220'703'125.0;
  constexpr double r23 = 0x1p-23;
  constexpr double t23 = 0x1p23;
  constexpr double r46 = 0x1p-46;
  constexpr double t46 = 0x1p46;
  const double a1 = std::trunc(r23 * a);
  const double a2 = a - t23 * a1;
  const double x1 = std::trunc(r23 * x);
  const double x2 = x - t23 * x1;
  const double t1 = a1 * x2 + a2 * x1;
  const double z = t1 - t23 * std::trunc(r23 * t1);
  const double t3 = t23 * z + a2 * x2;
  x = t3 - t46 * std::trunc(r46 * t3);
  return r46 * x;
}

}  // namespace

ReferenceVectors draw_reference_vectors(const Problem& problem) {
  double range = 1.0;  // the smallest power of two >= n
  while (range < static_cast<double>(problem.n)) range *= 2.0;
  ReferenceVectors drawn;
  double state = 314'159'265.0;
  randlc(state);  // made and discarded before generation starts
  for (int32_t i = 0; i < problem.n; ++i) {
    std::map<int32_t, double> vector;
    while (static_cast<int>(vector.size()) < problem.nonzer) {
      const double value = randlc(state);
      const auto position = static_cast<int64_t>(range * randlc(state));
      if (position >= problem.n) {
        ++drawn.out_of_range_pairs;
      } else if (!vector.emplace(static_cast<int32_t>(position), value).second) {
        ++drawn.duplicate_pairs;
      }
    }
    vector[i] = 0.5;
    drawn.vectors.push_back(std::move(vector));
  }
  drawn.final_seed = static_cast<uint64_t>(state);
  return drawn;
}

ReferenceMatrix build_reference_matrix(const Problem& problem, const ReferenceVectors& drawn) {
  ReferenceMatrix matrix(static_cast<size_t>(problem.n));
  const double ratio = std::pow(Problem::rcond, 1.0 / static_cast<double>(problem.n));
  double weight = 1.0;
  for (size_t i = 0; i < drawn.vectors.size(); ++i, weight *= ratio) {
    for (const auto& [row, row_value] : drawn.vectors[i]) {
      for (const auto& [column, column_value] : drawn.vectors[i]) {
        // volatile: a product that is fused with its addition (-march=native) would have other bits.
        const volatile double product = weight * (row_value * column_value);
        matrix[static_cast<size_t>(row)][column] += product;
      }
    }
  }
  for (size_t row = 0; row < matrix.size(); ++row) {
    matrix[row][static_cast<int32_t>(row)] += Problem::rcond - problem.shift;
  }
  return matrix;
}

void expect_block(const kernels::CsrBlock& block, const ReferenceMatrix& matrix, const comm::IndexRange& rows,
                  const comm::IndexRange& columns) {
  EXPECT_EQ(block.row_count, rows.size());
  EXPECT_EQ(block.column_count, columns.size());
  std::vector<int64_t> row_starts{0};
  std::vector<int32_t> expected_columns;
  std::vector<double> expected_values;
  for (auto row = rows.begin; row < rows.end; ++row) {
    for (const auto& [column, value] : matrix[static_cast<size_t>(row)]) {
      if (!columns.contains(column)) continue;
      expected_columns.push_back(static_cast<int32_t>(column - columns.begin));
      expected_values.push_back(value);
    }
    row_starts.push_back(std::ssize(expected_columns));
  }
  EXPECT_TRUE(std::ranges::equal(block.row_starts.span(), row_starts));
  EXPECT_TRUE(std::ranges::equal(block.columns.span(), expected_columns));
  EXPECT_TRUE(same_bits(block.values.span(), expected_values));
}

Problem custom_problem(int64_t n, int nonzer, double shift, int niter) {
  return {.class_name = "U", .n = n, .nonzer = nonzer, .niter = niter, .shift = shift, .reference_zeta = {}};
}

std::vector<Problem> awkward_problems() {
  return {custom_problem(1, 1),    custom_problem(2, 1),  custom_problem(2, 2),   custom_problem(3, 3),
          custom_problem(5, 2),    custom_problem(10, 9), custom_problem(10, 10), custom_problem(16, 16),
          custom_problem(17, 3),   custom_problem(64, 1), custom_problem(97, 60), custom_problem(257, 20),
          custom_problem(1021, 5), *find_class("S")};
}

}  // namespace cg2d::test
