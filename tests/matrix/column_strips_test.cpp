// Strips of columns: together they are the block again, entry by entry.

#include "cg/matrix/half_storage.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "support/random_blocks.hpp"

namespace cg2d::column_strips_test {
namespace {

using kernels::CsrBlock;

/// (row, column, value) in the order of the rows.
using Entries = std::vector<std::tuple<std::int64_t, std::int64_t, double>>;

/// Columns counted from `first_column` less.
Entries entries_of(const CsrBlock& block, std::int64_t first_column = 0) {
  Entries entries;
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    const auto r = static_cast<std::size_t>(row);
    for (auto k = block.row_starts[r]; k < block.row_starts[r + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      entries.emplace_back(row, first_column + block.columns[entry], block.values[entry]);
    }
  }
  return entries;
}

Entries within(const Entries& entries, const comm::IndexRange& columns) {
  Entries found;
  for (const auto& entry : entries) {
    if (columns.begin <= std::get<1>(entry) && std::get<1>(entry) < columns.end) found.push_back(entry);
  }
  return found;
}

CsrBlock small_block() {
  return CsrBlock::from_rows(
      6, {{{0, 1.0}, {2, 2.0}, {5, 3.0}}, {}, {{1, 4.0}, {2, 5.0}, {3, 6.0}, {4, 7.0}}, {{2, 8.0}}});
}

TEST(ColumnStripsTest, TakesOutTheColumnsOfTheRange) {
  auto block = small_block();
  const auto strip = take_columns(block, {.begin = 2, .end = 4});
  EXPECT_EQ(strip.row_count, 4);
  EXPECT_EQ(strip.column_count, 2);
  EXPECT_EQ(entries_of(strip), (Entries{{0, 0, 2.0}, {2, 0, 5.0}, {2, 1, 6.0}, {3, 0, 8.0}}));
  EXPECT_EQ(block.column_count, 6);
  EXPECT_EQ(entries_of(block), (Entries{{0, 0, 1.0}, {0, 5, 3.0}, {2, 1, 4.0}, {2, 4, 7.0}}));
  EXPECT_EQ(block.columns.size(), 4U);
  EXPECT_EQ(block.values.size(), 4U);
}

TEST(ColumnStripsTest, TheLastStripTakesTheArraysThemselves) {
  auto block = small_block();
  const auto* const values = block.values.data();
  const auto strip = take_columns(block, {.begin = 0, .end = 6});
  EXPECT_EQ(strip.values.data(), values);
  EXPECT_EQ(entries_of(strip), entries_of(small_block()));
  EXPECT_EQ(block.nonzero_count(), 0);
}

TEST(ColumnStripsTest, StripsOfNoColumnsOrNoEntriesAreEmpty) {
  auto block = small_block();
  EXPECT_EQ(take_columns(block, {.begin = 3, .end = 3}).nonzero_count(), 0);
  EXPECT_EQ(entries_of(block), entries_of(small_block()));
  static_cast<void>(take_columns(block, {.begin = 0, .end = 6}));
  const auto nothing = take_columns(block, {.begin = 2, .end = 5});
  EXPECT_EQ(nothing.nonzero_count(), 0);
  EXPECT_EQ(nothing.row_count, 4);
  EXPECT_EQ(nothing.column_count, 3);
}

TEST(ColumnStripsTest, InAnyOrderAllStripsTogetherAreTheBlock) {
  for (int number = 0; number < 40; ++number) {
    auto block = test::BlockMaker(number).make().csr();
    const auto all = entries_of(block);
    const auto n = block.column_count;
    const std::vector<comm::IndexRange> strips{{.begin = n / 3, .end = n / 2},
                                               {.begin = n / 2, .end = n},
                                               {.begin = 0, .end = n / 7},
                                               {.begin = n / 7, .end = n / 3}};
    for (const auto& columns : strips) {
      const auto strip = take_columns(block, columns);
      EXPECT_EQ(strip.column_count, columns.size());
      EXPECT_EQ(entries_of(strip, columns.begin), within(all, columns));
    }
    EXPECT_EQ(block.nonzero_count(), 0);
  }
}

}  // namespace
}  // namespace cg2d::column_strips_test
