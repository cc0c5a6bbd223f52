// What every kernel must do: q = A p on blocks of every awkward shape, on any number of threads.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "bits.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {

using Rows = std::vector<std::vector<CsrBlock::Entry>>;

struct TestBlock {
  std::int64_t column_count = 0;
  Rows rows;
  std::vector<double> operand;
};

constexpr int random_block_count = 2500;  // for each number of threads: 10 000 in all

/// Random blocks, reproducible: number k is the same block in every test.
class BlockMaker {
 public:
  explicit BlockMaker(int number) : random_(static_cast<std::uint64_t>(number) + 7), shape_(number % 8) {}

  TestBlock make() {
    TestBlock block;
    block.column_count = shape_ == 0 ? 1 : 1 + below(300);
    const std::int64_t row_count = shape_ == 1 ? 0 : 1 + below(30);
    const std::int64_t dense_row = shape_ == 2 ? below(row_count) : -1;
    for (std::int64_t row = 0; row < row_count; ++row) {
      block.rows.push_back(make_row(block.column_count, row == dense_row ? block.column_count : length()));
    }
    for (std::int64_t k = 0; k < block.column_count; ++k) block.operand.push_back(value());
    return block;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }

  /// Signs and magnitudes mixed, so that the order of the additions shows.
  double value() {
    const double mantissa = 1.0 + static_cast<double>(random_() >> 12) * 0x1p-52;
    return std::ldexp(random_() % 2 == 0 ? mantissa : -mantissa, static_cast<int>(below(40)) - 20);
  }

  std::int64_t length() {
    switch (shape_) {
      case 3:
        return 0;  // all rows empty
      case 4:
        return below(4) == 0 ? 1 + below(65) : 0;  // most rows empty
      case 5:
        return 1 + below(9);  // around the width of vector registers
      default:
        return below(66);
    }
  }

  /// `length` columns, or all of them if there are no more.
  std::vector<CsrBlock::Entry> make_row(std::int64_t column_count, std::int64_t length) {
    std::vector<CsrBlock::Entry> row;
    std::int64_t wanted = std::min(length, column_count);
    for (std::int64_t column = 0; column < column_count; ++column) {
      if (below(column_count - column) >= wanted) continue;
      row.push_back({.column = static_cast<std::int32_t>(column), .value = value()});
      --wanted;
    }
    return row;
  }

  std::mt19937_64 random_;
  int shape_;
};

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

/// Every kernel that can serve on this processor.
template <typename Visit>
void for_every_kernel(const Visit& visit) {
  for (const auto& row : kernel_table()) {
    if (!row.why_unavailable().empty()) continue;
    SCOPED_TRACE("kernel " + std::string(row.name));
    visit(row);
  }
}

void expect_contract(const KernelRow& row, const TestBlock& block, const KernelOptions& options) {
  const auto kernel = row.make(CsrBlock::from_rows(block.column_count, block.rows), options);
  const auto product = multiply(*kernel, block);
  expect_product(block, product);
  EXPECT_TRUE(test::same_bits(multiply(*kernel, block), product)) << "a repeated product differs";
}

/// All random blocks with one kernel and number of threads.
void expect_contract_on_random_blocks(int thread_count) {
  for_every_kernel([&](const KernelRow& row) {
    for (int number = 0; number < random_block_count; ++number) {
      SCOPED_TRACE("block " + std::to_string(number));
      expect_contract(row, BlockMaker(number + thread_count * random_block_count).make(),
                      {.thread_count = thread_count});
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

TEST(SpmvKernelContractTest, TheForcedKernelIsTheOneThatRuns) {
  for_every_kernel([](const KernelRow& row) {
    const auto block = BlockMaker(0).make();
    const auto kernel = row.make(CsrBlock::from_rows(block.column_count, block.rows), {});
    EXPECT_EQ(kernel->name(), row.name);
    EXPECT_FALSE(kernel->instruction_set().empty());
  });
}

TEST(SpmvKernelContractTest, TheFastKernelsUseTheProcessorsInstructions) {
  const auto block = BlockMaker(0).make();
  const auto used_by = [&](std::string_view name) {
    return std::string(
        find_kernel(name)->make(CsrBlock::from_rows(block.column_count, block.rows), {})->instruction_set());
  };
  EXPECT_EQ(used_by("sell"), name_of(fastest_gathering_instruction_set()));
  const bool has_gathers = widest_instruction_set() >= InstructionSet::avx2;
  EXPECT_EQ(used_by("csr-simd"), name_of(has_gathers ? widest_instruction_set() : InstructionSet::portable));
}

TEST(SpmvKernelContractTest, TellsTheBytesItReads) {
  const auto block = BlockMaker(6).make();
  const auto csr_bytes = CsrBlock::from_rows(block.column_count, block.rows).byte_count();
  EXPECT_GT(csr_bytes, 0);
  EXPECT_EQ(kernel_table()
                .front()
                .make(CsrBlock::from_rows(block.column_count, block.rows), {})
                ->matrix_byte_count(),
            csr_bytes);
}

TEST(SpmvKernelContractTest, OneThread) { expect_contract_on_random_blocks(1); }
TEST(SpmvKernelContractTest, TwoThreads) { expect_contract_on_random_blocks(2); }
TEST(SpmvKernelContractTest, ThreeThreads) { expect_contract_on_random_blocks(3); }
TEST(SpmvKernelContractTest, FiveThreads) { expect_contract_on_random_blocks(5); }

TEST(SpmvKernelContractTest, AnyCriticalVectorLengthAndPrefetchDistance) {
  for_every_kernel([](const KernelRow& row) {
    for (const int critical_length : {0, 1, 7, 8, 9, 33, 1000}) {
      for (const int distance : {0, 1, 100'000}) {
        SCOPED_TRACE("cvl " + std::to_string(critical_length) + ", prefetch " + std::to_string(distance));
        for (int number = 0; number < 16; ++number) {
          expect_contract(
              row, BlockMaker(number).make(),
              {.thread_count = 2, .critical_vector_length = critical_length, .prefetch_distance = distance});
        }
      }
    }
  });
}

TEST(SpmvKernelContractTest, ManyRowsAndColumns) {
  // Several column blocks and windows of rows of the formats that have such, the last ones not full; rows are
  // dense at the borders of the blocks.
  constexpr std::int64_t column_count = 70'000;
  constexpr std::int64_t row_count = 1301;
  for_every_kernel([&](const KernelRow& row) {
    TestBlock block{.column_count = column_count, .rows = Rows(row_count), .operand = {}};
    for (std::int64_t r = 0; r < row_count; ++r) {
      auto& entries = block.rows[static_cast<std::size_t>(r)];
      for (std::int64_t c = r % 97; c < column_count; c += 1 + (c % 2048 < 2040 ? 701 + r : 0)) {
        entries.push_back(
            {.column = static_cast<std::int32_t>(c), .value = 1.0 / static_cast<double>(1 + (c + r) % 13)});
      }
    }
    for (std::int64_t c = 0; c < column_count; ++c)
      block.operand.push_back(static_cast<double>(c % 31) - 15.0);
    for (const int thread_count : {1, 3}) expect_contract(row, block, {.thread_count = thread_count});
  });
}

TEST(SpmvKernelContractTest, EveryRowLengthUpToTwoVectorsOfEveryWidth) {
  for_every_kernel([](const KernelRow& row) {
    for (std::int32_t length = 0; length <= 65; ++length) {
      SCOPED_TRACE("rows of length " + std::to_string(length));
      TestBlock block{.column_count = 66, .rows = Rows(3), .operand = {}};
      for (auto& entries : block.rows) {
        for (std::int32_t k = 0; k < length; ++k) entries.push_back({.column = k, .value = 1.0 + k});
      }
      for (int k = 0; k < 66; ++k) block.operand.push_back(2.0);
      const auto kernel = row.make(CsrBlock::from_rows(block.column_count, block.rows), {.thread_count = 2});
      // Integers: exact.
      EXPECT_EQ(multiply(*kernel, block), std::vector<double>(3, length * (length + 1.0)));
    }
  });
}

TEST(SpmvKernelContractTest, AnEmptyRowGivesZeroAndNotWhatWasThere) {
  for_every_kernel([](const KernelRow& row) {
    const TestBlock block{.column_count = 2, .rows = Rows(4), .operand = {1.0, 2.0}};
    const auto kernel = row.make(CsrBlock::from_rows(block.column_count, block.rows), {.thread_count = 2});
    EXPECT_EQ(multiply(*kernel, block), std::vector<double>(4, 0.0));
  });
}

TEST(SpmvKernelContractTest, NotANumberAndInfinityComeThrough) {
  for_every_kernel([](const KernelRow& row) {
    TestBlock block{.column_count = 20, .rows = Rows(2), .operand = std::vector<double>(20, 1.0)};
    for (std::int32_t k = 0; k < 19; ++k) block.rows[0].push_back({.column = k, .value = 1.0});
    block.rows[1].push_back({.column = 19, .value = 1.0});
    block.operand[3] = std::numeric_limits<double>::infinity();
    block.operand[19] = std::numeric_limits<double>::quiet_NaN();
    const auto kernel = row.make(CsrBlock::from_rows(block.column_count, block.rows), {});
    const auto product = multiply(*kernel, block);
    EXPECT_TRUE(std::isinf(product[0]));
    EXPECT_TRUE(std::isnan(product[1]));
  });
}

}  // namespace
}  // namespace cg2d::kernels
