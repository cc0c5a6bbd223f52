// IC(0) factors compared with dense ones, and their breakdown.

#include "cg/solver/preconditioners/incomplete_cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/stencil_blocks.hpp"

namespace cg2d::incomplete_cholesky_test {
namespace {

constexpr double rounding_of_factors = 4.0 * std::numeric_limits<float>::epsilon();

using Dense = std::vector<std::vector<double>>;

kernels::CsrBlock block_of(const Dense& rows) {
  std::vector<std::vector<kernels::CsrBlock::Entry>> entries(rows.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t column = 0; column < rows.size(); ++column) {
      if (rows[row][column] == 0.0) continue;
      entries[row].push_back({.column = static_cast<int32_t>(column), .value = rows[row][column]});
    }
  }
  return kernels::CsrBlock::from_rows(static_cast<int64_t>(rows.size()), entries);
}

Dense dense_of(const kernels::CsrBlock& block) {
  const auto size = static_cast<size_t>(block.row_count);
  Dense rows(size, std::vector<double>(size));
  for (size_t row = 0; row < size; ++row) {
    for (auto entry = block.row_starts[row]; entry < block.row_starts[row + 1]; ++entry) {
      const auto place = static_cast<size_t>(entry);
      rows[row][static_cast<size_t>(block.columns[place])] = block.values[place];
    }
  }
  return rows;
}

/// L D L^T z = r by dense loops, L D L^T without fill-in from the textbook's order (by columns, not by rows).
std::vector<double> dense_solution(Dense a, std::vector<double> r) {
  const size_t size = a.size();
  const Dense pattern = a;
  for (size_t k = 0; k < size; ++k) {
    for (size_t row = k + 1; row < size; ++row) {
      for (size_t column = k + 1; column <= row; ++column) {
        if (pattern[row][column] != 0.0) a[row][column] -= a[row][k] * a[column][k] / a[k][k];
      }
    }
  }
  for (size_t row = 0; row < size; ++row) {
    for (size_t k = 0; k < row; ++k) r[row] -= a[row][k] / a[k][k] * r[k];
  }
  for (size_t row = 0; row < size; ++row) r[row] /= a[row][row];
  for (size_t row = size; row-- > 0;) {
    for (size_t k = row + 1; k < size; ++k) r[row] -= a[k][row] / a[row][row] * r[k];
  }
  return r;
}

std::vector<double> waves(size_t size) {
  std::vector<double> r(size);
  for (size_t k = 0; k < size; ++k) r[k] = std::sin(1.0 + static_cast<double>(k));
  return r;
}

void expect_dense_solution(const kernels::CsrBlock& block) {
  const auto diagonal = diagonal_of(block);
  const auto factors = IncompleteCholesky::factorize(block, diagonal, 0.0);
  EXPECT_TRUE(factors.has_value());
  if (!factors) return;
  const auto r = waves(diagonal.size());
  std::vector<double> z(r.size());
  factors->solve(r, z);
  const auto expected = dense_solution(dense_of(block), r);
  // Diagonally dominant: a few roundings of L to single precision, of numbers of about 1.
  for (size_t k = 0; k < z.size(); ++k) EXPECT_NEAR(z[k], expected[k], rounding_of_factors) << "row " << k;
}

TEST(IncompleteCholeskyTest, HasThePatternOfTheBlockAndTheNumbersOfTheDenseLoops) {
  expect_dense_solution(
      test::laplace_block({.nx = 4, .ny = 3, .nz = 2}, {.begin = 0, .end = 24}, {.begin = 0, .end = 24}));
  expect_dense_solution(block_of({{4, 0, 1, 1}, {0, 5, 0, 2}, {1, 0, 6, 1}, {1, 2, 1, 7}}));
  expect_dense_solution(block_of({{3}}));
  expect_dense_solution(block_of({}));
}

TEST(IncompleteCholeskyTest, BreaksDownWhereAPivotOrAnEntryIsUnusable) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    Dense rows;
    double shift;
    bool is_factorized;
  };
  // Positive definite (Kershaw 1978), but the last pivot without fill-in is -5.
  const Dense kershaw{{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
  const std::vector<Case> cases{{kershaw, 0.0, false},
                                {kershaw, 1e-3, false},
                                {kershaw, 1.0, true},
                                {{{2, nan}, {nan, 2}}, 0.0, false},
                                {{{2, infinity}, {infinity, 2}}, 0.0, false},
                                // The pivots are positive, l_21 is 1e39, beyond single precision, and 1e37.
                                {{{1e1, 1e40}, {1e40, 1e80}}, 0.0, false},
                                {{{1e1, 1e38}, {1e38, 1e80}}, 0.0, true}};
  for (const auto& [rows, shift, is_factorized] : cases) {
    const auto block = block_of(rows);
    EXPECT_EQ(IncompleteCholesky::factorize(block, diagonal_of(block), shift).has_value(), is_factorized)
        << rows[0][1] << ", shift " << shift;
  }
}

}  // namespace
}  // namespace cg2d::incomplete_cholesky_test
