// The formats SELL: the order of rows whose lanes must be distinct, the arrays of a part elsewhere, and which steps of `sell-rows` store columns of how
// many bits. Their products are in the contract of all kernels (spmv_kernel_contract_test.cpp).

#include "kernels/sell_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/product_check.hpp"
#include "kernels/row_sell.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::kernels::sell_formats_test {
namespace {

using test::BlockMaker;
using test::Rows;

constexpr SellShape small_shape{.lanes = 8, .block_width = 64, .window_rows = 16, .has_positions = true};

/// The band of a single thread that has one.
SellPart only_band(std::vector<SellBands> bands) { return std::move(bands.front().bands.front()); }

// All rows have the same columns: lanes can only be distinct in another order, and with fewer columns than
// lanes only in more steps.
TEST(SellMatrixTest, EqualRowsArePutInAnotherOrder) {
  constexpr int64_t lanes = small_shape.lanes;
  for (const auto& [distinct, lanes_apart] :
       {std::pair(DistinctLanes::none, int64_t{1}), std::pair(DistinctLanes::pairs, int64_t{2}),
        std::pair(DistinctLanes::all, lanes)}) {
    for (const int32_t column_count : {1, 3, 8, 40}) {
      SCOPED_TRACE(std::to_string(column_count) + " columns");
      Rows rows(16);
      for (auto& row : rows) {
        for (int32_t column = 0; column < column_count; ++column)
          row.push_back({.column = column, .value = 1.0 + column});
      }
      auto shape = small_shape;
      shape.distinct = distinct;
      const auto part = only_band(sell_parts(CsrBlock::from_rows(column_count, rows), 1, shape));
      const int64_t chunks = 2;
      const auto steps = part.first_step.span().back();
      EXPECT_GE(steps, chunks * std::max<int64_t>(column_count, lanes_apart));
      EXPECT_LE(steps, chunks * (column_count + lanes_apart));
      EXPECT_EQ(std::ssize(part.values), steps * lanes);
      for (int64_t first = 0; first < steps * lanes; first += lanes) {
        const auto columns = part.columns.span().subspan(static_cast<size_t>(first), lanes);
        for (size_t lane = 0; lane < columns.size(); ++lane) {
          for (size_t other = 0; other < lane; ++other) {
            const bool must_differ =
                distinct == DistinctLanes::all || (distinct == DistinctLanes::pairs && (lane ^ other) == 2);
            EXPECT_TRUE(!must_differ || columns[lane] != columns[other]) << "lanes " << lane << ", " << other;
          }
        }
      }
    }
  }
}

TEST(SellMatrixTest, BandsAreWholeWindows) {
  constexpr int64_t row_count = 85;
  const auto block = test::even_csr_block(row_count, 300, 20);
  const auto window = small_shape.window_rows;
  for (const int thread_count : {1, 3}) {
    for (const int64_t longest : {window, 2 * window, row_count}) {
      int64_t next_row = 0;
      auto shape = small_shape;
      shape.bands = {.most_rows_of_one = longest, .rows = longest};
      for (const auto& [bands] : sell_parts(block, thread_count, shape)) {
        ASSERT_FALSE(bands.empty());
        for (const auto& band : bands) {
          EXPECT_EQ(band.first_row, next_row);
          next_row += band.row_count;
          EXPECT_LE(band.row_count, longest);
          EXPECT_TRUE(band.row_count % window == 0 || &band == &bands.back());
        }
      }
      EXPECT_EQ(next_row, row_count);
    }
  }
}

TEST(SellMatrixTest, APartElsewhereTakesTheSizesOfAPartOnly) {
  const auto block = BlockMaker(6).make();
  auto part = only_band(sell_parts(block.csr(), 1, small_shape));
  std::vector<size_t> sizes;
  for (const auto& array : part.stored_arrays()) sizes.push_back(array.bytes.size());
  const auto elsewhere = [&](std::span<const size_t> array_bytes) {
    return only_band(external_sell_parts(
        {.row_count = part.row_count, .column_count = part.column_count, .array_bytes = array_bytes},
        small_shape));
  };
  auto unfilled = elsewhere(sizes);
  const auto arrays = unfilled.stored_arrays();
  ASSERT_EQ(arrays.size(), sizes.size());
  for (size_t index = 0; index < sizes.size(); ++index) EXPECT_EQ(arrays[index].bytes.size(), sizes[index]);
  EXPECT_THROW(elsewhere(std::span(sizes).first(sizes.size() - 1)), std::invalid_argument);
  // All but that of positions, which other shapes do without.
  for (const size_t index : {0U, 1U, 2U, 3U, 5U, 6U, 7U}) {
    auto other = sizes;
    other[index] += 64;
    EXPECT_THROW(elsewhere(other), std::invalid_argument) << index;
  }
}

/// Rows with entries at row + offset for each of the offsets that stay inside.
CsrBlock banded(int64_t order, const std::vector<int64_t>& offsets) {
  Rows rows(static_cast<size_t>(order));
  for (int64_t row = 0; row < order; ++row) {
    for (const auto offset : offsets) {
      const auto column = row + offset;
      if (0 <= column && column < order)
        rows[static_cast<size_t>(row)].push_back({.column = static_cast<int32_t>(column), .value = 1.0});
    }
  }
  return CsrBlock::from_rows(order, rows);
}

RowSellPart part_of(const CsrBlock& block) { return std::move(row_sell_parts(block, 1).front()); }

TEST(RowSellTest, BandsNeedNoColumns) {
  const auto block = banded(4096, {-64, -1, 0, 1, 64});
  const auto part = part_of(block);
  const auto steps = part.windows.back();
  EXPECT_EQ(steps.far_step, 0);
  EXPECT_LT(steps.near_step, steps.step / 20) << "only where rows of another length lie between";
  const auto kernel = kernel_named("sell-rows").make(block.copy(), {});
  EXPECT_LT(static_cast<double>(kernel->matrix_byte_count()),
            9.2 * static_cast<double>(block.nonzero_count()));
}

/// Every second row has another column, so no eight of them follow each other; or the last of eight has one. Near ends where 16 bits end.
TEST(RowSellTest, NearColumnsTake16BitsAndFarOnes32) {
  struct Case {
    int32_t period;
    int32_t distance;
    bool is_near;
  };
  for (const auto& [period, distance, is_near] :
       {Case{2, 60'000, true}, Case{2, 70'000, false}, Case{8, 65'535, true}, Case{8, 65'536, false}}) {
    SCOPED_TRACE(distance);
    Rows rows(1024);
    for (int32_t row = 0; row < 1024; ++row) {
      const int32_t column = period == 2 ? row : row / 8;
      rows[static_cast<size_t>(row)] = {
          {.column = column + (row % period == period - 1 ? distance : 0), .value = 2.0}};
    }
    const auto steps = part_of(CsrBlock::from_rows(80'000, rows)).windows.back();
    EXPECT_EQ(steps.step, 128);
    EXPECT_EQ(steps.near_step, is_near ? 128 : 0);
    EXPECT_EQ(steps.far_step, is_near ? 0 : 128);
  }
}

/// All three kinds in one chunk: a band, a second diagonal that alternates nearby, and one that alternates far away.
TEST(RowSellTest, AChunkHasStepsOfAllKinds) {
  constexpr int32_t column_count = 200'000;
  test::TestBlock block{.column_count = column_count, .rows = Rows(2048), .operand = {}};
  for (int32_t row = 0; row < 2048; ++row) {
    auto& entries = block.rows[static_cast<size_t>(row)];
    entries = {{.column = row, .value = 1.0 + row % 5},
               {.column = 5000 + 7 * row % 4001, .value = 3.0},
               {.column = row % 2 == 0 ? 20'000 + row : 150'000 + row, .value = 0.5}};
  }
  for (int32_t column = 0; column < column_count; ++column) block.operand.push_back(1.0 + column % 17);
  const auto steps = part_of(block.csr()).windows.back();
  EXPECT_EQ(steps.near_step, 256);
  EXPECT_EQ(steps.far_step, 256);
  EXPECT_EQ(steps.step, 3 * 256);

  const auto expected = known_sums(block.rows, block.operand);  // exact: small integers and halves
  const auto& row = kernel_named("sell-rows");
  for (const auto set : row.instruction_sets) {
    const auto q =
        ProductMaker(row, {.thread_count = 2, .instruction_set = set}, block.csr(), block.operand, {})
            .multiply();
    for (size_t r = 0; r < q.rows.size(); ++r)
      EXPECT_EQ(q.rows[r], expected[r].sum) << "row " << r << ", " << name_of(set);
  }
}

TEST(RowSellTest, RowsWithoutEntriesHaveNoSteps) {
  const auto part = part_of(CsrBlock::from_rows(10, Rows(1000)));
  EXPECT_EQ(part.windows.back().step, 0);
  EXPECT_EQ(part.windows.back().chunk, 125);
}

}  // namespace
}  // namespace cg2d::kernels::sell_formats_test
