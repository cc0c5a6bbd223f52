#include "comm/block_layout.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace cg2d::comm {

IndexRange share_of(int64_t total, int64_t part, int64_t part_count) {
  // Quotient and remainder apart, so that total * part is never formed.
  const auto border = [&](int64_t number) {
    return total / part_count * number + total % part_count * number / part_count;
  };
  return {.begin = border(part), .end = border(part + 1)};
}

std::vector<double> equal_shares(int piece_count) {
  std::vector<double> shares(static_cast<size_t>(piece_count), 1.0);
  return shares;
}

std::vector<double> sums_before(std::span<const double> shares) {
  std::vector<double> sums(shares.size() + 1);
  std::partial_sum(shares.begin(), shares.end(), std::next(sums.begin()));
  return sums;
}

std::vector<int64_t> piece_starts_of_shares(int64_t n, std::span<const double> shares) {
  const auto before = sums_before(shares);
  std::vector<int64_t> starts;
  starts.reserve(before.size());
  for (const double sum : before)
    starts.push_back(std::llround(static_cast<double>(n) * sum / before.back()));
  return starts;
}

std::string ProcessGrid::name() const { return std::to_string(columns) + "x" + std::to_string(rows); }

std::vector<int> ProcessGrid::ranks_by_place() const {
  if (order != nullptr) return order->rank_at;
  std::vector<int> ranks(static_cast<size_t>(rank_count()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> ProcessGrid::ranks_of(Line line, int number) const {
  std::vector<int> ranks;
  for (int member = 0; member < line_size(line); ++member)
    ranks.push_back(line == Line::process_row ? rank_at(number, member) : rank_at(member, number));
  return ranks;
}

ProcessGrid ProcessGrid::in_order(std::span<const int> rank_at) const {
  RankOrder found{.rank_at = {rank_at.begin(), rank_at.end()},
                  .place_of = std::vector<int>(static_cast<size_t>(rank_count()), -1)};
  if (std::ssize(rank_at) != rank_count())
    throw std::invalid_argument("ProcessGrid: there must be one rank for each place");
  for (int place = 0; place < rank_count(); ++place) {
    const auto rank = static_cast<size_t>(rank_at[static_cast<size_t>(place)]);
    if (rank >= found.place_of.size() || found.place_of[rank] >= 0)
      throw std::invalid_argument("ProcessGrid: each rank must stand at one place");
    found.place_of[rank] = place;
  }
  ProcessGrid grid{.columns = columns, .rows = rows};
  if (std::ranges::is_sorted(rank_at)) return grid;
  // Grids are copied everywhere, so an order must outlive them all.
  static std::mutex mutex;
  const auto comes_before = [](const RankOrder& a, const RankOrder& b) { return a.rank_at < b.rank_at; };
  static std::set<RankOrder, decltype(comes_before)> orders;
  const std::lock_guard lock(mutex);
  grid.order = &*orders.insert(std::move(found)).first;
  return grid;
}

std::vector<ProcessGrid> factorizations(int rank_count) {
  std::vector<ProcessGrid> grids;
  for (int columns = 1; columns <= rank_count; ++columns) {
    if (rank_count % columns == 0) grids.push_back({.columns = columns, .rows = rank_count / columns});
  }
  return grids;
}

BlockLayout BlockLayout::even(int64_t n, ProcessGrid grid) {
  if (grid.columns < 1 || grid.rows < 1) throw std::invalid_argument("BlockLayout: the grid is empty");
  std::vector<int64_t> starts{0};
  for (int piece = 0; piece < grid.rank_count(); ++piece)
    starts.push_back(share_of(n, piece, grid.rank_count()).end);
  return {grid, std::move(starts)};
}

BlockLayout::BlockLayout(ProcessGrid grid, std::vector<int64_t> piece_starts)
    : grid_(grid), piece_starts_(std::move(piece_starts)) {
  if (grid.columns < 1 || grid.rows < 1) throw std::invalid_argument("BlockLayout: the grid is empty");
  if (piece_starts_.size() != static_cast<size_t>(grid.rank_count()) + 1 || piece_starts_.front() != 0 ||
      !std::is_sorted(piece_starts_.begin(), piece_starts_.end())) {
    throw std::invalid_argument("BlockLayout: the borders of the pieces must start at 0, never fall and be " +
                                std::to_string(grid.rank_count() + 1));
  }
}

BlockLayout BlockLayout::with_elements_times(int count) const {
  auto starts = piece_starts_;
  for (auto& start : starts) start *= count;
  return {grid_, std::move(starts)};
}

IndexRange BlockLayout::piece(int number) const {
  const auto k = static_cast<size_t>(number);
  return {.begin = piece_starts_.at(k), .end = piece_starts_.at(k + 1)};
}

IndexRange BlockLayout::block_of(Line line, int number) const {
  const auto size = static_cast<size_t>(grid_.line_size(line));
  const auto first = static_cast<size_t>(number) * size;
  return {.begin = piece_starts_.at(first), .end = piece_starts_.at(first + size)};
}

int BlockLayout::piece_of(int64_t index) const {
  // upper_bound steps over empty pieces: the last piece that starts at or before the index.
  const auto after = std::upper_bound(piece_starts_.begin(), piece_starts_.end(), index);
  return static_cast<int>(after - piece_starts_.begin()) - 1;
}

}  // namespace cg2d::comm
