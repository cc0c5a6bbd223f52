// Tables 4 and 5 of the paper over the real rows of class B, and the expected row lengths against them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cg/machine/cp_pacs_times.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::cp_pacs_multiply_test {
namespace {

using test::group;

const cp_pacs::ByColumns& clocks_in(const auto& table, std::string_view part) {
  return std::ranges::find(table, part, &cp_pacs::ClockRow::name)->clocks;
}

/// The lengths of the rows of all blocks, the columns cut into that many blocks.
RowLengthDistribution real_row_lengths(const kernels::CsrBlock& matrix, int column_block_count) {
  const auto layout =
      comm::BlockLayout::even(matrix.column_count, {.columns = column_block_count, .rows = 1});
  std::vector<int64_t> rows_by_length(4096);
  for (int64_t row = 0; row < matrix.row_count; ++row) {
    const auto r = static_cast<size_t>(row);
    auto entry = matrix.row_starts[r];
    for (int block = 0; block < column_block_count; ++block) {
      const auto end = layout.column_block(block).end;
      const auto begin = entry;
      while (entry < matrix.row_starts[r + 1] && matrix.columns[static_cast<size_t>(entry)] < end) ++entry;
      ++rows_by_length.at(static_cast<size_t>(entry - begin));
    }
  }
  return distribution_of(rows_by_length);
}

kernels::CsrBlock whole_matrix(const Problem& problem) {
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  return default_source().make(problem)->build(layout, group(), 1).block;
}

TEST(CpPacsMultiplyTest, MeetsTables4And5) {
  const auto machine = find_machine("cp-pacs").conditions.front();
  const auto& problem = *find_class("B");
  const auto matrix = whole_matrix(problem);
  for (size_t k = 0; k < cp_pacs::columns.size(); ++k) {
    const int columns = cp_pacs::columns[k];
    SCOPED_TRACE("Px " + std::to_string(columns));
    const auto lengths = real_row_lengths(matrix, columns);
    const auto expected = expected_row_lengths(problem, columns);
    const double rows = static_cast<double>(problem.n) * columns / 256;
    const auto clocks = [&](const std::string& kernel, const RowLengthDistribution& distribution) {
      return machine.clock_hz *
             block_costs(machine, machine.kernel(kernel), rows, 1.0, distribution).multiply_s;
    };
    // Fitted: Px = 1, 2 of both tables, and Px = 8 of Table 4. The others are predictions.
    const bool is_fitted = columns <= 2;
    EXPECT_NEAR(clocks("compiled", lengths) / clocks_in(cp_pacs::table_4, "multiply")[k], 1.0,
                is_fitted || columns == 8 ? 0.005 : 0.05);
    EXPECT_NEAR(clocks("hand-made", lengths) / clocks_in(cp_pacs::table_5, "multiply")[k], 1.0,
                is_fitted ? 0.005 : 0.05);
    // The expected row lengths, with which the model computes if it does not make the matrix.
    EXPECT_NEAR(clocks("hand-made", expected) / clocks("hand-made", lengths), 1.0, 0.01);
    EXPECT_NEAR(clocks("compiled", expected) / clocks("compiled", lengths), 1.0, 0.02);
  }
}

}  // namespace
}  // namespace cg2d::cp_pacs_multiply_test
