// Supervariables of a pattern. Products with the dense blocks between them: blocks_kernel_test.cpp.

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

#include "kernels/supervariables.hpp"
#include "support/half_pairs.hpp"

namespace cg2d::kernels::block_csr_test {
namespace {

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

}  // namespace
}  // namespace cg2d::kernels::block_csr_test
