#pragma once

// Symmetric matrices with positive numbers as lists of pairs, and blocks of them with half storage.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "kernels/csr_block.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::test {

using Pairs = std::map<std::pair<int32_t, int32_t>, double>;  // lesser and greater index

inline double positive_value(std::mt19937_64& random) {
  return std::ldexp(static_cast<double>(1 + random() % 1000003), -20);
}

/// Numbers of shares to try: with several threads, which may have to wait for a core in each, one of them.
inline std::vector<int> share_counts_for(int thread_count) {
  return thread_count == 1 ? std::vector{1, 2, 7, 100} : std::vector{3};
}

/// The union of sets of random indices.
inline Pairs union_of_sets(int32_t index_count, int set_count, int size, std::mt19937_64& random) {
  Pairs pairs;
  for (int k = 0; k < set_count; ++k) {
    std::set<int32_t> members;
    while (members.size() < static_cast<size_t>(size))
      members.insert(static_cast<int32_t>(random() % static_cast<uint64_t>(index_count)));
    for (const auto a : members) {
      for (const auto b : members) {
        if (a <= b) pairs[{a, b}] = positive_value(random);
      }
    }
  }
  return pairs;
}

/// A strip of nodes, `width` in each of its lines, with some unknowns each: a node's neighbours are those around it.
struct Mesh {
  int width;
  int line_count;
  std::vector<std::vector<int32_t>> unknowns{};  // of each node

  Mesh(int width_of_line, int count) : width(width_of_line), line_count(count) {}

  /// The same number in each node, next to each other.
  void number(int per_node) {
    unknowns.clear();
    for (int32_t node = 0; node < width * line_count; ++node) {
      unknowns.emplace_back(static_cast<size_t>(per_node));
      std::iota(unknowns.back().begin(), unknowns.back().end(), node * per_node);
    }
  }
  /// Nodes whose numbers lie anywhere, those of a node next to each other.
  void shuffle_nodes(std::mt19937_64& random) { std::ranges::shuffle(unknowns, random); }

  Pairs pairs(std::mt19937_64& random) const {
    Pairs all;
    for (int node = 0; node < width * line_count; ++node) {
      for (int line = node / width; line <= std::min(node / width + 1, line_count - 1); ++line) {
        for (int place = std::max(node % width - 1, 0); place <= std::min(node % width + 1, width - 1);
             ++place)
          add(node, line * width + place, random, all);
      }
    }
    return all;
  }

 private:
  void add(int node, int other, std::mt19937_64& random, Pairs& all) const {
    for (const auto a : unknowns[static_cast<size_t>(node)]) {
      for (const auto b : unknowns[static_cast<size_t>(other)])
        all[std::minmax(a, b)] = positive_value(random);
    }
  }
};

/// A rule of half storage as a rank has it, with tiles of 64.
inline bool is_above(int32_t lesser, int32_t greater) {
  return lesser / 64 == greater / 64 || (lesser / 64 + greater / 64) % 2 == 0;
}

/// A block of a symmetric matrix with half storage: each pair is the entry (a, b) or (b, a), with half of an entry on the diagonal.
struct HalfBlock {
  int64_t row_count;
  int64_t column_count;
  int64_t column_of_row_0;

  kernels::CsrBlock store(const Pairs& pairs, std::mt19937_64& random) const {
    return store(pairs, [&](int32_t, int32_t) { return random() % 2 == 0; });
  }
  /// is_above(lesser, greater index): the entry in the row of the lesser one is stored.
  template <typename IsAbove>
  kernels::CsrBlock store(const Pairs& pairs, const IsAbove& is_above) const {
    Rows rows(static_cast<size_t>(row_count));
    for (const auto& [pair, value] : pairs) {
      const auto [a, b] = is_above(pair.first, pair.second) ? pair : std::pair(pair.second, pair.first);
      // An index is a column; rows begin at the index column_of_row_0. What is not in the block belongs to others.
      const auto row = a - column_of_row_0;
      if (row < 0 || row >= row_count || b >= column_count) continue;
      rows[static_cast<size_t>(row)].push_back({.column = b, .value = a == b ? value / 2 : value});
    }
    for (auto& row : rows) std::ranges::sort(row, {}, &kernels::CsrBlock::Entry::column);
    return kernels::CsrBlock::from_rows(column_count, rows);
  }
};

/// All numbers are positive, so a sum of some hundred products errs by 1e-13 of itself at most.
inline void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-13 * expected[k]) << k;
}

}  // namespace cg2d::test
