// What every kernel must do: q = A p on blocks of every awkward shape, on any number of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"
#include "support/bits.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::kernels {
namespace {

using test::BlockMaker;
using test::Rows;
using test::TestBlock;

// For each number of threads, so that a kernel has 10 000 in all; its other loops take some of them.
constexpr int random_block_count = 2500;
constexpr int other_loop_block_count = 250;

/// Compares with long double arithmetic.
void expect_product(const TestBlock& block, const std::vector<double>& product) {
  ASSERT_EQ(product.size(), block.rows.size());
  for (std::size_t row = 0; row < block.rows.size(); ++row) {
    long double sum = 0.0L;
    long double magnitude = 0.0L;
    for (const auto& entry : block.rows[row]) {
      const long double term =
          static_cast<long double>(entry.value) * block.operand[static_cast<std::size_t>(entry.column)];
      sum += term;
      magnitude += std::abs(term);
    }
    // In any order, with or without fused operations, a sum of k products errs by about k * eps / 2 *
    // magnitude (Higham 2002, section 3.1). Four times eps leaves room; an empty row leaves none.
    const auto tolerance = 4.0L * static_cast<long double>(block.rows[row].size()) *
                           std::numeric_limits<double>::epsilon() * magnitude;
    EXPECT_LE(std::abs(product[row] - sum), tolerance) << "row " << row;
  }
}

/// q starts as NaN: what is not written shows.
std::vector<double> multiply(SpmvKernel& kernel, const TestBlock& block) {
  std::vector<double> product(block.rows.size(), std::numeric_limits<double>::quiet_NaN());
  kernel.multiply(block.operand, product);
  return product;
}

/// What is added to rows that hold `before`.
std::vector<double> multiply_add(SpmvKernel& kernel, const TestBlock& block, double before) {
  std::vector<double> sum(block.rows.size(), before);
  kernel.multiply(block.operand, sum, {.is_added = true});
  return sum;
}

/// In so many shares; q starts as NaN.
std::vector<double> multiply_in_shares(SpmvKernel& kernel, const TestBlock& block, int share_count) {
  std::vector<double> product(block.rows.size(), std::numeric_limits<double>::quiet_NaN());
  for (int share = 0; share < share_count; ++share)
    kernel.multiply(block.operand, product, {.share = share, .share_count = share_count});
  return product;
}

/// Every kernel that can serve on this processor.
template <typename Visit>
void for_every_kernel(const Visit& visit) {
  for (const auto& row : kernel_table()) {
    if (!row.why_unavailable().empty()) continue;
    SCOPED_TRACE("kernel " + std::string(row.name));
    visit(row);
  }
}

/// Every loop of every kernel that can serve on this processor.
template <typename Visit>
void for_every_loop(const Visit& visit) {
  for_every_kernel([&](const KernelRow& row) {
    for (const auto set : row.instruction_sets) {
      SCOPED_TRACE("loop for " + std::string(name_of(set)));
      visit(row, set);
    }
  });
}

void expect_contract(const KernelRow& row, const TestBlock& block, const KernelOptions& options) {
  const auto kernel = row.make(block.csr(), options);
  const auto product = multiply(*kernel, block);
  expect_product(block, product);
  EXPECT_TRUE(test::same_bits(multiply(*kernel, block), product)) << "a repeated product differs";
  EXPECT_EQ(multiply_add(*kernel, block, 0.0), product);
  EXPECT_TRUE(test::same_bits(multiply_in_shares(*kernel, block, 3), product));
}

/// All random blocks with one kernel and number of threads.
void expect_contract_on_random_blocks(int thread_count) {
  for_every_loop([&](const KernelRow& row, InstructionSet set) {
    const bool is_own_choice = row.make(BlockMaker(0).make().csr(), {})->instruction_set() == name_of(set);
    const int block_count = is_own_choice ? random_block_count : other_loop_block_count;
    for (int number = 0; number < block_count; ++number) {
      SCOPED_TRACE("block " + std::to_string(number));
      expect_contract(row, BlockMaker(number + thread_count * random_block_count).make(),
                      {.thread_count = thread_count, .instruction_set = set});
    }
  });
}

TEST(KernelTableTest, NamesAreFoundAndUnique) {
  for (const auto& row : kernel_table()) {
    EXPECT_EQ(find_kernel(row.name)->description, row.description);
    EXPECT_FALSE(row.description.empty());
  }
  EXPECT_EQ(find_kernel("no such kernel"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
}

TEST(KernelTableTest, TheReferenceAndTheDefaultServeEverywhere) {
  EXPECT_EQ(kernel_table().front().name, "scalar");
  EXPECT_EQ(kernel_table().front().why_unavailable(), "");
  EXPECT_EQ(default_kernel().why_unavailable(), "");
}

TEST(SpmvKernelContractTest, TheForcedKernelAndLoopAreTheOnesThatRun) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    const auto kernel = row.make(BlockMaker(0).make().csr(), {.instruction_set = set});
    EXPECT_EQ(kernel->name(), row.name);
    EXPECT_EQ(kernel->instruction_set(), name_of(set));
  });
}

TEST(SpmvKernelContractTest, ALoopThatIsNotThereIsRefused) {
  for_every_kernel([](const KernelRow& row) {
    for (const auto set : all_instruction_sets) {
      if (std::ranges::find(row.instruction_sets, set) != row.instruction_sets.end()) continue;
      EXPECT_THROW(row.make(BlockMaker(0).make().csr(), {.instruction_set = set}), std::invalid_argument);
    }
  });
}

TEST(SpmvKernelContractTest, TheFastKernelsUseTheProcessorsInstructions) {
  const auto block = BlockMaker(0).make();
  const auto used_by = [&](std::string_view name) {
    return std::string(find_kernel(name)->make(block.csr(), {})->instruction_set());
  };
  EXPECT_EQ(used_by("sell"), name_of(fastest_gathering_instruction_set()));
  EXPECT_EQ(used_by("csr-simd"), name_of(widest_instruction_set()));
  EXPECT_EQ(used_by("csr-short"), used_by("csr-simd"));
}

TEST(SpmvKernelContractTest, TheFastKernelsHaveALoopForEveryInstructionSet) {
  for (const auto name : {"csr-simd", "csr-short", "sell"}) {
    EXPECT_EQ(find_kernel(name)->instruction_sets, of_this_processor(all_instruction_sets)) << name;
  }
}

TEST(SpmvKernelContractTest, TellsTheBytesItReads) {
  const auto block = BlockMaker(6).make();
  const auto csr_bytes = block.csr().byte_count();
  EXPECT_GT(csr_bytes, 0);
  EXPECT_EQ(kernel_table().front().make(block.csr(), {})->matrix_byte_count(), csr_bytes);
}

TEST(SpmvKernelContractTest, OneThread) { expect_contract_on_random_blocks(1); }
TEST(SpmvKernelContractTest, TwoThreads) { expect_contract_on_random_blocks(2); }
TEST(SpmvKernelContractTest, ThreeThreads) { expect_contract_on_random_blocks(3); }
TEST(SpmvKernelContractTest, FiveThreads) { expect_contract_on_random_blocks(5); }

TEST(SpmvKernelContractTest, AnyCriticalVectorLengthAndPrefetchDistance) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    for (const int critical_length : {0, 1, 7, 8, 9, 33, 1000}) {
      for (const int distance : {0, 1, 100'000}) {
        SCOPED_TRACE("cvl " + std::to_string(critical_length) + ", prefetch " + std::to_string(distance));
        for (int number = 0; number < 16; ++number) {
          expect_contract(
              row, BlockMaker(number).make(),
              {.thread_count = 2,
               .tuning = {.critical_vector_length = critical_length, .prefetch_distance = distance},
               .instruction_set = set});
        }
      }
    }
  });
}

TEST(SpmvKernelContractTest, AnyBlockWidth) {
  const auto block = test::large_block();
  for_every_loop([&](const KernelRow& row, InstructionSet set) {
    for (const int width : {64, 1024, 65536}) {
      SCOPED_TRACE("block width " + std::to_string(width));
      expect_contract(row, block,
                      {.thread_count = 2, .tuning = {.block_width = width}, .instruction_set = set});
    }
  });
}

TEST(SpmvKernelContractTest, BlockWidthsArePowersOfTwoThat16BitsReach) {
  for (const int width : {64, 128, 2048, 65536}) EXPECT_TRUE(is_block_width(width)) << width;
  for (const int width : {-64, 0, 1, 32, 100, 2047, 131072}) EXPECT_FALSE(is_block_width(width)) << width;
}

TEST(SpmvKernelContractTest, ManyRowsAndColumns) {
  const auto block = test::large_block();
  for_every_kernel([&](const KernelRow& row) {
    for (const int thread_count : {1, 3}) expect_contract(row, block, {.thread_count = thread_count});
  });
}

TEST(SpmvKernelContractTest, EveryRowLengthUpToTwoVectorsOfEveryWidth) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    for (std::int32_t length = 0; length <= 65; ++length) {
      SCOPED_TRACE("rows of length " + std::to_string(length));
      TestBlock block{.column_count = 66, .rows = Rows(3), .operand = {}};
      for (auto& entries : block.rows) {
        for (std::int32_t k = 0; k < length; ++k) entries.push_back({.column = k, .value = 1.0 + k});
      }
      for (int k = 0; k < 66; ++k) block.operand.push_back(2.0);
      const auto kernel = row.make(block.csr(), {.thread_count = 2, .instruction_set = set});
      // Integers: exact.
      const double sum = length * (length + 1.0);
      EXPECT_EQ(multiply(*kernel, block), std::vector<double>(3, sum));
      EXPECT_EQ(multiply_add(*kernel, block, 5.0), std::vector<double>(3, sum + 5.0));
    }
  });
}

TEST(SpmvKernelContractTest, AnEmptyRowGivesZeroAndNotWhatWasThere) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    const TestBlock block{.column_count = 2, .rows = Rows(4), .operand = {1.0, 2.0}};
    const auto kernel = row.make(block.csr(), {.thread_count = 2, .instruction_set = set});
    EXPECT_EQ(multiply(*kernel, block), std::vector<double>(4, 0.0));
    EXPECT_EQ(multiply_add(*kernel, block, 3.0), std::vector<double>(4, 3.0));
  });
}

TEST(SpmvKernelContractTest, ABlockWithoutColumnsGivesZeros) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    const TestBlock block{.column_count = 0, .rows = Rows(3), .operand = {}};
    const auto kernel = row.make(block.csr(), {.thread_count = 2, .instruction_set = set});
    EXPECT_EQ(multiply(*kernel, block), std::vector<double>(3, 0.0));
  });
}

TEST(SpmvKernelContractTest, CsrShortTakesTenBytesPerNonzeroAndFourPerRowAndColumnBlock) {
  const auto block = test::large_block();  // 70 000 columns
  const auto csr = block.csr();
  for (const int width : {32768, max_block_width}) {
    const std::int64_t block_count = (block.column_count + width - 1) / width;
    const auto kernel = find_kernel("csr-short")->make(block.csr(), {.tuning = {.block_width = width}});
    EXPECT_EQ(kernel->matrix_byte_count(),
              10 * csr.nonzero_count() + 4 * csr.row_count * block_count + 8 * (block_count + 1));
  }
}

TEST(SpmvKernelContractTest, NotANumberAndInfinityComeThrough) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    TestBlock block{.column_count = 20, .rows = Rows(2), .operand = std::vector<double>(20, 1.0)};
    for (std::int32_t k = 0; k < 19; ++k) block.rows[0].push_back({.column = k, .value = 1.0});
    block.rows[1].push_back({.column = 19, .value = 1.0});
    block.operand[3] = std::numeric_limits<double>::infinity();
    block.operand[19] = std::numeric_limits<double>::quiet_NaN();
    const auto kernel = row.make(block.csr(), {.instruction_set = set});
    const auto product = multiply(*kernel, block);
    EXPECT_TRUE(std::isinf(product[0]));
    EXPECT_TRUE(std::isnan(product[1]));
  });
}

}  // namespace
}  // namespace cg2d::kernels
