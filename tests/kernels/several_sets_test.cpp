// Products of kernel "blocks" with several vectors are those of the reference kernel with one vector after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/index_sets.hpp"
#include "kernels/several_vectors.hpp"
#include "kernels/spmv.hpp"
#include "kernels/supervariables.hpp"
#include "support/bits.hpp"
#include "support/half_pairs.hpp"

namespace cg2d::kernels::several_sets_test {
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

/// Members are the only columns of 32 bits.
bool has_sets(SpmvKernel& kernel) {
  const auto arrays = kernel.stored_arrays();
  return std::ranges::any_of(arrays, [](const StoredArray& array) {
    return array.kind == ArrayKind::columns && array.element_size == sizeof(uint32_t) && !array.bytes.empty();
  });
}

void expect_products_of_reference(const CsrBlock& half, const HalfBlock& shape, bool is_in_sets) {
  const auto& row = kernel_named("blocks");
  for (const int vector_count : vector_counts) {
    const auto expected = expected_sums(half, {.shape = shape, .vector_count = vector_count});
    const auto expected_more =
        expected_sums(half, {.shape = shape, .vector_count = vector_count, .before = 3.0});
    for (const auto set : row.instruction_sets) {
      for (const int thread_count : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << name_of(set) << ", " << thread_count << " threads, " << vector_count
                     << " vectors, row 0 is column " << shape.column_of_row_0);
        const auto kernel = row.make_for_several(half.copy(), {.thread_count = thread_count,
                                                               .vector_count = vector_count,
                                                               .instruction_set = set,
                                                               .column_of_row_0 = shape.column_of_row_0});
        EXPECT_EQ(kernel->instruction_set(), name_of(set));
        EXPECT_EQ(has_sets(*kernel), is_in_sets);
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
}

TEST(SeveralSetsTest, SetsOfEverySizeHaveTheProductsOfTheReference) {
  for (int size = least_index_set; size <= largest_set_of_several; ++size) {
    SCOPED_TRACE("sets of " + std::to_string(size));
    std::mt19937_64 random(seed);
    const HalfBlock shape{600, 600, 0};
    const auto half = shape.store(test::union_of_sets(600, 2400 / size, size, random), random);
    expect_products_of_reference(half, shape, true);
  }
}

TEST(SeveralSetsTest, SetsOfManySizesMayBeInOneBlock) {
  std::mt19937_64 random(seed);
  auto pairs = test::union_of_sets(600, 30, 5, random);
  for (int k = 0; k < 60; ++k) {
    const auto size =
        least_index_set + static_cast<int>(random() % (largest_set_of_several - least_index_set + 1));
    pairs.merge(test::union_of_sets(600, 1, size, random));
  }
  const HalfBlock shape{600, 600, 0};
  expect_products_of_reference(shape.store(pairs, random), shape, true);
}

TEST(SeveralSetsTest, RowsAndColumnsMayMeetAnywhere) {
  for (const int64_t column_of_row_0 : {-400, -100, -20, -1, 1, 60, 400, 500}) {
    std::mt19937_64 random(seed);
    const HalfBlock shape{400, 500, column_of_row_0};
    const auto half = shape.store(test::union_of_sets(500, 200, 9, random), random);
    const bool is_in_sets = !find_index_sets(half, SharedIndices(half, column_of_row_0)).empty();
    EXPECT_EQ(is_in_sets, column_of_row_0 >= -20 && column_of_row_0 <= 60);
    expect_products_of_reference(half, shape, is_in_sets);
  }
}

TEST(SeveralSetsTest, BlocksOfSupervariablesHaveTheProductsOfTheReference) {
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
      expect_products_of_reference(shape.store(mesh.pairs(random), test::is_above), shape,
                                   shape.column_of_row_0 >= 0);
    }
  }
}

TEST(SeveralSetsTest, ABlockWithoutSetsIsMultipliedByAnotherKernel) {
  std::mt19937_64 random(seed);
  const HalfBlock shape{200, 200, 0};
  expect_products_of_reference(shape.store(test::union_of_sets(200, 300, 2, random), random), shape, false);
  expect_products_of_reference(shape.store({}, random), shape, false);
}

TEST(SeveralSetsTest, MembersOutOfTheBlockAreSeen) {
  std::mt19937_64 random(seed);
  const auto half = HalfBlock{1000, 1000, 0}.store(test::union_of_sets(1000, 500, 12, random), random);
  const auto kernel =
      make_several_sets(half.copy(), {.thread_count = 2, .vector_count = 8, .column_of_row_0 = 0});
  ASSERT_TRUE(kernel->has_columns_in_range());
  const auto arrays = kernel->stored_arrays();
  ASSERT_EQ(arrays.back().kind, ArrayKind::columns);
  std::ranges::fill(arrays.back().bytes.first(arrays.back().element_size), std::byte{0xff});
  EXPECT_FALSE(kernel->has_columns_in_range());
}

TEST(SeveralSetsTest, OtherNumbersOfVectorsAreRefused) {
  std::mt19937_64 random(seed);
  const auto half = HalfBlock{300, 300, 0}.store(test::union_of_sets(300, 100, 6, random), random);
  for (const int count : {0, 1, 3, 32})
    EXPECT_THROW(make_several_sets(half.copy(), {.vector_count = count, .column_of_row_0 = 0}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::several_sets_test
