// The table of preconditioners: what every row keeps to, and what its own properties are; diagonal blocks on every grid; and IC(0) factors.

#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/block_entries.hpp"
#include "support/dense_operator.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::preconditioner_test {
namespace {

using test::DenseOperator;
using test::DenseRows;
using test::group;
using test::line_rows;
using test::make_preconditioner;
using test::one_two_three;
using test::solve;

/// Solves A x = A (1, 2, 3, ...). Collective.
SystemSolveResult solve_with(const PreconditionerRow& row, const DenseRows& rows,
                             const ToleranceOptions& tolerance) {
  const auto b = DenseOperator::whole(DenseOperator(rows).times(one_two_three(rows.size())));
  return solve(rows, b, Tolerance(tolerance), {.preconditioner = row}).result;
}

/// M^-1 r for a whole r, whole. Collective.
std::vector<double> applied(Preconditioner& preconditioner, DenseOperator& matrix,
                            std::span<const double> r) {
  PhaseTimer timer;
  DistributedVectors vectors(matrix, timer, 1);
  return DenseOperator::whole(preconditioner.apply(matrix.piece_of(r), vectors));
}

DenseRows three_rows() { return {{4.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 2.0}}; }

/// The Laplacian of a box of 4 x 3 x 2 points.
DenseRows box_rows() {
  DenseRows rows(24, std::vector<double>(24));
  for (size_t k = 0; k < 24; ++k) {
    rows[k][k] = 6.0;
    if (k % 4 > 0) rows[k][k - 1] = rows[k - 1][k] = -1.0;
    if (k % 12 >= 4) rows[k][k - 4] = rows[k - 4][k] = -1.0;
    if (k >= 12) rows[k][k - 12] = rows[k - 12][k] = -1.0;
  }
  return rows;
}

/// M^-1 symmetric and positive definite: e_i . M^-1 e_j = e_j . M^-1 e_i, r . M^-1 r > 0.
TEST(PreconditionerTest, EveryRowIsSymmetricAndPositiveDefinite) {
  constexpr size_t size = 12;
  std::vector<double> eigenvalues;
  for (size_t k = 0; k < size; ++k) eigenvalues.push_back(std::pow(2.0, static_cast<double>(k)));
  for (const auto& row : preconditioner_table()) {
    for (const int degree : {2, 4, 6, 8}) {
      if (degree > 2 && row.default_degree == 0) continue;
      SCOPED_TRACE(std::string(row.name) + ", degree " + std::to_string(degree));
      DenseOperator matrix(test::rows_with_spectrum(eigenvalues, 5));
      const auto made = make_preconditioner(row, matrix, degree);
      DenseRows inverse;
      for (size_t k = 0; k < size; ++k) {
        std::vector<double> unit(size);
        unit[k] = 1.0;
        inverse.push_back(applied(*made, matrix, unit));
      }
      // Roundings of products and sums; those of a polynomial by Horner's rule are as many times larger as its coefficients without signs are.
      const double tolerance =
          row.default_degree == 0 ? 1e-13 : 1e-13 * std::pow(1.0 + std::sqrt(2.0), degree - 1);
      for (size_t i = 0; i < size; ++i) {
        for (size_t j = 0; j < i; ++j)
          EXPECT_NEAR(inverse[i][j], inverse[j][i], tolerance * std::sqrt(inverse[i][i] * inverse[j][j]));
      }
      const auto r = DenseOperator::whole(matrix.times(one_two_three(size)));
      const auto z = applied(*made, matrix, r);
      EXPECT_GT(std::inner_product(r.begin(), r.end(), z.begin(), 0.0), 0.0);
    }
  }
}

TEST(PreconditionerTest, NoneNeedsASumBeyondThoseOfCg) {
  for (const auto& row : preconditioner_table()) {
    SCOPED_TRACE(std::string(row.name));
    DenseOperator matrix(line_rows(23, 1.0));
    const auto made = make_preconditioner(row, matrix);
    const std::vector<double> r(matrix.local_size(), 1.0);
    PhaseTimer timer;
    DistributedVectors vectors(matrix, timer, 1);
    const int sums_before = matrix.sum_count;
    const int products_before = matrix.product_count;
    const auto z = made->apply(r, vectors);
    if (made->is_identity()) {
      EXPECT_EQ(z.data(), r.data());
      EXPECT_EQ(vectors.update_work(), VectorWork{});
    }
    EXPECT_EQ(matrix.sum_count, sums_before);
    EXPECT_EQ(matrix.product_count - products_before, row.default_degree);
    EXPECT_EQ(made->uses_products(), row.default_degree > 0);
  }
}

TEST(PreconditionerTest, IndefiniteMatricesAreNamedWithEveryRow) {
  auto rows = line_rows(9, 1.0);
  rows[4][4] = 0.5;  // positive, and too small beside its neighbours
  for (const auto& row : preconditioner_table()) {
    SCOPED_TRACE(std::string(row.name));
    const auto result = solve_with(row, rows, {});
    EXPECT_EQ(result.end, SolveEnd::not_positive_definite) << sentence_of(result);
  }
}

TEST(PreconditionerTest, ADiagonalThatHasNoInverseIsRefusedOnEveryRank) {
  for (const auto& row : preconditioner_table()) {
    if (row.diagonal == DiagonalUse::none && !row.needs_diagonal_block) continue;
    SCOPED_TRACE(std::string(row.name));
    // Each alone is the proof.
    for (const auto& [unusable, code] : {std::pair(0.0, ExitCode::not_positive_definite),
                                         {-1.0, ExitCode::not_positive_definite},
                                         {std::numeric_limits<double>::quiet_NaN(), ExitCode::not_finite},
                                         {std::numeric_limits<double>::infinity(), ExitCode::usage}}) {
      auto rows = three_rows();
      rows[0][0] = unusable;  // on one rank
      DenseOperator matrix(rows);
      EXPECT_NE(test::error_of(code, [&] { make_preconditioner(row, matrix); }), "no error") << unusable;
    }
    if (row.diagonal == DiagonalUse::where_known) continue;
    DenseOperator matrix(three_rows());
    EXPECT_THROW(row.make({.matrix = matrix}), InputError);
  }
}

// ---------------------------------------------------------------- single rows

TEST(PreconditionerTest, JacobiDividesByTheDiagonalAndCountsItsWork) {
  DenseOperator matrix(three_rows());
  const auto jacobi = make_preconditioner(*find_preconditioner("jacobi"), matrix);
  PhaseTimer timer;
  DistributedVectors vectors(matrix, timer, 1);
  const std::vector<double> whole_r{2.0, 6.0, -3.0};
  const auto r = matrix.piece_of(whole_r);
  const auto scaled = jacobi->apply(r, vectors);
  EXPECT_EQ(DenseOperator::whole(scaled), (std::vector<double>{0.5, 6.0 * (1.0 / 3.0), -1.5}));
  EXPECT_EQ(vectors.update_work().call_count, 1);
}

/// Its factors are rounded to single precision, so each step gains six digits or more.
TEST(PreconditionerTest, BlockJacobiIsNearlyExactOnOneRankWithoutFillIn) {
  if (group().size() > 1) return;
  for (const auto& [tolerance, step_count] : {std::pair(1e-5, 1), std::pair(1e-10, 2)}) {
    const auto result =
        solve_with(*find_preconditioner("block-jacobi"), line_rows(40, 1.0), {.relative = tolerance});
    EXPECT_EQ(result.end, SolveEnd::converged);
    EXPECT_EQ(result.step_count, step_count);
  }
}

TEST(PreconditionerTest, BlockJacobiSaysItsShift) {
  const auto& row = *find_preconditioner("block-jacobi");
  DenseOperator plain(three_rows());
  EXPECT_EQ(make_preconditioner(row, plain)->remark(), "");
  // Four copies of Kershaw's matrix, so that some rank has a whole one.
  DenseRows rows(16, std::vector<double>(16));
  const DenseRows one{{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
  for (size_t k = 0; k < rows.size(); ++k)
    std::ranges::copy(one[k % 4], rows[k].begin() + static_cast<ptrdiff_t>(k / 4 * 4));
  DenseOperator matrix(rows);
  const auto remark = make_preconditioner(row, matrix)->remark();
  EXPECT_NE(remark.find("IC(0) broke down on "), std::string::npos) << remark;
  EXPECT_NE(remark.find("shifted there by up to 0."), std::string::npos) << remark;
  EXPECT_EQ(solve_with(row, rows, {}).end, SolveEnd::converged);
}

/// The contract on badly scaled systems: an application costs `default_degree` products, and so much worse than without M a solve may be, but
/// no more. Well conditioned matrices with unit diagonals, about 1 to 100, each row and column scaled by 10^-2 to 10^2 at random.
TEST(PreconditionerTest, NoRowIsWorseThanNoneByMoreThanItsProducts) {
  constexpr size_t size = 40;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> exponent(-2.0, 2.0);
  std::normal_distribution<double> normal;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<double> eigenvalues(size);
    std::vector<double> scales(size);
    std::vector<double> x(size);
    for (size_t k = 0; k < size; ++k) {
      eigenvalues[k] = std::pow(100.0, static_cast<double>(k) / (size - 1));
      scales[k] = std::pow(10.0, exponent(random));
      x[k] = normal(random) / scales[k];
    }
    auto rows = test::rows_with_spectrum(eigenvalues, seed);
    for (size_t i = 0; i < size; ++i) {
      for (size_t k = 0; k < size; ++k) rows[i][k] *= scales[i] * scales[k];
    }
    DenseOperator matrix(rows);
    const auto b = DenseOperator::whole(matrix.times(x));
    int steps_without = 0;
    for (const auto& row : preconditioner_table()) {
      SCOPED_TRACE(std::string(row.name) + ", seed " + std::to_string(seed));
      const auto made = make_preconditioner(row, matrix);
      const auto result = solve(matrix, b, Tolerance({.most_steps = 5000}), {.made = made.get()}).result;
      if (made->is_identity()) steps_without = result.step_count;
      EXPECT_LE(result.step_count, steps_without) << sentence_of(result);
      EXPECT_TRUE(made->is_identity() || result.end == SolveEnd::converged) << sentence_of(result);
    }
  }
}

/// With D^-1 A for A: 1 - lambda p(lambda) is T_(degree + 1) of lambda moved to -1 ... 1, over its value for 0. Three eigenvalues are known
/// exactly after a few steps of Lanczos; the upper bound is 1.05 of the largest one. A scaling of rows and columns changes nothing, nor does it
/// where all entries of the diagonal are one number, or the bounds are given.
TEST(PreconditionerTest, ChebyshevIsTheSmallestPolynomialWithinItsBounds) {
  constexpr size_t size = 12;
  const auto moved = [](double value) { return (1.575 + 0.5 - 2.0 * value) / (1.575 - 0.5); };
  for (const bool is_scaled : {false, true}) {
    // Blocks (1 c; c 1) with c = 0 or 1/2: eigenvalues 1, 1/2 and 3/2.
    std::vector<double> scales(size, 2.0);
    for (size_t k = 0; is_scaled && k < size; ++k) scales[k] = std::pow(10.0, static_cast<double>(k) - 6.0);
    DenseRows rows(size, std::vector<double>(size));
    for (size_t k = 0; k < size; ++k) rows[k][k] = scales[k] * scales[k];
    for (size_t k = 0; k < size; k += 4) rows[k][k + 1] = rows[k + 1][k] = 0.5 * scales[k] * scales[k + 1];
    for (const int degree : {2, 4, 8}) {
      for (const bool has_bounds : {false, true}) {
        SCOPED_TRACE("degree " + std::to_string(degree) + (is_scaled ? ", scaled" : ""));
        DenseOperator matrix(rows);
        const auto diagonal = matrix.diagonal();
        const auto& row = *find_preconditioner("chebyshev");
        PolynomialOptions polynomial{.degree = degree};
        if (has_bounds)
          polynomial = polynomial_from("option", "chebyshev:" + std::to_string(degree) + ":0.5:1.575");
        const auto chebyshev = row.make({.matrix = matrix,
                                         .diagonal = diagonal,
                                         .first_row = matrix.first_row(),
                                         .polynomial = polynomial});
        EXPECT_EQ(has_bounds ? 0 : 1, matrix.product_count > 0);
        // M^-1 (D v) for eigenvectors v of D^-1 A is p(lambda) v.
        const double scale = std::cosh((degree + 1) * std::acosh(moved(0.0)));
        for (const double value : {0.5, 1.0, 1.5}) {
          std::vector<double> v(size);
          const size_t first = value == 1.0 ? 2 : 0;
          v[first] = 1.0 / scales[first];
          if (value != 1.0) v[first + 1] = (value < 1.0 ? -1.0 : 1.0) / scales[first + 1];
          auto r = v;
          for (size_t k = 0; k < size; ++k) r[k] *= scales[k] * scales[k];
          const auto z = applied(*chebyshev, matrix, r);
          const double position = std::clamp(moved(value), -1.0, 1.0);
          const double rest = std::cos((degree + 1) * std::acos(position)) / scale;
          // The bounds are estimates, whose errors the polynomial multiplies by (degree + 1)^2 near them; Horner's rule loses four digits at most.
          EXPECT_NEAR(1.0 - value * z[first] / v[first], rest, 1e-10) << "eigenvalue " << value;
        }
      }
    }
  }
}

/// Beyond its bounds it stays positive only with an even degree.
TEST(PreconditionerTest, TextsOfNumbersAreCheckedBeforeAnythingIsMade) {
  const auto given = polynomial_from("option", "chebyshev:4:0.25:2");
  EXPECT_EQ(given.degree, 4);
  EXPECT_EQ(given.low, 0.25);
  EXPECT_EQ(given.high, 2.0);
  EXPECT_EQ(polynomial_from("option", "chebyshev").degree, 0);
  EXPECT_EQ(find_preconditioner("chebyshev:4"), find_preconditioner("chebyshev"));
  for (const std::string text : {"chebyshev:9", "chebyshev:3", "chebyshev:10", "chebyshev:0", "chebyshev:-2",
                                 "chebyshev:", "chebyshev:6:", "chebyshev:6:1", "chebyshev:6:2:1",
                                 "chebyshev:6:0:1", "chebyshev:6:0:0", "chebyshev:6:1:inf",
                                 "chebyshev:6:nan:1", "chebyshev:6:1:2:3", "jacobi:2", "none:", "ilu"}) {
    const auto error =
        test::error_of(ExitCode::usage, [&] { static_cast<void>(polynomial_from("option", text)); });
    EXPECT_NE(error, "no error") << text;
    EXPECT_TRUE(error.starts_with("option " + text + ": ") || text == "ilu" || text == "none:") << error;
  }
  DenseOperator matrix(line_rows(40, 1.0));
  EXPECT_THROW(static_cast<void>(make_preconditioner(*find_preconditioner("chebyshev"), matrix, 9)),
               InputError);
}

TEST(PreconditionerTest, ChebyshevSaysItsBoundsAndItsDegree) {
  DenseOperator matrix(line_rows(40, 1.0));
  const auto& row = *find_preconditioner("chebyshev");
  EXPECT_NE(make_preconditioner(row, matrix)->remark().find("degree 6, for eigenvalues from"),
            std::string::npos);
  const auto four = make_preconditioner(row, matrix, 4);
  EXPECT_NE(four->remark().find("degree 4"), std::string::npos);
  EXPECT_NE(four->remark().find("of the matrix over its diagonal"), std::string::npos);
  EXPECT_EQ(row.make({.matrix = matrix})->remark().find("diagonal"), std::string::npos) << "not known";
}

// ---------------------------------------------------------------- diagonal blocks

void expect_own_block(const DenseRows& rows, const comm::BlockLayout& layout) {
  const int rank = group().rank();
  const auto mine =
      diagonal_block_of(test::block_of(rows, layout.rows_of(rank), layout.columns_of(rank)), layout, group());
  const auto piece = layout.own_piece(rank);
  const auto expected = test::block_of(rows, piece, piece);
  EXPECT_EQ(mine.row_count, expected.row_count);
  EXPECT_EQ(mine.column_count, expected.column_count);
  EXPECT_TRUE(test::entries_of(mine) == test::entries_of(expected));
  EXPECT_EQ(std::ranges::count(diagonal_of(mine), rows[0][0]), piece.size());
}

TEST(DiagonalBlockTest, IsTheMatrixOfThePieceOnEveryGrid) {
  const auto box = box_rows();
  const auto size = std::ssize(box);
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    expect_own_block(box, comm::BlockLayout::even(size, grid));
    // All rows in the last piece; others are empty.
    std::vector<int64_t> starts(static_cast<size_t>(group().size()) + 1);
    starts.back() = size;
    expect_own_block(box, comm::BlockLayout(grid, starts));
  }
  // Fewer rows than ranks have pieces.
  expect_own_block(line_rows(2, 1.0),
                   comm::BlockLayout::even(2, comm::factorizations(group().size()).back()));
}

TEST(DiagonalBlockTest, AnEntryThatIsNotStoredIsZero) {
  const auto block =
      kernels::CsrBlock::from_rows(2, {{{.column = 1, .value = 3.0}}, {{.column = 1, .value = 4.0}}});
  const auto diagonal = diagonal_of(block);
  EXPECT_EQ(diagonal[0], 0.0);
  EXPECT_EQ(diagonal[1], 4.0);
}

TEST(DiagonalBlockTest, TheFirstEntryThatIsNotPositiveIsFoundOnEveryRank) {
  auto rows = line_rows(17, 1.0);
  DenseOperator good(rows);
  EXPECT_NO_THROW(require_positive("jacobi", good, good.diagonal(), good.first_row()));
  rows[11][11] = -9.0;
  for (const auto& [wrong, text] : {std::pair(0.0, "0;"), std::pair(-2.5, "-2.5;")}) {
    rows[7][7] = wrong;
    DenseOperator matrix(rows);
    const auto error = test::error_of(ExitCode::not_positive_definite, [&] {
      require_positive("jacobi", matrix, matrix.diagonal(), matrix.first_row());
    });
    EXPECT_NE(error.find("row 8 (counted from 1) is " + std::string(text)), std::string::npos) << error;
  }
}

// ---------------------------------------------------------------- IC(0) factors compared with dense ones, and their breakdown

constexpr double rounding_of_factors = 4.0 * std::numeric_limits<float>::epsilon();

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
  if (group().size() > 1) return;  // each rank has its own
  const DenseRows four{{4, 0, 1, 1}, {0, 5, 0, 2}, {1, 0, 6, 1}, {1, 2, 1, 7}};
  for (const auto& rows : {box_rows(), four, DenseRows{{3.0}}, DenseRows{}}) {
    DenseOperator matrix(rows);
    std::vector<double> r(rows.size());
    for (size_t k = 0; k < r.size(); ++k) r[k] = std::sin(1.0 + static_cast<double>(k));
    const auto z = applied(*make_preconditioner(*find_preconditioner("block-jacobi"), matrix), matrix, r);
    const auto expected = dense_solution(rows, r);
    // Diagonally dominant: a few roundings of L to single precision, of numbers of about 1.
    for (size_t k = 0; k < z.size(); ++k) EXPECT_NEAR(z[k], expected[k], rounding_of_factors) << "row " << k;
  }
}

TEST(IncompleteCholeskyTest, BreaksDownWhereAPivotOrAnEntryIsUnusable) {
  if (group().size() > 1) return;  // each rank has its own
  const auto& row = *find_preconditioner("block-jacobi");
  // Entries, and whether the diagonal is shifted. The last pivots of the first two are 1e-12 and 1e-8. Those of the others are positive; l_21 is
  // 1e39, beyond single precision, and 1e37.
  for (const auto& [rows, is_shifted] : {std::pair(DenseRows{{1, 1}, {1, 1.0 + 1e-12}}, true),
                                         {{{1, 1}, {1, 1.0 + 1e-8}}, false},
                                         {{{1e1, 1e40}, {1e40, 1e80}}, true},
                                         {{{1e1, 1e38}, {1e38, 1e80}}, false}}) {
    DenseOperator matrix(rows);
    EXPECT_EQ(make_preconditioner(row, matrix)->remark() != "", is_shifted) << rows[1][1];
  }
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    DenseOperator matrix({{2, bad}, {bad, 2}});
    EXPECT_NE(test::error_of(ExitCode::usage, [&] { make_preconditioner(row, matrix); }), "no error") << bad;
  }
}

}  // namespace
}  // namespace cg2d::preconditioner_test
