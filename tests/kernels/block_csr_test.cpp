// Supervariables of a pattern, and the products of kernel "blocks" with the dense blocks between them.

#include "kernels/block_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/spmv.hpp"
#include "kernels/supervariables.hpp"
#include "support/bits.hpp"
#include "support/half_pairs.hpp"

namespace cg2d::kernels::block_csr_test {
namespace {

using test::all_sums;
using test::expect_near;
using test::HalfBlock;
using test::is_above;
using test::Mesh;
using test::Pairs;

constexpr uint64_t seed = 20261127;

std::set<std::set<uint32_t>> sets_of(const Supervariables& all) {
  std::set<std::set<uint32_t>> sets;
  for (size_t k = 0; k < all.members.size(); k += static_cast<size_t>(all.size)) {
    std::set<uint32_t> members(all.members.begin() + static_cast<ptrdiff_t>(k),
                               all.members.begin() + static_cast<ptrdiff_t>(k) + all.size);
    members.erase(Supervariables::no_member);
    sets.insert(members);
  }
  return sets;
}

TEST(SupervariablesTest, TheUnknownsOfEachNodeAreOne) {
  for (int size = least_supervariable; size <= largest_supervariable; ++size) {
    for (const int thread_count : {1, 3}) {
      SCOPED_TRACE(std::to_string(size) + " unknowns, threads " + std::to_string(thread_count));
      std::mt19937_64 random(seed);
      Mesh mesh(7, 60);
      mesh.number(size);
      const auto count = int64_t{420} * size;
      const auto half = HalfBlock{count, count, 0}.store(mesh.pairs(random), is_above);
      const auto found = find_supervariables(half, SharedIndices(half, 0), thread_count);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->size, size);
      std::set<std::set<uint32_t>> expected;
      for (const auto& unknowns : mesh.unknowns) expected.emplace(unknowns.begin(), unknowns.end());
      EXPECT_EQ(sets_of(*found), expected);
    }
  }
}

TEST(SupervariablesTest, NeighboursInARandomOrderAreBroughtTogether) {
  std::mt19937_64 random(seed);
  constexpr int width = 6;
  Mesh mesh(width, 1500);
  mesh.number(2);
  mesh.shuffle_nodes(random);
  constexpr int64_t count = int64_t{2} * width * 1500;
  const auto half = HalfBlock{count, count, 0}.store(mesh.pairs(random), [](auto, auto) { return true; });
  const auto found = find_supervariables(half, SharedIndices(half, 0));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size, 2);
  std::vector<int64_t> position(static_cast<size_t>(count));
  for (size_t k = 0; k < found->members.size(); ++k)
    position[found->members[k]] = static_cast<int64_t>(k / 2);
  int64_t farthest = 0;
  for (size_t node = width; node < mesh.unknowns.size(); ++node) {
    const auto before = static_cast<size_t>(mesh.unknowns[node - width].front());
    farthest = std::max(
        farthest, std::abs(position[static_cast<size_t>(mesh.unknowns[node].front())] - position[before]));
  }
  EXPECT_LE(farthest, 4 * width) << "nodes in neighbouring lines";
}

/// A mesh with one unknown in each node, random rows, a path, no entries, and one dense row.
TEST(SupervariablesTest, PatternsWithoutEqualRowsHaveNone) {
  constexpr int32_t count = 4000;
  std::mt19937_64 random(seed);
  Mesh mesh(20, count / 20);
  mesh.number(1);
  Pairs scattered;
  Pairs path;
  Pairs dense_row;
  for (int32_t k = 0; k < 20 * count; ++k) {
    const auto first = static_cast<int32_t>(random() % count);
    scattered[std::minmax(first, static_cast<int32_t>(random() % count))] = 1.0;
  }
  for (int32_t k = 0; k < count; ++k) {
    path[{k, k}] = 2.0;
    if (k > 0) path[{k - 1, k}] = 1.0;
    if (k != count / 2) dense_row[std::minmax(k, count / 2)] = 1.0;
  }
  for (const auto& pairs : {mesh.pairs(random), scattered, path, Pairs{}, dense_row}) {
    const auto half = HalfBlock{count, count, 0}.store(pairs, is_above);
    EXPECT_FALSE(find_supervariables(half, SharedIndices(half, 0)));
  }
}

/// Equal rows that have hardly an entry with each other's columns would be stored as zeros, mostly.
TEST(BlockCsrTest, BlocksOfZerosAreNotMade) {
  std::mt19937_64 random(seed);
  Pairs pairs;
  constexpr int32_t count = 600;
  for (int32_t k = 0; k < 20 * count; ++k)
    pairs[std::minmax(static_cast<int32_t>(random() % count), static_cast<int32_t>(random() % count))] = 1.0;
  const auto half = HalfBlock{count, count, 0}.store(pairs, is_above);
  Supervariables all{.size = 3, .members = {}};
  all.members.resize(count);
  std::iota(all.members.begin(), all.members.end(), 0U);
  EXPECT_FALSE(make_block_csr(half, BlockIndices(half, SharedIndices(half, 0)), all, 1));
}

void expect_products_of_reference(const Mesh& mesh, const HalfBlock& shape) {
  const auto& row = kernel_named("blocks");
  std::mt19937_64 random(seed);
  const auto half = shape.store(mesh.pairs(random), is_above);
  const auto reference = reference_kernel(Storage::half).make(half.copy(), {});
  const auto offset = shape.column_of_row_0;
  const auto expected = all_sums(*reference, half, offset, 1);
  const auto expected_sum = all_sums(*reference, half, offset, 1, 3.0);
  for (const auto set : row.instruction_sets) {
    for (const int thread_count : {1, 2, 5}) {
      SCOPED_TRACE(std::string(name_of(set)) + ", threads " + std::to_string(thread_count));
      auto block = half.copy();
      const auto kernel =
          try_block_csr(block, set, {.thread_count = thread_count, .column_of_row_0 = offset});
      ASSERT_TRUE(kernel) << "there are supervariables";
      const auto sums = all_sums(*kernel, half, offset, 1);
      expect_near(sums, expected);
      expect_near(all_sums(*kernel, half, offset, 1, 3.0), expected_sum);
      for (const int share_count : test::share_counts_for(thread_count)) {
        EXPECT_TRUE(test::same_bits(all_sums(*kernel, half, offset, share_count), sums))
            << share_count << " shares";
      }
    }
  }
}

TEST(BlockCsrTest, BlocksOfEverySizeHaveTheProductsOfTheReference) {
  for (int size = least_supervariable; size <= largest_supervariable; ++size) {
    SCOPED_TRACE(std::to_string(size) + " unknowns");
    Mesh mesh(7, 40);
    mesh.number(size);
    const auto count = int64_t{280} * size;
    expect_products_of_reference(mesh, {count, count, 0});
  }
}

TEST(BlockCsrTest, NodesMayHaveFewerUnknowns) {
  Mesh mesh(7, 90);
  mesh.number(3);
  for (size_t node = 0; node < mesh.unknowns.size(); node += 20) mesh.unknowns[node].pop_back();
  expect_products_of_reference(mesh, {1890, 1890, 0});
}

TEST(BlockCsrTest, RowsAndColumnsMayMeetAnywhere) {
  Mesh mesh(7, 90);
  mesh.number(3);
  for (const int64_t column_of_row_0 : {-900, -150, -1, 1, 90, 640}) {
    SCOPED_TRACE("row 0 is column " + std::to_string(column_of_row_0));
    expect_products_of_reference(mesh, {1200, 1300, column_of_row_0});
  }
}

TEST(BlockCsrTest, ColumnsOutOfTheBlockAreSeen) {
  Mesh mesh(7, 60);
  mesh.number(3);
  std::mt19937_64 random(seed);
  auto half = HalfBlock{1260, 1260, 0}.store(mesh.pairs(random), is_above);
  const auto kernel =
      try_block_csr(half, InstructionSet::portable, {.thread_count = 2, .column_of_row_0 = 0});
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(kernel->has_columns_in_range());
  const auto arrays = kernel->stored_arrays();
  const auto columns = std::ranges::find(arrays, ArrayKind::columns, &StoredArray::kind);
  ASSERT_NE(columns, arrays.end());
  std::ranges::fill(columns->bytes.first(columns->element_size), std::byte{0xff});
  EXPECT_FALSE(kernel->has_columns_in_range());
}

}  // namespace
}  // namespace cg2d::kernels::block_csr_test
