// What every kernel on half-stored blocks must do: q_rows = A p_columns and q_columns = A^T p_rows, on blocks
// of every awkward shape, on any number of threads.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/half_spmv.hpp"
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

struct Products {
  std::vector<double> rows;
  std::vector<double> columns;
};

/// One number per row; none of them 0, none like another one's.
std::vector<double> row_operand(const TestBlock& block) {
  std::vector<double> p;
  for (std::size_t row = 0; row < block.rows.size(); ++row)
    p.push_back(row % 2 == 0 ? 1.5 + static_cast<double>(row) : -0.3);
  return p;
}

/// The results start as NaN: what is not written shows.
Products multiply(HalfSpmvKernel& kernel, const TestBlock& block) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Products q{.rows = std::vector<double>(block.rows.size(), nan),
             .columns = std::vector<double>(static_cast<std::size_t>(block.column_count), nan)};
  const auto p_rows = row_operand(block);
  kernel.multiply({.p_columns = block.operand, .p_rows = p_rows, .q_rows = q.rows, .q_columns = q.columns});
  return q;
}

/// With the sums over rows added to rows that hold `before`.
Products multiply_add(HalfSpmvKernel& kernel, const TestBlock& block, double before) {
  Products q{.rows = std::vector<double>(block.rows.size(), before),
             .columns = std::vector<double>(static_cast<std::size_t>(block.column_count),
                                            std::numeric_limits<double>::quiet_NaN())};
  const auto p_rows = row_operand(block);
  kernel.multiply({.p_columns = block.operand,
                   .p_rows = p_rows,
                   .q_rows = q.rows,
                   .q_columns = q.columns,
                   .adds_to_rows = true});
  return q;
}

/// A sum in long double arithmetic, and what a double one may differ by.
struct ExactSum {
  long double sum = 0.0L;
  long double magnitude = 0.0L;
  int terms = 0;

  void add(double value, double operand) {
    const long double term = static_cast<long double>(value) * operand;
    sum += term;
    magnitude += std::abs(term);
    ++terms;
  }
  /// As for the kernels on whole blocks: k products in any order err by about k * eps / 2 * magnitude.
  [[nodiscard]] bool agrees(double result) const {
    return std::abs(result - sum) <= 4.0L * terms * std::numeric_limits<double>::epsilon() * magnitude;
  }
};

void expect_products(const TestBlock& block, const Products& q) {
  std::vector<ExactSum> rows(block.rows.size());
  std::vector<ExactSum> columns(static_cast<std::size_t>(block.column_count));
  const auto p_rows = row_operand(block);
  for (std::size_t row = 0; row < block.rows.size(); ++row) {
    for (const auto& entry : block.rows[row]) {
      const auto column = static_cast<std::size_t>(entry.column);
      rows[row].add(entry.value, block.operand[column]);
      columns[column].add(entry.value, p_rows[row]);
    }
  }
  for (std::size_t row = 0; row < rows.size(); ++row)
    EXPECT_TRUE(rows[row].agrees(q.rows[row])) << "row " << row;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    EXPECT_TRUE(columns[column].agrees(q.columns[column])) << "column " << column;
  }
}

/// Every kernel that can serve on this processor.
template <typename Visit>
void for_every_kernel(const Visit& visit) {
  for (const auto& row : half_kernel_table()) {
    if (!row.why_unavailable().empty()) continue;
    SCOPED_TRACE("kernel " + std::string(row.name));
    visit(row);
  }
}

/// Every loop of every kernel that can serve on this processor.
template <typename Visit>
void for_every_loop(const Visit& visit) {
  for_every_kernel([&](const HalfKernelRow& row) {
    for (const auto set : row.instruction_sets) {
      SCOPED_TRACE("loop for " + std::string(name_of(set)));
      visit(row, set);
    }
  });
}

void expect_contract(const HalfKernelRow& row, const TestBlock& block, const KernelOptions& options) {
  const auto kernel = row.make(block.csr(), options);
  const auto q = multiply(*kernel, block);
  expect_products(block, q);
  const auto again = multiply(*kernel, block);
  EXPECT_TRUE(test::same_bits(again.rows, q.rows) && test::same_bits(again.columns, q.columns))
      << "a repeated product differs";
  const auto added = multiply_add(*kernel, block, 0.0);
  EXPECT_EQ(added.rows, q.rows);
  EXPECT_EQ(added.columns, q.columns);
}

void expect_contract_on_random_blocks(int thread_count) {
  for_every_loop([&](const HalfKernelRow& row, InstructionSet set) {
    const bool is_own_choice = row.make(BlockMaker(0).make().csr(), {})->instruction_set() == name_of(set);
    const int block_count = is_own_choice ? random_block_count : other_loop_block_count;
    for (int number = 0; number < block_count; ++number) {
      SCOPED_TRACE("block " + std::to_string(number));
      expect_contract(row, BlockMaker(number + thread_count * random_block_count).make(),
                      {.thread_count = thread_count, .instruction_set = set});
    }
  });
}

TEST(HalfKernelTableTest, NamesAreFoundAndUnique) {
  for (const auto& row : half_kernel_table()) {
    EXPECT_EQ(find_half_kernel(row.name)->description, row.description);
    EXPECT_EQ(find_kernel(row.name), nullptr) << "both tables have it";
  }
  EXPECT_EQ(find_half_kernel("scalar"), nullptr);
  EXPECT_EQ(half_kernel_table().front().why_unavailable(), "");
}

TEST(HalfSpmvContractTest, TheForcedKernelAndLoopAreTheOnesThatRun) {
  for_every_loop([](const HalfKernelRow& row, InstructionSet set) {
    const auto kernel = row.make(BlockMaker(0).make().csr(), {.instruction_set = set});
    EXPECT_EQ(kernel->name(), row.name);
    EXPECT_EQ(kernel->instruction_set(), name_of(set));
    EXPECT_GT(kernel->matrix_byte_count(), 0);
  });
}

TEST(HalfSpmvContractTest, ALoopThatIsNotThereIsRefused) {
  for_every_kernel([](const HalfKernelRow& row) {
    EXPECT_THROW(row.make(BlockMaker(0).make().csr(), {.instruction_set = InstructionSet::avx512}),
                 std::invalid_argument);
  });
}

TEST(HalfSpmvContractTest, TheFastKernelUsesTheWidestOfItsLoops) {
  const auto& row = *find_half_kernel("symmetric");
  const bool has_fma = widest_instruction_set() >= InstructionSet::fma;
  EXPECT_EQ(row.instruction_sets.size(), has_fma ? 2 : 1);
  EXPECT_EQ(row.make(BlockMaker(0).make().csr(), {})->instruction_set(),
            name_of(row.instruction_sets.back()));
}

TEST(HalfSpmvContractTest, OneThread) { expect_contract_on_random_blocks(1); }
TEST(HalfSpmvContractTest, TwoThreads) { expect_contract_on_random_blocks(2); }
TEST(HalfSpmvContractTest, ThreeThreads) { expect_contract_on_random_blocks(3); }
TEST(HalfSpmvContractTest, FiveThreads) { expect_contract_on_random_blocks(5); }

TEST(HalfSpmvContractTest, ManyRowsAndColumns) {
  const auto block = test::large_block();
  for_every_kernel([&](const HalfKernelRow& row) {
    for (const int thread_count : {1, 3}) expect_contract(row, block, {.thread_count = thread_count});
  });
}

TEST(HalfSpmvContractTest, AnyBlockWidthAndPrefetchDistance) {
  const auto block = test::large_block();
  for_every_loop([&](const HalfKernelRow& row, InstructionSet set) {
    for (const int width : {64, 1024, 65536}) {
      for (const int distance : {0, 100'000}) {
        SCOPED_TRACE("block width " + std::to_string(width) + ", prefetch " + std::to_string(distance));
        expect_contract(row, block,
                        {.thread_count = 2,
                         .tuning = {.prefetch_distance = distance, .block_width = width},
                         .instruction_set = set});
      }
    }
  });
}

TEST(HalfSpmvContractTest, AWholeSymmetricMatrixFromItsHalf) {
  //  4 -1  0        2 -1  0
  // -1  4  2   is   .  2  2   with the diagonal halved
  //  0  2  5        .  .  2.5
  const TestBlock half{.column_count = 3,
                       .rows = {{{.column = 0, .value = 2.0}, {.column = 1, .value = -1.0}},
                                {{.column = 1, .value = 2.0}, {.column = 2, .value = 2.0}},
                                {{.column = 2, .value = 2.5}}},
                       .operand = {1.0, 2.0, 3.0}};
  for_every_loop([&](const HalfKernelRow& row, InstructionSet set) {
    std::vector<double> q_rows(3);
    std::vector<double> q_columns(3);
    row.make(half.csr(), {.instruction_set = set})
        ->multiply(
            {.p_columns = half.operand, .p_rows = half.operand, .q_rows = q_rows, .q_columns = q_columns});
    EXPECT_EQ(q_rows[0] + q_columns[0], 2.0);
    EXPECT_EQ(q_rows[1] + q_columns[1], 13.0);
    EXPECT_EQ(q_rows[2] + q_columns[2], 19.0);
    const auto kernel = row.make(half.csr(), {.instruction_set = set});
    EXPECT_EQ(multiply_add(*kernel, half, 8.0).rows[1], multiply(*kernel, half).rows[1] + 8.0);
  });
}

}  // namespace
}  // namespace cg2d::kernels
