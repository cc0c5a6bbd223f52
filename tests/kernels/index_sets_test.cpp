// Dense blocks of a pattern: the sets that are found in it. Products with them: blocks_kernel_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/index_sets.hpp"
#include "support/half_pairs.hpp"

namespace cg2d::kernels::index_sets_test {
namespace {

using test::HalfBlock;
using test::Pairs;
using test::union_of_sets;

constexpr uint64_t seed = 20261127;

/// The sets are sets of the pattern, and no entry is in two of them. Returns the share of the entries that are in sets.
double expect_right_sets(const CsrBlock& half, const SharedIndices& shared, const IndexSets& sets) {
  std::vector<int> uses(static_cast<size_t>(half.nonzero_count()) + 1);
  std::vector<int64_t> row_of(uses.size());
  for (int64_t row = 0; row < half.row_count; ++row) {
    for (auto entry = half.row_starts[static_cast<size_t>(row)];
         entry < half.row_starts[static_cast<size_t>(row) + 1]; ++entry)
      row_of[static_cast<size_t>(entry) + 1] = row;
  }
  const auto* member = sets.members.data();
  const auto* entry = sets.entries.data();
  size_t zero_count = 0;
  const auto expect_entry = [&](int64_t a, int64_t b) {
    const auto number = *entry++;
    if (number == IndexSets::no_entry) {
      ++zero_count;
      return;
    }
    ++uses[number];
    const auto row = row_of[number] - shared.first_row;
    const auto column = half.columns[number - 1] - shared.first_column;
    EXPECT_EQ(std::minmax(row, column), std::minmax(a, b));
  };
  for (const size_t size : sets.sizes) {
    EXPECT_GE(size, least_index_set);
    EXPECT_LE(size, largest_index_set);
    const std::span members(member, size);
    EXPECT_EQ(std::ranges::adjacent_find(members, std::greater_equal<>{}), members.end());
    EXPECT_LT(members.back(), shared.count);
    for (size_t k = 0; k < size; ++k) expect_entry(members[k], members[k]);
    for (size_t column = 0; column < size; ++column) {
      for (size_t row = column + 1; row < size; ++row) expect_entry(members[row], members[column]);
    }
    member += size;
  }
  EXPECT_EQ(member, sets.members.data() + sets.members.size());
  EXPECT_EQ(entry, sets.entries.data() + sets.entries.size());
  EXPECT_LE(*std::ranges::max_element(uses), 1);
  EXPECT_LE(static_cast<double>(zero_count), 0.4 * static_cast<double>(sets.entries.size()));
  return static_cast<double>(std::ranges::count(uses, 1)) / static_cast<double>(half.nonzero_count());
}

TEST(IndexSetsTest, SetsOfEverySizeAreFoundInTheirUnion) {
  for (const int size : {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}) {
    SCOPED_TRACE("sets of " + std::to_string(size));
    std::mt19937_64 random(seed);
    const auto half = HalfBlock{3000, 3000, 0}.store(union_of_sets(3000, 12000 / size, size, random), random);
    const SharedIndices shared(half, 0);
    EXPECT_EQ(shared.count, 3000);
    EXPECT_GT(expect_right_sets(half, shared, find_index_sets(half, shared)), 0.9);
  }
}

/// Its row is searched, where others are read.
TEST(IndexSetsTest, AnIndexThatHasPairsWithAllOthersHidesNoSets) {
  constexpr int32_t count = 3000;
  constexpr int32_t dense = count / 2;
  std::mt19937_64 random(seed);
  auto pairs = union_of_sets(count, 1500, 8, random);
  for (int32_t k = 0; k < count; ++k) pairs[std::minmax(k, dense)] = 1.0;
  const auto half = HalfBlock{count, count, 0}.store(pairs, random);
  const SharedIndices shared(half, 0);
  EXPECT_GT(expect_right_sets(half, shared, find_index_sets(half, shared)), 0.85);
}

TEST(IndexSetsTest, OnlySharedIndicesAreInSetsAndOnlyWhereMostEntriesAreBetweenThem) {
  for (const int64_t column_of_row_0 : {-900, -100, -1, 0, 200, 1200}) {
    SCOPED_TRACE("row 0 is column " + std::to_string(column_of_row_0));
    std::mt19937_64 random(seed);
    const HalfBlock shape{2700, 3000, column_of_row_0};
    const auto half = shape.store(union_of_sets(3000, 900, 12, random), random);
    const SharedIndices shared(half, column_of_row_0);
    EXPECT_EQ(shared.count,
              std::min<int64_t>(3000, column_of_row_0 + 2700) - std::max<int64_t>(column_of_row_0, 0));
    const auto sets = find_index_sets(half, shared);
    EXPECT_EQ(sets.empty(), shared.count < 2250);
    if (!sets.empty()) expect_right_sets(half, shared, sets);
  }
}

TEST(IndexSetsTest, WithoutAPlaceOfItsRowsABlockHasNoSharedIndices) {
  std::mt19937_64 random(seed);
  const auto half = HalfBlock{300, 300, 0}.store(union_of_sets(300, 40, 12, random), random);
  EXPECT_EQ(SharedIndices(half, std::nullopt).count, 0);
  EXPECT_EQ(SharedIndices(half, 300).count, 0);
  EXPECT_EQ(SharedIndices(half, -300).count, 0);
  EXPECT_TRUE(find_index_sets(half, SharedIndices(half, std::nullopt)).empty());
}

/// Random rows, a path, no entries, and one dense row.
TEST(IndexSetsTest, PatternsWithoutSetsHaveNone) {
  constexpr int32_t count = 4000;
  std::mt19937_64 random(seed);
  Pairs scattered;
  Pairs path;
  Pairs dense_row;
  for (int32_t k = 0; k < 20 * count; ++k) {
    const auto first = static_cast<int32_t>(random() % count);
    const auto second = static_cast<int32_t>(random() % count);
    scattered[std::minmax(first, second)] = 1.0;
  }
  for (int32_t k = 0; k < count; ++k) {
    path[{k, k}] = 2.0;
    if (k > 0) path[{k - 1, k}] = 1.0;
    if (k != count / 2) dense_row[std::minmax(k, count / 2)] = 1.0;
  }
  for (const auto& pairs : {scattered, path, Pairs{}, dense_row}) {
    const auto half = HalfBlock{count, count, 0}.store(pairs, random);
    EXPECT_TRUE(find_index_sets(half, SharedIndices(half, 0)).empty());
  }
}

}  // namespace
}  // namespace cg2d::kernels::index_sets_test
