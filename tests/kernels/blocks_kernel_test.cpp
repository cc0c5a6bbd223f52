// Products of kernel "blocks" with one vector and with several are those of the reference kernel with one vector after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/index_sets.hpp"
#include "kernels/spmv.hpp"
#include "kernels/supervariables.hpp"
#include "support/bits.hpp"
#include "support/half_pairs.hpp"

namespace cg2d::kernels::blocks_kernel_test {
namespace {

using test::expect_near;
using test::HalfBlock;

constexpr uint64_t seed = 20261127;

/// An element of one vector. Number 0 is the vector of a product with a single one, too.
double element(int64_t index, int64_t vector) {
  return 1.5 + std::sin(static_cast<double>(index + 1000 * vector));
}

struct ProductCase {
  HalfBlock shape{};
  int64_t vector_count = 1;
  int share_count = 1;
  double before = 0.0;  // in q; it is added to unless that is 0
};

/// The sums of one product over rows and columns, together where both are the same index; the vectors side by side, from number
/// first_vector on.
std::vector<double> all_sums(SpmvKernel& kernel, const ProductCase& test_case, int64_t first_vector = 0) {
  const auto& shape = test_case.shape;
  const auto count = test_case.vector_count;
  std::vector<double> p_columns;
  std::vector<double> p_rows;
  for (int64_t k = 0; k < shape.column_count * count; ++k)
    p_columns.push_back(element(k / count, first_vector + k % count));
  for (int64_t k = 0; k < shape.row_count * count; ++k)
    p_rows.push_back(element(k / count + shape.column_of_row_0, first_vector + k % count));
  const bool is_added = test_case.before != 0.0;
  std::vector<double> q_rows(p_rows.size(), is_added ? test_case.before : std::nan(""));
  std::vector<double> q_columns(p_columns.size(), is_added ? test_case.before : std::nan(""));
  for (int share = 0; share < test_case.share_count; ++share) {
    kernel.multiply({.p_columns = p_columns, .p_rows = p_rows, .q_rows = q_rows, .q_columns = q_columns},
                    {.is_added = is_added,
                     .is_continued = is_added,
                     .share = share,
                     .share_count = test_case.share_count});
  }
  std::vector<double> sums(p_rows.size() + p_columns.size());
  const auto column_0 = static_cast<size_t>(count * std::max<int64_t>(-shape.column_of_row_0, 0));
  const auto row_0 = static_cast<size_t>(count * std::max<int64_t>(shape.column_of_row_0, 0));
  for (size_t k = 0; k < q_columns.size(); ++k) sums[column_0 + k] += q_columns[k];
  for (size_t k = 0; k < q_rows.size(); ++k) sums[row_0 + k] += q_rows[k];
  return sums;
}

/// The sums that the reference kernel has with one vector after the other.
std::vector<double> expected_sums(const CsrBlock& half, const ProductCase& test_case) {
  const auto kernel = reference_kernel(Storage::half).make(half.copy(), {});
  const auto count = static_cast<size_t>(test_case.vector_count);
  std::vector<double> all;
  for (size_t vector = 0; vector < count; ++vector) {
    const auto one =
        all_sums(*kernel, {.shape = test_case.shape, .vector_count = 1, .before = test_case.before},
                 static_cast<int64_t>(vector));
    all.resize(one.size() * count);
    for (size_t k = 0; k < one.size(); ++k) all[k * count + vector] = one[k];
  }
  return all;
}

/// What multiplies a block: symmetric block CSR of supervariables, sets, or another kernel.
enum class Format { supervariables, sets, other };

/// By the last array: columns of 32 bits after starts of rows, members of sets after their values, or what else another kernel has.
Format format_of(SpmvKernel& kernel) {
  const auto arrays = kernel.stored_arrays();
  const auto is_list = [](const StoredArray& array) {
    return array.kind == ArrayKind::columns && array.element_size == sizeof(uint32_t) && !array.bytes.empty();
  };
  if (arrays.empty() || !is_list(arrays.back())) return Format::other;
  return arrays[arrays.size() - 2].kind == ArrayKind::structure ? Format::supervariables : Format::sets;
}

void expect_products_of_reference(const CsrBlock& half, const HalfBlock& shape, int64_t vector_count,
                                  Format format) {
  const auto& row = kernel_named("blocks");
  const auto expected = expected_sums(half, {.shape = shape, .vector_count = vector_count});
  const auto expected_more =
      expected_sums(half, {.shape = shape, .vector_count = vector_count, .before = 3.0});
  for (const auto set : row.instruction_sets) {
    for (const int thread_count : {1, 3}) {
      SCOPED_TRACE(testing::Message() << name_of(set) << ", " << thread_count << " threads, " << vector_count
                                      << " vectors, row 0 is column " << shape.column_of_row_0);
      const auto kernel = row.make(half.copy(), {.thread_count = thread_count,
                                                 .vector_count = static_cast<int>(vector_count),
                                                 .instruction_set = set,
                                                 .column_of_row_0 = shape.column_of_row_0});
      EXPECT_EQ(kernel->instruction_set(), name_of(set));
      EXPECT_EQ(format_of(*kernel), format);
      EXPECT_TRUE(kernel->has_columns_in_range());
      ProductCase test_case{.shape = shape, .vector_count = vector_count};
      const auto sums = all_sums(*kernel, test_case);
      expect_near(sums, expected);
      for (const int share_count : test::share_counts_for(thread_count)) {
        test_case.share_count = share_count;
        EXPECT_TRUE(test::same_bits(all_sums(*kernel, test_case), sums)) << share_count << " shares";
      }
      expect_near(all_sums(*kernel, {.shape = shape, .vector_count = vector_count, .before = 3.0}),
                  expected_more);
    }
  }
}

constexpr std::array all_counts{1, 2, 4, 8, 16};

TEST(BlocksKernelTest, SetsOfEverySizeHaveTheProductsOfTheReference) {
  for (const int count : all_counts) {
    for (int size = least_index_set; size <= (count == 1 ? largest_index_set : largest_set_of_several);
         ++size) {
      SCOPED_TRACE("sets of " + std::to_string(size));
      std::mt19937_64 random(seed);
      const int32_t index_count = size > largest_set_of_several ? 3000 : 600;
      const HalfBlock shape{index_count, index_count, 0};
      const auto half =
          shape.store(test::union_of_sets(index_count, 4 * index_count / size, size, random), random);
      expect_products_of_reference(half, shape, count, Format::sets);
    }
  }
}

TEST(BlocksKernelTest, SetsOfManySizesMayBeInOneBlock) {
  std::mt19937_64 random(seed);
  auto pairs = test::union_of_sets(600, 30, 5, random);
  for (int k = 0; k < 60; ++k) {
    const auto size =
        least_index_set + static_cast<int>(random() % (largest_set_of_several - least_index_set + 1));
    pairs.merge(test::union_of_sets(600, 1, size, random));
  }
  const HalfBlock shape{600, 600, 0};
  for (const int count : all_counts)
    expect_products_of_reference(shape.store(pairs, random), shape, count, Format::sets);
}

TEST(BlocksKernelTest, RowsAndColumnsMayMeetAnywhere) {
  for (const int64_t column_of_row_0 : {-400, -100, -20, -1, 1, 60, 400, 500}) {
    std::mt19937_64 random(seed);
    const HalfBlock shape{400, 500, column_of_row_0};
    const auto half = shape.store(test::union_of_sets(500, 200, 9, random), random);
    const bool is_in_sets = !find_index_sets(half, SharedIndices(half, column_of_row_0)).empty();
    EXPECT_EQ(is_in_sets, column_of_row_0 >= -20 && column_of_row_0 <= 60);
    for (const int count : all_counts)
      expect_products_of_reference(half, shape, count, is_in_sets ? Format::sets : Format::other);
  }
}

TEST(BlocksKernelTest, BlocksOfSupervariablesHaveTheProductsOfTheReference) {
  for (int size = least_supervariable; size <= largest_supervariable; ++size) {
    SCOPED_TRACE(std::to_string(size) + " unknowns");
    std::mt19937_64 random(seed);
    test::Mesh mesh(7, 20);
    mesh.number(size);
    for (size_t node = 0; node < mesh.unknowns.size(); node += 20) mesh.unknowns[node].pop_back();
    const auto count = int64_t{140} * size;
    // All rows are columns, too, or some are not: these blocks have no form for several vectors.
    for (const auto& shape :
         {HalfBlock{count, count, 0}, HalfBlock{count - 40, count, 20}, HalfBlock{count, count, -20}}) {
      const auto half = shape.store(mesh.pairs(random), test::is_above);
      for (const int vector_count : all_counts) {
        const bool is_stored = vector_count == 1 || shape.column_of_row_0 >= 0;
        expect_products_of_reference(half, shape, vector_count,
                                     is_stored ? Format::supervariables : Format::other);
      }
    }
  }
}

/// With one vector alone: rows that are no columns, far from the diagonal, too.
TEST(BlocksKernelTest, RowsAndColumnsOfSupervariablesMayMeetAnywhere) {
  test::Mesh mesh(7, 90);
  mesh.number(3);
  for (const int64_t column_of_row_0 : {-900, -150, -1, 1, 90, 640}) {
    std::mt19937_64 random(seed);
    const HalfBlock shape{1200, 1300, column_of_row_0};
    expect_products_of_reference(shape.store(mesh.pairs(random), test::is_above), shape, 1,
                                 Format::supervariables);
  }
}

TEST(BlocksKernelTest, ABlockWithoutSetsIsMultipliedByAnotherKernel) {
  std::mt19937_64 random(seed);
  const HalfBlock shape{200, 200, 0};
  for (const int64_t count : vector_counts) {
    expect_products_of_reference(shape.store(test::union_of_sets(200, 300, 2, random), random), shape, count,
                                 Format::other);
    expect_products_of_reference(shape.store({}, random), shape, count, Format::other);
  }
}

TEST(BlocksKernelTest, ColumnsOutOfTheBlockAreSeen) {
  std::mt19937_64 random(seed);
  test::Mesh mesh(7, 60);
  mesh.number(3);
  for (const auto& pairs : {test::union_of_sets(1260, 630, 12, random), mesh.pairs(random)}) {
    const auto half = HalfBlock{1260, 1260, 0}.store(pairs, test::is_above);
    for (const int count : all_counts) {
      const auto kernel = kernel_named("blocks").make(
          half.copy(), {.thread_count = 2, .vector_count = count, .column_of_row_0 = 0});
      ASSERT_NE(format_of(*kernel), Format::other);
      ASSERT_TRUE(kernel->has_columns_in_range());
      const auto columns = kernel->stored_arrays().back();
      std::ranges::fill(columns.bytes.first(columns.element_size), std::byte{0xff});
      EXPECT_FALSE(kernel->has_columns_in_range());
    }
  }
}

TEST(BlocksKernelTest, OtherNumbersOfVectorsAreRefused) {
  std::mt19937_64 random(seed);
  const auto half = HalfBlock{300, 300, 0}.store(test::union_of_sets(300, 100, 6, random), random);
  for (const int count : {0, 3, 32})
    EXPECT_THROW(kernel_named("blocks").make(half.copy(), {.vector_count = count, .column_of_row_0 = 0}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::blocks_kernel_test
