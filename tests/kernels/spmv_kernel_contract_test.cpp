// The contract of all kernels, with either storage: q_rows = A p_columns, and with half storage
// q_columns = A^T p_rows, on blocks of every awkward shape, on any number of threads, in any number of
// shares, with one vector and with several at once; and the choice among their loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/product_check.hpp"
#include "kernels/spmv.hpp"
#include "support/bits.hpp"
#include "support/random_blocks.hpp"
#include "support/sanitizers.hpp"
#include "support/test_extent.hpp"

namespace cg2d::kernels::spmv_kernel_contract_test {
namespace {

using test::BlockMaker;
using test::Rows;
using test::TestBlock;

// For each of the four numbers of threads, so that a kernel has 2000 in all, by default 240; its other loops take some of
// them.
constexpr int thorough_block_count = 500;
constexpr int usual_block_count = 60;
constexpr int loops_share_of_blocks = 10;

// ---------------------------------------------------------------- products

/// One number per row; none of them is 0, and no two neighbours are alike. Kept, as kernels under test hold spans of it.
const std::vector<double>& row_operand(const TestBlock& block) {
  static std::map<size_t, std::vector<double>> operands;  // of each number of rows
  auto& p = operands[block.rows.size()];
  for (auto row = p.size(); row < block.rows.size(); ++row)
    p.push_back(row % 2 == 0 ? 1.5 + static_cast<double>(row) : -0.3);
  return p;
}

/// A kernel on a test block.
struct TestedKernel : ProductMaker {
  TestedKernel(const KernelRow& row, const TestBlock& block, const KernelOptions& options)
      : ProductMaker(row, options, block.csr(), block.operand,
                     row.stores_half() ? std::span(row_operand(block)) : std::span<const double>()) {}
};

void expect_sums(const std::vector<KnownSum>& sums, const std::vector<double>& results, const char* what) {
  ASSERT_EQ(results.size(), sums.size()) << what;
  for (size_t k = 0; k < sums.size(); ++k) EXPECT_LE(sums[k].error_of(results[k]), 1.0) << what << " " << k;
}

void expect_products(const KernelRow& row, const TestBlock& block, const Products& q) {
  expect_sums(known_sums(block.rows, block.operand), q.rows, "row");
  Rows columns(row.stores_half() ? static_cast<size_t>(block.column_count) : 0);
  for (size_t r = 0; !columns.empty() && r < block.rows.size(); ++r) {
    for (const auto& [column, value] : block.rows[r])
      columns[static_cast<size_t>(column)].push_back({.column = static_cast<int32_t>(r), .value = value});
  }
  expect_sums(known_sums(columns, row_operand(block)), q.columns, "column");
}

bool same_bits(const Products& a, const Products& b) {
  return test::same_bits(a.rows, b.rows) && test::same_bits(a.columns, b.columns);
}

/// Every kernel.
template <typename Visit>
void for_every_kernel(const Visit& visit) {
  for (const auto& row : kernel_table()) {
    SCOPED_TRACE("kernel " + std::string(row.name));
    visit(row);
  }
}

/// Every loop of every kernel that this processor has.
template <typename Visit>
void for_every_loop(const Visit& visit) {
  for_every_kernel([&](const KernelRow& row) {
    for (const auto set : test::sets_with_loops(row.instruction_sets)) {
      SCOPED_TRACE("loop for " + std::string(name_of(set)));
      visit(row, set);
    }
  });
}

void expect_contract(const KernelRow& row, const TestBlock& block, const KernelOptions& options) {
  TestedKernel kernel(row, block, options);
  const auto q = kernel.multiply();
  expect_products(row, block, q);
  EXPECT_TRUE(same_bits(kernel.multiply(), q)) << "a repeated product differs";
  EXPECT_TRUE(same_bits(kernel.multiply(3), q)) << "shares change the product";
  const auto added = kernel.multiply_add(0.0);
  EXPECT_EQ(added.rows, q.rows);
  EXPECT_EQ(added.columns, q.columns);
}

TEST(ProductCheckTest, ErrorsArePartsOfWhatRoundingAllowsAndNaNIsTheLargest) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(worse_of(nan, 1.0)));
  EXPECT_TRUE(std::isnan(worse_of(1.0, nan)));
  EXPECT_EQ(worse_of(1.0, 2.0), 2.0);
  EXPECT_EQ(worse_of(2.0, 1.0), 2.0);
  const KnownSum known{.sum = 2.0, .rounding = 0.5};
  EXPECT_TRUE(std::isnan(known.error_of(nan)));
  EXPECT_EQ(known.error_of(2.0), 0.0);
  EXPECT_EQ(known.error_of(1.75), 0.5);
  EXPECT_EQ(known.error_of(9.0, 4.0), 0.5);
  EXPECT_EQ(KnownSum().error_of(0.0), 0.0);
  EXPECT_TRUE(std::isinf(KnownSum().error_of(1e-300))) << "a sum of nothing has no rounding";
}

// ---------------------------------------------------------------- the table

TEST(KernelTableTest, NamesAreFoundAndLoopsAreListedFromThePortableOneToTheWidest) {
  for (const auto& row : kernel_table()) {
    EXPECT_EQ(find_kernel(row.name), &row) << row.name;
    EXPECT_EQ(&kernel_named(row.name), &row) << row.name;
    EXPECT_FALSE(row.description.empty()) << row.name;
    EXPECT_GT(row.bytes_per_nonzero, 0.0) << row.name;
  }
  for (const auto* name : {"no such kernel", ""}) {
    EXPECT_EQ(find_kernel(name), nullptr);
    EXPECT_THROW(static_cast<void>(kernel_named(name)), std::invalid_argument);
  }
  EXPECT_TRUE(
      std::ranges::is_partitioned(kernel_table(), [](const auto& row) { return !row.stores_half(); }));
  for_every_kernel([](const KernelRow& row) {
    ASSERT_FALSE(row.instruction_sets.empty());
    EXPECT_EQ(row.instruction_sets.front(), InstructionSet::portable);
    EXPECT_EQ(std::ranges::adjacent_find(row.instruction_sets, std::greater_equal<>{}),
              row.instruction_sets.end());
    EXPECT_LE(row.instruction_sets.back(), widest_instruction_set());
  });
}

// ---------------------------------------------------------------- the contract

TEST(SpmvKernelContractTest, TheForcedLoopRunsOrIsRefusedAndByItselfThePreferredOne) {
  const auto block = BlockMaker(0).make();
  for_every_kernel([&](const KernelRow& row) {
    for (const auto set : all_instruction_sets) {
      if (std::ranges::find(row.instruction_sets, set) == row.instruction_sets.end()) {
        EXPECT_THROW(row.make(block.csr(), {.instruction_set = set}), std::invalid_argument);
        continue;
      }
      const auto kernel = row.make(block.csr(), {.instruction_set = set});
      EXPECT_EQ(kernel->name(), row.name);
      EXPECT_EQ(kernel->instruction_set(), name_of(set));
      EXPECT_GT(kernel->matrix_byte_count(), 0);
    }
    const auto first = row.preferred_instruction_set();
    EXPECT_NE(std::ranges::find(row.instruction_sets, first), row.instruction_sets.end());
    EXPECT_EQ(row.make(block.csr(), {})->instruction_set(), name_of(first));
    for (int k = 0; k < 10; ++k) EXPECT_EQ(row.preferred_instruction_set(), first);
  });
}

TEST(SpmvKernelContractTest, TellsTheBytesItReads) {
  const auto block = BlockMaker(6).make();
  const auto csr = block.csr();
  EXPECT_GT(csr.byte_count(), 0);
  for_every_kernel([&](const KernelRow& row) {
    if (row.converts) return;
    EXPECT_EQ(row.make(block.csr(), {})->matrix_byte_count(), csr.byte_count());
    const auto nonzeros = static_cast<double>(csr.nonzero_count() * (row.stores_half() ? 2 : 1));
    EXPECT_EQ(row.bytes_per_nonzero * nonzeros + 8.0 * static_cast<double>(csr.row_count + 1),
              static_cast<double>(csr.byte_count()));
  });
}

/// They are what a product reads, and a column number with all bits set would lead it out of its operand.
TEST(SpmvKernelContractTest, ShowsItsArraysAndWhetherColumnsAreInRange) {
  constexpr int block_count = 40;
  for (int number = 0; number < block_count; ++number) {
    SCOPED_TRACE("block " + std::to_string(number));
    const auto block = BlockMaker(number).make();
    for_every_kernel([&](const KernelRow& row) {
      const auto kernel = row.make(block.csr(), {.thread_count = 1 + number % 3});
      EXPECT_TRUE(kernel->has_columns_in_range());
      size_t value_count = 0;
      for (const auto& array : kernel->stored_arrays()) {
        EXPECT_EQ(array.bytes.size() % array.element_size, 0U);
        if (array.kind == ArrayKind::values) value_count += array.bytes.size() / sizeof(double);
        if (array.kind != ArrayKind::columns || array.bytes.empty()) continue;
        std::ranges::fill(array.bytes.first(array.element_size), std::byte{0xff});
        EXPECT_FALSE(kernel->has_columns_in_range());
        return;
      }
      EXPECT_EQ(value_count, 0U) << "values without columns";
    });
  }
}

TEST(SpmvKernelContractTest, RandomBlocksOnAnyNumberOfThreads) {
  const int block_count = test::by_extent(usual_block_count, thorough_block_count);
  for (const int thread_count : {1, 2, 3, 5}) {
    for (int number = 0; number < block_count; ++number) {
      SCOPED_TRACE("block " + std::to_string(number) + ", threads " + std::to_string(thread_count));
      const auto block = BlockMaker(number + thread_count * thorough_block_count).make();
      for_every_loop([&](const KernelRow& row, InstructionSet set) {
        const bool is_usual = set == row.preferred_instruction_set() || test::has_one_loop;
        if (!is_usual && number >= block_count / loops_share_of_blocks) return;
        expect_contract(row, block, {.thread_count = thread_count, .instruction_set = set});
      });
    }
  }
}

/// A kernel ignores the settings that it does not have.
TEST(SpmvKernelContractTest, AnyCriticalVectorLengthBlockWidthAndPrefetchDistance) {
  const std::vector large{test::large_block()};
  std::vector<TestBlock> small;
  for (int number = 0; number < 16; ++number) small.push_back(BlockMaker(number).make());
  for_every_loop([&](const KernelRow& row, InstructionSet set) {
    const auto expect_contracts = [&](const std::vector<TestBlock>& blocks, const Tuning& tuning) {
      SCOPED_TRACE(testing::Message() << "cvl " << tuning.critical_vector_length.value_or(-1) << ", prefetch "
                                      << tuning.prefetch_distance.value_or(-1) << ", block width "
                                      << tuning.block_width.value_or(-1));
      for (const auto& block : blocks)
        expect_contract(row, block, {.thread_count = 2, .tuning = tuning, .instruction_set = set});
    };
    for (const int distance : {0, 100'000})
      expect_contracts(small,
                       {.critical_vector_length = 7, .prefetch_distance = distance, .block_width = 64});
    if (row.defaults.critical_vector_length) {
      for (const int length : {0, 1, 7, 8, 9, 33, 1000})
        expect_contracts(small, {.critical_vector_length = length});
    }
    if (row.defaults.block_width) {
      for (const int width : {64, 1024, 65536}) expect_contracts(large, {.block_width = width});
    }
  });
}

TEST(SpmvKernelContractTest, ManyRowsAndColumnsInAnyNumberOfSharesAndSumsThatGoOn) {
  const auto block = test::large_block();
  for_every_loop([&](const KernelRow& row, InstructionSet set) {
    for (const int thread_count : {1, 3}) {
      const KernelOptions options{.thread_count = thread_count, .instruction_set = set};
      TestedKernel kernel(row, block, options);
      const auto q = kernel.multiply();
      expect_products(row, block, q);
      EXPECT_TRUE(same_bits(kernel.multiply(), q)) << "a repeated product differs";
      const auto added = kernel.multiply_add(0.7);
      // More shares than the widest blocks, and than a thread has rows; but several threads may have to wait for a core in each.
      for (const int share_count : thread_count == 1 ? std::vector{2, 7, 1500} : std::vector{5}) {
        EXPECT_TRUE(same_bits(kernel.multiply(share_count), q)) << share_count << " shares";
        EXPECT_TRUE(same_bits(kernel.multiply_add(0.7, share_count), added)) << share_count << " shares";
      }
      if (!row.stores_half()) continue;
      // Sums over the columns go on with those that are there. (The bits: streamed_kernel_test.)
      std::vector<double> q_rows(block.rows.size());
      std::vector<double> q_columns(block.operand.size(), 0.5);
      multiply_shares(*row.make(block.csr(), options),
                      {.p_columns = block.operand,
                       .p_rows = row_operand(block),
                       .q_rows = q_rows,
                       .q_columns = q_columns},
                      {.is_continued = true, .share_count = 4});
      // A column has some hundred entries of at most 1302: 2e5 in all, with some hundred roundings of 1e-16 each.
      for (size_t c = 0; c < q_columns.size(); ++c) ASSERT_NEAR(q_columns[c], 0.5 + q.columns[c], 1e-8) << c;
    }
  });
}

/// Rows with up to three entries, in more rows than one panel of the kernel may have.
Rows many_short_rows(int64_t row_count, int32_t column_count) {
  std::mt19937_64 random(20261125);
  Rows rows(static_cast<size_t>(row_count));
  for (auto& row : rows) {
    int32_t column = -1;
    for (auto count = random() % 4; count > 0; --count) {
      column += static_cast<int32_t>(1 + random() % static_cast<uint64_t>(column_count / 3));
      row.push_back({.column = column, .value = std::ldexp(static_cast<double>(random() % 1000003), -20)});
    }
  }
  return rows;
}

/// The pieces into which a kernel cuts many rows change no bit: they are those of panels, which go on with the sums over the columns.
TEST(SpmvKernelContractTest, ManyRowsHaveTheBitsOfTheirPanels) {
  constexpr int32_t column_count = 20000;
  int kernel_count = 0;
  for_every_kernel([&](const KernelRow& row) {
    if (row.most_panel_rows == std::numeric_limits<int64_t>::max()) return;
    ++kernel_count;
    ASSERT_EQ(row.most_panel_rows % row.panel_rows, 0);
    const auto row_count = row.most_panel_rows + 3 * row.panel_rows + 17;
    const auto rows = many_short_rows(row_count, column_count);
    std::vector<double> p_columns(column_count);
    std::vector<double> p_rows(rows.size());
    for (size_t k = 0; k < p_columns.size(); ++k) p_columns[k] = std::sin(static_cast<double>(k));
    for (size_t k = 0; k < p_rows.size(); ++k) p_rows[k] = std::cos(static_cast<double>(k));

    std::vector<double> q_rows(rows.size());
    std::vector<double> q_columns(p_columns.size());
    const auto panel_rows = static_cast<size_t>(11 * row.panel_rows);
    for (size_t first = 0; first < rows.size(); first += panel_rows) {
      const auto count = std::min(panel_rows, rows.size() - first);
      const Rows panel(rows.begin() + static_cast<ptrdiff_t>(first),
                       rows.begin() + static_cast<ptrdiff_t>(first + count));
      row.make(CsrBlock::from_rows(column_count, panel), {})
          ->multiply({.p_columns = p_columns,
                      .p_rows = std::span(p_rows).subspan(first, count),
                      .q_rows = std::span(q_rows).subspan(first, count),
                      .q_columns = q_columns},
                     {.is_continued = first > 0});
    }
    const auto kernel = row.make(CsrBlock::from_rows(column_count, rows), {});
    for (const int share_count : {1, 3}) {
      std::vector<double> whole_rows(rows.size());
      std::vector<double> whole_columns(p_columns.size());
      multiply_shares(
          *kernel,
          {.p_columns = p_columns, .p_rows = p_rows, .q_rows = whole_rows, .q_columns = whole_columns},
          {.share_count = share_count});
      EXPECT_TRUE(test::same_bits(whole_rows, q_rows)) << share_count << " shares";
      EXPECT_TRUE(test::same_bits(whole_columns, q_columns)) << share_count << " shares";
    }
  });
  EXPECT_EQ(kernel_count, 2);
}

/// Every share makes some of the product, and none makes all of it.
TEST(SpmvKernelContractTest, SharesDivideTheWork) {
  const auto block = test::large_block();
  for_every_kernel([&](const KernelRow& row) {
    const auto kernel = row.make(block.csr(), {.tuning = {.block_width = 1024}});
    const auto made_by = [&](const ProductMode& mode) {
      std::vector<double> q_rows(block.rows.size());
      std::vector<double> q_columns(row.stores_half() ? block.operand.size() : 0);
      kernel->multiply({.p_columns = block.operand,
                        .p_rows = row_operand(block),
                        .q_rows = q_rows,
                        .q_columns = q_columns},
                       mode);
      return std::accumulate(q_rows.begin(), q_rows.end(), 0.0,
                             [](double sum, double q) { return sum + std::abs(q); });
    };
    const auto whole = made_by({});
    for (int share = 0; share < 4; ++share) {
      const auto made = made_by({.is_added = true, .share = share, .share_count = 4});
      EXPECT_GT(made, 0.0) << "share " << share;
      EXPECT_NE(made, whole) << "share " << share;
    }
  });
}

TEST(SpmvKernelContractTest, BlockWidthsArePowersOfTwoThat16BitsReach) {
  for (const int width : {64, 128, 2048, 65536}) EXPECT_TRUE(is_block_width(width)) << width;
  for (const int width : {-64, 0, 1, 32, 100, 2047, 131072}) EXPECT_FALSE(is_block_width(width)) << width;
}

TEST(SpmvKernelContractTest, EveryRowLengthUpToTwoVectorsOfEveryWidth) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    for (int32_t length = 0; length <= 65; ++length) {
      SCOPED_TRACE("rows of length " + std::to_string(length));
      TestBlock block{.column_count = 66, .rows = Rows(3), .operand = std::vector<double>(66, 2.0)};
      for (auto& entries : block.rows) {
        for (int32_t k = 0; k < length; ++k) entries.push_back({.column = k, .value = 1.0 + k});
      }
      TestedKernel kernel(row, block, {.thread_count = 2, .instruction_set = set});
      const double sum = length * (length + 1.0);  // integers: exact
      const auto q = kernel.multiply();
      EXPECT_EQ(q.rows, std::vector<double>(3, sum));
      EXPECT_EQ(kernel.multiply_add(5.0).rows, std::vector<double>(3, sum + 5.0));
      expect_products(row, block, q);
    }
    const TestBlock no_columns{.column_count = 0, .rows = Rows(3), .operand = {}};
    EXPECT_EQ(TestedKernel(row, no_columns, {.thread_count = 2, .instruction_set = set}).multiply().rows,
              std::vector<double>(3, 0.0));
  });
}

TEST(SpmvKernelContractTest, NotANumberAndInfinityComeThroughAndStayInTheRowsThatNeedThem) {
  for_every_loop([](const KernelRow& row, InstructionSet set) {
    TestBlock block{.column_count = 20, .rows = Rows(4), .operand = std::vector<double>(20, 1.0)};
    for (int32_t k = 0; k < 18; ++k) block.rows[0].push_back({.column = k, .value = 1.0});
    block.rows[1] = {{.column = 1, .value = 1.0}, {.column = 19, .value = 2.0}};
    block.rows[3] = {{.column = 18, .value = 1.0}};
    block.operand[0] = std::numeric_limits<double>::infinity();
    block.operand[18] = std::numeric_limits<double>::quiet_NaN();
    const auto q = TestedKernel(row, block, {.instruction_set = set}).multiply();
    EXPECT_FALSE(std::isfinite(q.rows[0]));  // padding may read column 0, which makes it no number
    EXPECT_EQ(q.rows[1], 3.0);
    EXPECT_EQ(q.rows[2], 0.0) << "a row without entries";
    EXPECT_TRUE(std::isnan(q.rows[3]));
  });
}

// ---------------------------------------------------------------- single kernels

TEST(SingleKernelTest, CsrShortTakesTenBytesPerNonzeroAndFourPerRowAndColumnBlock) {
  const auto block = test::large_block();  // 70 000 columns
  const auto csr = block.csr();
  for (const int width : {32768, max_block_width}) {
    const int64_t block_count = (block.column_count + width - 1) / width;
    const auto kernel = kernel_named("csr-short").make(block.csr(), {.tuning = {.block_width = width}});
    EXPECT_EQ(kernel->matrix_byte_count(),
              10 * csr.nonzero_count() + 4 * csr.row_count * block_count + 8 * (block_count + 1));
  }
}

TEST(SingleKernelTest, LoopsForTheProcessorsInstructions) {
  const auto all = of_this_processor(all_instruction_sets);
  for (const auto* name : {"csr-simd", "csr-short", "sell"})
    EXPECT_EQ(kernel_named(name).instruction_sets, all) << name;
  const bool has_fma = std::ranges::count(all, InstructionSet::fma) > 0;
  EXPECT_EQ(kernel_named("symmetric").instruction_sets.size(), has_fma ? 2 : 1);
  const auto& distinct = kernel_named("symmetric-distinct");
  EXPECT_EQ(distinct.instruction_sets.size(), all.size() - (has_fma ? 1 : 0));
  EXPECT_EQ(default_kernel(Storage::half).name,
            distinct.instruction_sets.size() == 1 ? "symmetric" : "symmetric-distinct");
}

// ---------------------------------------------------------------- several vectors at once

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
  const auto kernel = kernel_named("csr-short")
                          .make(block.copy(), {.tuning = {.block_width = block_width}, .vector_count = 8});
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
        for (const auto set : test::sets_with_loops(of_this_processor(sets_without_gathers))) {
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
  for (const auto* name : {"csr-short", "csr-simd", "blocks"}) {
    for (const int count : {0, 3, 32, 33})
      EXPECT_THROW(kernel_named(name).make(block.copy(), {.vector_count = count}), std::invalid_argument)
          << name;
  }
  EXPECT_TRUE(default_kernel_for_several().makes_several);
}

// ---------------------------------------------------------------- the choice among loops

/// Multiplies nothing; takes some time.
class SlowKernel final : public SpmvKernel {
 public:
  SlowKernel(InstructionSet set, std::chrono::microseconds time) : set_(set), time_(time) {}

  std::string_view name() const override { return "slow"; }
  std::string_view instruction_set() const override { return name_of(set_); }
  int64_t matrix_byte_count() const override { return 0; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return {}; }
  bool has_columns_in_range() const override { return true; }
  void multiply(const Operands& operands, const ProductMode& /*mode*/) override {
    EXPECT_EQ(operands.p_columns.size(), operands.q_columns.size());
    EXPECT_EQ(operands.p_rows.size(), operands.q_rows.size());
    const auto end = std::chrono::steady_clock::now() + time_;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

 private:
  InstructionSet set_;
  std::chrono::microseconds time_;
};

/// Much slower than others: whatever else this machine does, one of 16 rounds tells them apart.
std::unique_ptr<SpmvKernel> make_with_slow_gathers(CsrBlock block, const KernelOptions& options) {
  EXPECT_GT(block.nonzero_count(), 0);
  const bool is_slow = *options.instruction_set >= InstructionSet::avx2;
  return std::make_unique<SlowKernel>(*options.instruction_set,
                                      std::chrono::microseconds(is_slow ? 300 : 20));
}

std::unique_ptr<SpmvKernel> make_alike(CsrBlock /*block*/, const KernelOptions& options) {
  return std::make_unique<SlowKernel>(*options.instruction_set, std::chrono::microseconds(20));
}

std::unique_ptr<SpmvKernel> make_none(CsrBlock /*block*/, const KernelOptions& /*options*/) {
  ADD_FAILURE() << "there is nothing to choose";
  return nullptr;
}

TEST(FastestLoopTest, TakesTheFasterOneAndAmongEqualsTheExpectedOne) {
  using enum InstructionSet;
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {fma, avx512}, avx512), fma);
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {fma, avx512}, fma), fma);
  const std::vector<InstructionSet> sets(all_instruction_sets.begin(), all_instruction_sets.end());
  for (const auto expected : sets) EXPECT_EQ(fastest_loop(make_alike, sets, expected), expected);
  EXPECT_EQ(fastest_loop(make_with_slow_gathers, {portable, avx2}, avx512), portable) << "that is missing";
  EXPECT_EQ(fastest_loop(make_none, {portable}, portable), portable) << "nothing is measured";
}

}  // namespace
}  // namespace cg2d::kernels::spmv_kernel_contract_test
