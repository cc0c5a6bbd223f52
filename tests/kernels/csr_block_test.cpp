// Arrays straight from the operating system, blocks in compressed sparse rows, and their split over threads.

#include "kernels/csr_block.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels::csr_block_test {
namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t huge_page_bytes = size_t{1} << 21;

void fill_rising(PageBuffer<int64_t>& buffer) {
  std::iota(buffer.span().begin(), buffer.span().end(), int64_t{1});
}

/// 1, 2, 3 ... in the first `count` elements, and zeros after them.
bool is_rising(const PageBuffer<int64_t>& buffer, size_t count) {
  for (size_t k = 0; k < buffer.size(); ++k) {
    if (buffer[k] != (k < count ? static_cast<int64_t>(k) + 1 : 0)) return false;
  }
  return true;
}

TEST(PageBufferTest, StartsZeroedOnAPageBorderAndAnEmptyOneTakesNoMemory) {
  EXPECT_EQ(PageBuffer<int64_t>().data(), nullptr);
  for (const size_t size : {size_t{0}, size_t{1}, page_bytes / 8 - 1, page_bytes / 8, page_bytes / 8 + 1,
                            huge_page_bytes / 8 + 3}) {
    const PageBuffer<int64_t> buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(buffer.empty(), size == 0);
    EXPECT_EQ(buffer.data() == nullptr, size == 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % page_bytes, 0U);
    EXPECT_TRUE(is_rising(buffer, 0));
  }
}

TEST(PageBufferTest, MovingHandsTheMemoryOver) {
  PageBuffer<int64_t> first(1000);
  fill_rising(first);
  const auto* const data = first.data();
  PageBuffer<int64_t> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): a moved-from buffer is an empty one
  EXPECT_EQ(first.data(), nullptr);
  PageBuffer<int64_t> third(5);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 1000U);
  EXPECT_TRUE(is_rising(third, 1000));
}

TEST(PageBufferTest, AnotherSizeKeepsTheFirstElementsAndAddsZeros) {
  // From nothing, within a page, over page borders, into the sizes that are advised for huge pages, and back; shrunk within a page, and grown
  // again within it.
  constexpr size_t huge = huge_page_bytes / 8;
  PageBuffer<int64_t> buffer;
  size_t size_before = 0;
  for (const size_t size : {size_t{1}, size_t{7}, size_t{512}, size_t{513}, huge, 3 * huge + 1, huge + 1,
                            size_t{1000}, size_t{700}, size_t{1000}, size_t{512}, size_t{1000}, size_t{3},
                            size_t{1000}, size_t{0}, size_t{10}}) {
    buffer.resize(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_TRUE(is_rising(buffer, size_before)) << size_before << " to " << size;
    EXPECT_EQ(buffer.data() == nullptr, size == 0);
    fill_rising(buffer);
    size_before = size;
  }
}

TEST(PageBufferTest, MoreThanTheAddressSpaceIsBadAlloc) {
  const size_t beyond = size_t{1} << 56;  // 2^59 bytes; a process has 2^47, or 2^56 at most
  // A wrong count must not come out as a small buffer: 2^61 doubles are 2^64 bytes, which is 0.
  for (const size_t size : {beyond, size_t{1} << 61, (size_t{1} << 61) + 1})
    EXPECT_THROW(PageBuffer<double>{size}, std::bad_alloc) << size;
  EXPECT_THROW(PageBuffer<char>{std::numeric_limits<size_t>::max()}, std::bad_alloc);
  PageBuffer<double> buffer(10);
  buffer[9] = 5.0;
  EXPECT_THROW(buffer.resize(beyond), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 10U);  // as before
  EXPECT_EQ(buffer[9], 5.0);
}

// ---------------------------------------------------------------- blocks

void expect_block(const CsrBlock& block, int64_t column_count, const std::vector<int64_t>& row_starts,
                  const std::vector<int32_t>& columns, const std::vector<double>& values) {
  EXPECT_EQ(block.row_count, std::ssize(row_starts) - 1);
  EXPECT_EQ(block.column_count, column_count);
  EXPECT_EQ(block.nonzero_count(), std::ssize(values));
  EXPECT_TRUE(std::ranges::equal(block.row_starts.span(), row_starts));
  EXPECT_TRUE(std::ranges::equal(block.columns.span(), columns));
  EXPECT_TRUE(std::ranges::equal(block.values.span(), values));
  EXPECT_EQ(block.byte_count(), 8 * (block.row_count + 1) + 12 * block.nonzero_count());
}

TEST(CsrBlockTest, FromRowsStoresRowAfterRowAndFirstRowsAreABlockOfTheirOwn) {
  auto block = CsrBlock::from_rows(5, {{{0, 1.5}, {4, -2.0}}, {}, {{2, 3.0}}});
  const auto two = block.first_rows(2);
  const auto all = block.copy();
  block.values[0] = -1.0;
  expect_block(all, 5, {0, 2, 2, 3}, {0, 4, 2}, {1.5, -2.0, 3.0});
  expect_block(two, 5, {0, 2, 2}, {0, 4}, {1.5, -2.0});
  EXPECT_EQ(block.first_rows(0).nonzero_count(), 0);
}

TEST(CsrBlockTest, BlocksMayBeEmpty) {
  EXPECT_EQ(CsrBlock().nonzero_count(), 0);
  EXPECT_EQ(CsrBlock().byte_count(), 0);
  expect_block(CsrBlock::from_rows(7, {}), 7, {0}, {}, {});
  expect_block(CsrBlock::from_rows(0, {{}, {}}), 0, {0, 0, 0}, {}, {});
}

TEST(CsrBlockTest, ColumnsAreInRangeUpToTheLast) {
  auto block = CsrBlock::from_rows(3, {{{.column = 2, .value = 1.0}}, {}, {{.column = 0, .value = 2.0}}});
  EXPECT_TRUE(block.has_columns_in_range(0, 3));
  for (const int32_t outside : {3, -1}) {
    block.columns[1] = outside;
    EXPECT_FALSE(block.has_columns_in_range(0, 3)) << outside;
    EXPECT_FALSE(block.has_columns_in_range(2, 3)) << outside;
    EXPECT_TRUE(block.has_columns_in_range(0, 2)) << outside << ", of rows that are not asked for";
    EXPECT_TRUE(block.has_columns_in_range(1, 2)) << outside << ", of a row without entries";
  }
}

/// The parts cover all rows in order, and none holds more than its share and one row.
void expect_even_split(const std::vector<int64_t>& lengths, int part_count) {
  SCOPED_TRACE(std::to_string(lengths.size()) + " rows, " + std::to_string(part_count) + " parts");
  std::vector<int64_t> row_starts{0};
  for (const auto length : lengths) row_starts.push_back(row_starts.back() + length);
  const auto borders = split_rows_by_nonzeros(row_starts, part_count);
  ASSERT_EQ(borders.size(), static_cast<size_t>(part_count) + 1);
  EXPECT_EQ(borders.front(), 0);
  EXPECT_EQ(borders.back(), static_cast<int64_t>(lengths.size()));
  EXPECT_TRUE(std::ranges::is_sorted(borders));
  const int64_t longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  for (size_t part = 0; part + 1 < borders.size(); ++part) {
    const auto nonzeros =
        row_starts[static_cast<size_t>(borders[part + 1])] - row_starts[static_cast<size_t>(borders[part])];
    EXPECT_LE(nonzeros, row_starts.back() / part_count + 1 + longest) << "part " << part;
  }
}

TEST(SplitRowsTest, EveryPartGetsItsShareAndOneRowMoreAtMost) {
  std::mt19937_64 random(2);
  for (const size_t row_count : {0U, 1U, 2U, 7U, 64U, 101U, 1000U}) {
    for (const int part_count : {1, 2, 3, 5, 16, 150}) {
      std::vector<int64_t> lengths(row_count);
      for (auto& length : lengths) length = static_cast<int64_t>(random() % 60);
      expect_even_split(lengths, part_count);
      for (auto& length : lengths) length = random() % 4 == 0 ? 50 : 0;  // mostly empty
      expect_even_split(lengths, part_count);
      if (row_count > 0) lengths[row_count / 2] = 1'000'000;  // one dense row
      expect_even_split(lengths, part_count);
      std::ranges::fill(lengths, 0);
      expect_even_split(lengths, part_count);
    }
  }
}

TEST(SplitRowsTest, EqualRowsAreSplitEvenlyAlsoWhereCountsGoBeyond32Bits) {
  for (const int64_t length : {int64_t{10}, int64_t{1} << 60}) {  // times 6 parts is beyond 2^63
    std::vector<int64_t> row_starts;
    for (int64_t row = 0; row <= 6; ++row) row_starts.push_back(row * length);
    EXPECT_EQ(split_rows_by_nonzeros(row_starts, 6), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(split_rows_by_nonzeros(row_starts, 3), (std::vector<int64_t>{0, 2, 4, 6}));
    EXPECT_EQ(split_rows_by_nonzeros(row_starts, 1), (std::vector<int64_t>{0, 6}));
  }
}

}  // namespace
}  // namespace cg2d::kernels::csr_block_test
