// Each rank's diagonal block on every grid, and the first entry of a diagonal that is not positive.

#include "cg/solver/preconditioners/preconditioner_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "support/dense_operator.hpp"
#include "support/dense_systems.hpp"
#include "support/mpi_test.hpp"
#include "support/stencil_blocks.hpp"

namespace cg2d::diagonal_block_test {
namespace {

using test::group;

template <typename T>
std::vector<T> contents(const kernels::PageBuffer<T>& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}

void expect_own_block(const test::Box& box, const comm::BlockLayout& layout) {
  const auto mine = diagonal_block_of(test::laplace_block(box, layout, group().rank()), layout, group());
  const auto piece = layout.piece(layout.column_piece_of(group().rank()));
  const auto expected = test::laplace_block(box, piece, piece);
  EXPECT_EQ(mine.row_count, expected.row_count);
  EXPECT_EQ(mine.column_count, expected.column_count);
  EXPECT_EQ(contents(mine.row_starts), contents(expected.row_starts));
  EXPECT_EQ(contents(mine.columns), contents(expected.columns));
  EXPECT_EQ(contents(mine.values), contents(expected.values));
  const auto diagonal = diagonal_of(mine);
  EXPECT_EQ(std::ranges::count(diagonal, 6.0), piece.size());
}

TEST(DiagonalBlockTest, IsTheMatrixOfThePieceOnEveryGrid) {
  const test::Box box{.nx = 5, .ny = 4, .nz = 3};
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    expect_own_block(box, comm::BlockLayout::even(box.size(), grid));
    // All rows in the last piece; others are empty.
    std::vector<int64_t> starts(static_cast<size_t>(group().size()) + 1);
    starts.back() = box.size();
    expect_own_block(box, comm::BlockLayout(grid, starts));
  }
  // Fewer rows than ranks have pieces.
  expect_own_block({.nx = 2}, comm::BlockLayout::even(2, comm::factorizations(group().size()).back()));
}

TEST(DiagonalBlockTest, AnEntryThatIsNotStoredIsZero) {
  const auto block =
      kernels::CsrBlock::from_rows(2, {{{.column = 1, .value = 3.0}}, {{.column = 1, .value = 4.0}}});
  const auto diagonal = diagonal_of(block);
  EXPECT_EQ(diagonal[0], 0.0);
  EXPECT_EQ(diagonal[1], 4.0);
}

TEST(DiagonalBlockTest, TheFirstEntryThatIsNotPositiveIsFoundOnEveryRank) {
  for (const double wrong : {0.0, -2.5}) {
    auto rows = test::line_rows(17, 1.0);
    test::DenseOperator good(rows);
    EXPECT_NO_THROW(require_positive("jacobi", good, good.diagonal(), good.first_row()));
    rows[7][7] = wrong;
    rows[11][11] = -9.0;
    test::DenseOperator matrix(rows);
    try {
      require_positive("jacobi", matrix, matrix.diagonal(), matrix.first_row());
      ADD_FAILURE() << "row 8 is not positive";
    } catch (const RunError& error) {
      EXPECT_EQ(error.code(), ExitCode::not_positive_definite);
      EXPECT_NE(std::string(error.what())
                    .find("row 8 (counted from 1) is " + std::string(wrong == 0.0 ? "0;" : "-2.5;")),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace cg2d::diagonal_block_test
