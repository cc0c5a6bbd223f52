// The format of `sell-rows`: which steps store columns of how many bits, and what that takes. Its products are in the contract
// of all kernels (spmv_kernel_contract_test.cpp).

#include "kernels/row_sell.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "kernels/spmv.hpp"
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

TEST(RowSellTest, NearColumnsTake16Bits) {
  // Every second row has another column, so no eight of them follow each other.
  Rows rows(1024);
  for (size_t row = 0; row < rows.size(); ++row)
    rows[row] = {{.column = static_cast<int32_t>(row % 2 == 0 ? row : 60'000 + row), .value = 2.0}};
  const auto part = part_of(CsrBlock::from_rows(65'536, rows));
  EXPECT_EQ(part.windows.back().near_step, 128);
  EXPECT_EQ(part.windows.back().step, 128);
}

TEST(RowSellTest, FarColumnsTake32Bits) {
  Rows rows(1024);
  for (size_t row = 0; row < rows.size(); ++row)
    rows[row] = {{.column = static_cast<int32_t>(row % 2 == 0 ? row : 70'000 + row), .value = 2.0}};
  const auto part = part_of(CsrBlock::from_rows(80'000, rows));
  EXPECT_EQ(part.windows.back().far_step, 128);
  EXPECT_EQ(part.windows.back().step, 128);
}

TEST(RowSellTest, NearEndsWhere16BitsEnd) {
  for (const int32_t distance : {65'535, 65'536}) {
    Rows rows(1024);
    for (int32_t row = 0; row < 1024; ++row)
      rows[static_cast<size_t>(row)] = {{.column = row / 8 + (row % 8 == 7 ? distance : 0), .value = 2.0}};
    const auto steps = part_of(CsrBlock::from_rows(70'000, rows)).windows.back();
    EXPECT_EQ(steps.near_step, distance == 65'535 ? 128 : 0) << distance;
    EXPECT_EQ(steps.far_step, distance == 65'535 ? 0 : 128) << distance;
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

  const auto& row = kernel_named("sell-rows");
  for (const auto set : row.instruction_sets) {
    const auto kernel = row.make(block.csr(), {.thread_count = 2, .instruction_set = set});
    std::vector<double> q(block.rows.size());
    kernel->multiply({.p_columns = block.operand, .q_rows = q});
    for (size_t r = 0; r < q.size(); ++r) {
      double sum = 0.0;  // exact: small integers and halves
      for (const auto& entry : block.rows[r])
        sum += entry.value * block.operand[static_cast<size_t>(entry.column)];
      EXPECT_EQ(q[r], sum) << "row " << r << ", " << kernel->instruction_set();
    }
  }
}

TEST(RowSellTest, RowsWithoutEntriesHaveNoSteps) {
  const auto part = part_of(CsrBlock::from_rows(10, Rows(1000)));
  EXPECT_EQ(part.windows.back().step, 0);
  EXPECT_EQ(part.windows.back().chunk, 125);
}

}  // namespace
}  // namespace cg2d::kernels::row_sell_test
