// The format of `sell-rows`: which steps store columns of how many bits, and what that takes. Its products are in the contract
// of all kernels (spmv_kernel_contract_test.cpp).

#include "kernels/row_sell.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/product_check.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::kernels::row_sell_test {
namespace {

using test::Rows;

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
  EXPECT_LT(static_cast<double>(part.byte_count()), 9.2 * static_cast<double>(block.nonzero_count()));
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
}  // namespace cg2d::kernels::row_sell_test
