// Products with several vectors at once are those of the reference kernel with one vector after the other.

#include "kernels/several_vectors.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kernels/product_check.hpp"

namespace cg2d::kernels::several_vectors_test {
namespace {

/// Small whole numbers, so that every order of additions gives the same bits.
double whole_number(std::mt19937& random) { return std::uniform_int_distribution<int>(-8, 8)(random); }

/// Where some_rows_are_empty, that is one row in three.
CsrBlock random_block(int64_t row_count, int64_t column_count, double density,
                      bool some_rows_are_empty = false) {
  std::mt19937 random(1);
  CsrBlock::Rows rows(static_cast<size_t>(row_count));
  for (size_t row = 0; row < rows.size(); ++row) {
    if (some_rows_are_empty && row % 3 == 2) continue;
    for (int32_t column = 0; column < column_count; ++column) {
      if (std::bernoulli_distribution(density)(random)) rows[row].push_back({column, whole_number(random)});
    }
  }
  return CsrBlock::from_rows(column_count, rows);
}

std::vector<double> one_of(const std::vector<double>& several, size_t number, size_t count) {
  std::vector<double> one;
  for (size_t k = number; k < several.size(); k += count) one.push_back(several[k]);
  return one;
}

void expect_same_as_reference(const KernelRow& row, const CsrBlock& block, const KernelOptions& options) {
  const auto count = static_cast<size_t>(options.vector_count);
  std::mt19937 random(7);
  std::vector<double> p_columns(static_cast<size_t>(block.column_count) * count);
  std::vector<double> p_rows(static_cast<size_t>(block.row_count) * count);
  for (auto* vector : {&p_columns, &p_rows}) {
    for (auto& element : *vector) element = whole_number(random);
  }
  ProductMaker several(row, options, block.copy(), p_columns, p_rows);
  EXPECT_EQ(several.kernel().instruction_set(), name_of(*options.instruction_set));
  EXPECT_EQ(several.kernel().name(), row.name);
  const auto products = several.multiply();
  const auto added = several.multiply_add(3.0, 3);
  for (size_t number = 0; number < count; ++number) {
    const auto one_of_columns = one_of(p_columns, number, count);
    const auto one_of_rows = one_of(p_rows, number, count);
    ProductMaker one(reference_kernel(row.storage), {}, block.copy(), one_of_columns, one_of_rows);
    for (const auto& [found, expected] :
         {std::pair(products, one.multiply()), std::pair(added, one.multiply_add(3.0))}) {
      EXPECT_EQ(one_of(found.rows, number, count), expected.rows) << "vector " << number;
      EXPECT_EQ(one_of(found.columns, number, count), expected.columns) << "vector " << number;
    }
  }
}

/// Bytes per nonzero of csr-short for 8 vectors: plain CSR stores 12, column blocks 10.
double bytes_per_nonzero(const CsrBlock& block, int block_width) {
  const auto kernel =
      make_several_blocks(block.copy(), {.tuning = {.block_width = block_width}, .vector_count = 8});
  return static_cast<double>(kernel->matrix_byte_count()) / static_cast<double>(block.nonzero_count());
}

TEST(SeveralVectorsTest, EveryKernelLoopCountAndBlockWidthGivesTheProductsOfTheReference) {
  std::vector<CsrBlock> blocks;
  // Rows beyond one window of 256, columns beyond one block of 64; no rows, no columns, no entries.
  blocks.push_back(random_block(600, 200, 0.05));
  blocks.push_back(random_block(31, 90, 0.9));
  blocks.push_back(random_block(0, 5, 0.5));
  blocks.push_back(random_block(5, 0, 0.5));
  blocks.push_back(random_block(7, 7, 0.0));
  blocks.push_back(random_block(1, 1, 1.0));
  // Windows of 1024 rows of column blocks, chunks of 4: neither divides the rows.
  blocks.push_back(random_block(2 * 1024 + 3, 130, 0.3, true));
  ASSERT_LT(bytes_per_nonzero(blocks.back(), 64), 12.0) << "these are column blocks";
  for (const auto& block : blocks) {
    for (const auto& row : kernel_table()) {
      if (!row.makes_several) continue;
      for (const int vector_count : vector_counts) {
        for (const auto set : of_this_processor(sets_without_gathers)) {
          for (const int thread_count : {1, 3}) {
            SCOPED_TRACE(testing::Message()
                         << row.name << ' ' << name_of(set) << ' ' << vector_count << " vectors, "
                         << thread_count << " threads, " << block.row_count << " x " << block.column_count);
            expect_same_as_reference(row, block,
                                     {.thread_count = thread_count,
                                      .tuning = {.block_width = 64},
                                      .vector_count = vector_count,
                                      .instruction_set = set});
          }
        }
      }
    }
  }
}

TEST(SeveralVectorsTest, ColumnBlocksAreTakenWhereRowsHaveEnoughEntriesInThemAndTheyStayInTheCache) {
  const auto block = random_block(2000, 4096, 0.02);
  EXPECT_LT(bytes_per_nonzero(block, 4096), 11.0) << "82 entries in one block";
  EXPECT_GT(bytes_per_nonzero(block, 64), 12.0) << "less than two entries in each block";
  const auto wide = random_block(300, 4096 + 1, 0.01);
  EXPECT_EQ(bytes_per_nonzero(wide, 4096), bytes_per_nonzero(wide, 65536)) << "8 vectors: 4096 columns";
}

TEST(SeveralVectorsTest, FewerVectorsAreFilledUpAndOtherNumbersRefused) {
  const std::vector<std::pair<int, int>> filled_up{{1, 1}, {2, 2}, {3, 4}, {9, 16}, {17, 0}};
  for (const auto& [count, expected] : filled_up) EXPECT_EQ(vector_count_for(count), expected) << count;
  const auto block = random_block(3, 3, 1.0);
  for (const int count : {0, 1, 3, 32, 33}) {
    EXPECT_THROW(make_several_blocks(block.copy(), {.vector_count = count}), std::invalid_argument);
    EXPECT_THROW(make_several_rows("csr-simd", block.copy(), {.vector_count = count}), std::invalid_argument);
  }
  EXPECT_TRUE(default_kernel_for_several().makes_several);
  EXPECT_TRUE(default_kernel_for_several().why_unavailable().empty());
}

}  // namespace
}  // namespace cg2d::kernels::several_vectors_test
