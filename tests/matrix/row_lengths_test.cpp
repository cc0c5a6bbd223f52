// The row lengths of blocks, counted by hand.

#include "cg/matrix/matrix_facts.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace cg2d::row_lengths_test {
namespace {

/// Rows of these lengths.
kernels::CsrBlock block_of(const std::vector<int>& lengths) {
  constexpr std::int64_t column_count = 20;
  std::vector<std::vector<kernels::CsrBlock::Entry>> rows;
  for (const int length : lengths) {
    auto& row = rows.emplace_back();
    for (std::int32_t column = 0; column < length; ++column) row.push_back({.column = column, .value = 1.0});
  }
  return kernels::CsrBlock::from_rows(column_count, rows);
}

TEST(RowLengthsTest, CountsRowsAndNonzerosBelowTheCriticalVectorLength) {
  const auto lengths = row_lengths(block_of({7, 3, 8, 0, 12}), 8);
  EXPECT_EQ(lengths.critical_vector_length, 8);
  EXPECT_EQ(lengths.row_count, 5);
  EXPECT_EQ(lengths.nonzero_count, 30);
  EXPECT_EQ(lengths.shortest, 0);
  EXPECT_EQ(lengths.longest, 12);
  EXPECT_EQ(lengths.short_row_count, 3);  // 8 is not below 8
  EXPECT_EQ(lengths.short_row_nonzero_count, 10);
  EXPECT_DOUBLE_EQ(lengths.mean(), 6.0);
  EXPECT_DOUBLE_EQ(lengths.short_row_share(), 0.6);
  EXPECT_DOUBLE_EQ(lengths.short_row_nonzero_share(), 1.0 / 3.0);
}

TEST(RowLengthsTest, AtTheEndsAllRowsOrNoneAreBelow) {
  const auto block = block_of({4, 9, 6});
  EXPECT_EQ(row_lengths(block, 0).short_row_count, 0);
  EXPECT_EQ(row_lengths(block, 4).short_row_count, 0);
  EXPECT_EQ(row_lengths(block, 5).short_row_count, 1);
  EXPECT_EQ(row_lengths(block, 10).short_row_count, 3);
  EXPECT_EQ(row_lengths(block, 10).short_row_nonzero_count, 19);
  EXPECT_EQ(row_lengths(block, 10).shortest, 4);
}

TEST(RowLengthsTest, BlocksWithoutRowsOrNonzeros) {
  for (const auto& lengths : {row_lengths(kernels::CsrBlock{}, 8), row_lengths(block_of({}), 8)}) {
    EXPECT_EQ(lengths.row_count, 0);
    EXPECT_EQ(lengths.nonzero_count, 0);
    EXPECT_EQ(lengths.shortest, 0);
    EXPECT_EQ(lengths.longest, 0);
    EXPECT_EQ(lengths.mean(), 0.0);
    EXPECT_EQ(lengths.short_row_share(), 0.0);
    EXPECT_EQ(lengths.short_row_nonzero_share(), 0.0);
  }
  const auto empty_rows = row_lengths(block_of({0, 0}), 8);
  EXPECT_EQ(empty_rows.short_row_count, 2);
  EXPECT_EQ(empty_rows.short_row_share(), 1.0);
  EXPECT_EQ(empty_rows.short_row_nonzero_share(), 0.0);
}

TEST(RowLengthsTest, MergedIsThatOfAllRows) {
  const auto first = row_lengths(block_of({5, 2, 11}), 6);
  const auto second = row_lengths(block_of({3, 14}), 6);
  for (const auto& both : {merged(first, second), merged(second, first)}) {
    EXPECT_EQ(both.critical_vector_length, 6);
    EXPECT_EQ(both.row_count, 5);
    EXPECT_EQ(both.nonzero_count, 35);
    EXPECT_EQ(both.shortest, 2);
    EXPECT_EQ(both.longest, 14);
    EXPECT_EQ(both.short_row_count, 3);
    EXPECT_EQ(both.short_row_nonzero_count, 10);
  }
}

TEST(RowLengthsTest, ABlockWithoutRowsChangesNothing) {
  const auto some = row_lengths(block_of({5, 2}), 3);
  const auto none = row_lengths(block_of({}), 3);
  for (const auto& both : {merged(some, none), merged(none, some)}) {
    EXPECT_EQ(both.row_count, 2);
    EXPECT_EQ(both.shortest, 2);
    EXPECT_EQ(both.longest, 5);
    EXPECT_EQ(both.short_row_count, 1);
  }
  EXPECT_EQ(merged(none, none).row_count, 0);
}

}  // namespace
}  // namespace cg2d::row_lengths_test
