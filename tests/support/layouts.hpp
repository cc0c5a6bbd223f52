#pragma once

// Grids and cuts for tests of layouts, schedules and communicators.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d::test {

/// Calls visit(grid) for every grid up to 9 x 9.
template <typename Visit>
void for_every_grid(const Visit& visit) {
  for (int columns = 1; columns <= 9; ++columns) {
    for (int rows = 1; rows <= 9; ++rows) visit(comm::ProcessGrid{.columns = columns, .rows = rows});
  }
}

/// Empty, one, fewer than ranks, as many, one more, prime, and class S.
inline std::set<int64_t> awkward_sizes(int rank_count) {
  return {0, 1, 2, 7, rank_count - 1, rank_count, rank_count + 1, 1009, 1400};
}

/// A cut with a name, for messages.
struct NamedLayout {
  std::string name;
  comm::BlockLayout layout;
};

/// Random borders, so that pieces are ragged; with n below the rank count most are empty. The same on every
/// rank.
inline comm::BlockLayout ragged_layout(int64_t n, comm::ProcessGrid grid) {
  std::mt19937_64 random(static_cast<uint64_t>(20261121 + n * 10'000 + grid.columns * 100 + grid.rows));
  std::vector<int64_t> borders{0, n};
  for (int k = 1; k < grid.rank_count(); ++k) {
    borders.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(n + 1)));
  }
  std::sort(borders.begin(), borders.end());
  return {grid, std::move(borders)};
}

/// Everything in one piece, all others empty.
inline comm::BlockLayout one_piece_layout(int64_t n, comm::ProcessGrid grid, int piece) {
  std::vector<int64_t> borders(static_cast<size_t>(grid.rank_count()) + 1, 0);
  std::fill(borders.begin() + piece + 1, borders.end(), n);
  return {grid, std::move(borders)};
}

/// Ranks stand where others would by their numbers.
inline comm::ProcessGrid in_other_order(comm::ProcessGrid grid) {
  std::vector<int> rank_at;
  for (int place = 0; place < grid.rank_count(); ++place) rank_at.push_back((place + 1) % grid.rank_count());
  if (rank_at.size() > 3) std::swap(rank_at[0], rank_at[2]);
  return grid.in_order(rank_at);
}

/// The even cut of [0, n) and three that are anything but.
inline std::vector<NamedLayout> layouts_of(int64_t n, comm::ProcessGrid grid) {
  return {{"even", comm::BlockLayout::even(n, grid)},
          {"ragged, ranks in another order", ragged_layout(n, in_other_order(grid))},
          {"all in the first piece", one_piece_layout(n, grid, 0)},
          {"all in a middle piece", one_piece_layout(n, grid, grid.rank_count() / 2)}};
}

inline std::string describe(const NamedLayout& named) {
  return "grid " + named.layout.grid().name() + ", n " + std::to_string(named.layout.size()) + ", " +
         named.name;
}

/// Calls visit(named) for the cuts of [0, n) on every grid of so many ranks. Failures tell which it was.
template <typename Visit>
void for_every_layout(int64_t n, int rank_count, const Visit& visit) {
  for (const auto& grid : comm::factorizations(rank_count)) {
    for (const auto& named : layouts_of(n, grid)) {
      SCOPED_TRACE(describe(named));
      visit(named);
    }
  }
}

}  // namespace cg2d::test
