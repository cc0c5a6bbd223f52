// IC(0) factors compared with dense ones, and their breakdown.

#include "cg/solver/preconditioners/incomplete_cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "support/dense_operator.hpp"

namespace cg2d::incomplete_cholesky_test {
namespace {

constexpr double rounding_of_factors = 4.0 * std::numeric_limits<float>::epsilon();

using test::DenseRows;

kernels::CsrBlock block_of(const DenseRows& rows) { return test::DenseOperator(rows).diagonal_block(); }

/// L D L^T z = r by dense loops, L D L^T without fill-in from the textbook's order (by columns, not by rows).
std::vector<double> dense_solution(DenseRows a, std::vector<double> r) {
  const size_t size = a.size();
  const DenseRows pattern = a;
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

TEST(IncompleteCholeskyTest, HasThePatternOfTheBlockAndTheNumbersOfTheDenseLoops) {
  // The Laplacian of a box of 4 x 3 x 2 points.
  DenseRows laplacian(24, std::vector<double>(24));
  for (size_t k = 0; k < 24; ++k) {
    laplacian[k][k] = 6.0;
    if (k % 4 > 0) laplacian[k][k - 1] = laplacian[k - 1][k] = -1.0;
    if (k % 12 >= 4) laplacian[k][k - 4] = laplacian[k - 4][k] = -1.0;
    if (k >= 12) laplacian[k][k - 12] = laplacian[k - 12][k] = -1.0;
  }
  const DenseRows four{{4, 0, 1, 1}, {0, 5, 0, 2}, {1, 0, 6, 1}, {1, 2, 1, 7}};
  for (const auto& rows : {laplacian, four, DenseRows{{3.0}}, DenseRows{}}) {
    const auto block = block_of(rows);
    const auto factors = IncompleteCholesky::factorize(block, diagonal_of(block), 0.0);
    ASSERT_TRUE(factors.has_value());
    std::vector<double> r(rows.size());
    for (size_t k = 0; k < r.size(); ++k) r[k] = std::sin(1.0 + static_cast<double>(k));
    std::vector<double> z(r.size());
    factors->solve(r, z);
    const auto expected = dense_solution(rows, r);
    // Diagonally dominant: a few roundings of L to single precision, of numbers of about 1.
    for (size_t k = 0; k < z.size(); ++k) EXPECT_NEAR(z[k], expected[k], rounding_of_factors) << "row " << k;
  }
}

TEST(IncompleteCholeskyTest, BreaksDownWhereAPivotOrAnEntryIsUnusable) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    DenseRows rows;
    double shift;
    bool is_factorized;
  };
  // Positive definite (Kershaw 1978), but the last pivot without fill-in is -5.
  const DenseRows kershaw{{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
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
