#include "comm/speed_shares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace cg2d::comm {
namespace {

using Numbers = std::vector<double>;

size_t index(int number) { return static_cast<size_t>(number); }

void require(std::span<const double> speeds, ProcessGrid grid) {
  if (grid.columns < 1 || grid.rows < 1) throw std::invalid_argument("speed shares: the grid is empty");
  if (speeds.size() != index(grid.rank_count()))
    throw std::invalid_argument("speed shares: there must be one speed for each place of the grid");
  if (!std::ranges::all_of(speeds, [](double speed) { return std::isfinite(speed) && speed > 0.0; }))
    throw std::invalid_argument("speed shares: speeds must be finite and greater than 0");
}

/// Pieces between the same two borders of blocks, which are alike.
struct Segment {
  double piece_count;
  int row;
  int column;
};

std::vector<Segment> segments_of(ProcessGrid grid) {
  std::vector<Segment> segments;
  for (int begin = 0; begin < grid.rank_count();) {
    const int row = begin / grid.columns;
    const int column = begin / grid.rows;
    const int end = std::min((row + 1) * grid.columns, (column + 1) * grid.rows);
    segments.push_back({.piece_count = static_cast<double>(end - begin), .row = row, .column = column});
    begin = end;
  }
  return segments;
}

/// Shares of row blocks and of column blocks.
struct BlockShares {
  Numbers rows;
  Numbers columns;
};

/// piece_shares: [segment], of one of its pieces.
BlockShares block_shares(const std::vector<Segment>& segments, const Numbers& piece_shares,
                         ProcessGrid grid) {
  BlockShares blocks{.rows = Numbers(index(grid.rows)), .columns = Numbers(index(grid.columns))};
  for (size_t k = 0; k < segments.size(); ++k) {
    const double share = segments[k].piece_count * piece_shares[k];
    blocks.rows[index(segments[k].row)] += share;
    blocks.columns[index(segments[k].column)] += share;
  }
  return blocks;
}

/// Ranks on a grid of several rows and columns: the speed that most of them have, if there is one, and those that differ from it.
struct MixedRanks {
  MixedRanks(std::span<const double> speeds, ProcessGrid of_shape)
      : grid({.columns = of_shape.columns, .rows = of_shape.rows}), segments(segments_of(grid)) {
    Numbers ordered(speeds.begin(), speeds.end());
    const auto middle = ordered.begin() + std::ssize(ordered) / 2;
    std::ranges::nth_element(ordered, middle);
    usual = *middle;
    for (size_t rank = 0; rank < speeds.size(); ++rank) {
      if (speeds[rank] != usual) others.push_back(static_cast<int>(rank));
    }
    std::ranges::stable_sort(others, {}, [&](int rank) { return speeds[index(rank)]; });
    for (const int rank : others) other_speeds.push_back(speeds[index(rank)]);
  }

  ProcessGrid grid;  ///< the shape, without an order
  std::vector<Segment> segments;
  double usual = 1.0;
  std::vector<int> others{};  ///< by growing speed
  Numbers other_speeds{};     ///< of these
};

/// A number for each key: 0, 1, ... in the order in which they are met. The same key again and again is found at once.
template <typename Key>
class Numbering {
 public:
  int operator()(const Key& key) {
    if (last_ == numbers_.end() || last_->first != key)
      last_ = numbers_.try_emplace(key, static_cast<int>(numbers_.size())).first;
    return last_->second;
  }

 private:
  std::map<Key, int> numbers_;
  typename std::map<Key, int>::iterator last_ = numbers_.end();
};

/// How many pieces there are of each kind.
using KindCounts = std::map<int, double>;

/// Row blocks, or column blocks, that are alike.
struct Group {
  double count = 0.0;
  KindCounts pieces{};  ///< of each of them
};

/// Places of one speed in alike rows and columns.
struct Cell {
  size_t row_group;
  size_t column_group;
  double count;
  double speed;
};

/// The unknowns of a descent: pieces in whose row and column the same ranks differ from the usual speed get the same share. So it costs as much
/// as there are different ranks, however many ranks there are.
class AlikePieces {
 public:
  /// places: of ranks.others, in their order.
  AlikePieces(const MixedRanks& ranks, const std::vector<int>& places) : segments_(ranks.segments) {
    const auto& grid = ranks.grid;
    std::vector<int> row_at;
    std::vector<int> column_at;
    for (const int place : places) {
      row_at.push_back(place / grid.columns);
      column_at.push_back(place % grid.columns);
    }
    auto row_group = grouped_by_speeds(row_at, ranks.other_speeds, grid.rows);
    auto column_group = grouped_by_speeds(column_at, ranks.other_speeds, grid.columns);
    // First blocks with other ranks, then those that share pieces with them, and so on.
    constexpr size_t enough_cells = 256;
    size_t cell_count = 0;
    do {
      cell_count = rows_.size() * columns_.size();
      number_kinds(row_group, column_group);
      rows_ = split(row_group, &Segment::row);
      columns_ = split(column_group, &Segment::column);
    } while (rows_.size() * columns_.size() > cell_count && cell_count < enough_cells);
    for (size_t k = 0; k < segments_.size(); ++k) {
      const auto kind = index(kind_of_[k]);
      if (kind >= piece_counts_.size()) piece_counts_.resize(kind + 1);
      piece_counts_[kind] += segments_[k].piece_count;
    }
    Numbers usual_counts;
    for (const auto& row : rows_)
      for (const auto& column : columns_) usual_counts.push_back(row.count * column.count);
    std::map<std::tuple<size_t, size_t, double>, double> other_counts;
    for (size_t k = 0; k < places.size(); ++k) {
      const auto row = index(row_group[index(row_at[k])]);
      const auto column = index(column_group[index(column_at[k])]);
      usual_counts[row * columns_.size() + column] -= 1.0;
      other_counts[{row, column, ranks.other_speeds[k]}] += 1.0;
    }
    for (size_t k = 0; k < usual_counts.size(); ++k) {
      if (usual_counts[k] > 0.0)
        cells_.push_back({k / columns_.size(), k % columns_.size(), usual_counts[k], ranks.usual});
    }
    for (const auto& [at, count] : other_counts)
      cells_.push_back({std::get<0>(at), std::get<1>(at), count, std::get<2>(at)});
  }

  const std::vector<Group>& rows() const { return rows_; }
  const std::vector<Group>& columns() const { return columns_; }
  const std::vector<Cell>& cells() const { return cells_; }
  const Numbers& piece_counts() const { return piece_counts_; }

  /// [kind] from [segment]
  Numbers means(const Numbers& of_segments) const {
    Numbers of_kinds(piece_counts_.size());
    for (size_t k = 0; k < segments_.size(); ++k) {
      const auto kind = index(kind_of_[k]);
      of_kinds[kind] += of_segments[k] * segments_[k].piece_count / piece_counts_[kind];
    }
    return of_kinds;
  }
  /// [segment] from [kind]
  Numbers spread(const Numbers& of_kinds) const {
    Numbers of_segments;
    for (const int kind : kind_of_) of_segments.push_back(of_kinds[index(kind)]);
    return of_segments;
  }

 private:
  /// Blocks of ranks of the same other speeds have the same number. block_of: [other rank]
  static std::vector<int> grouped_by_speeds(const std::vector<int>& block_of, const Numbers& speeds,
                                            int block_count) {
    std::map<int, Numbers> speeds_in;
    for (size_t k = 0; k < block_of.size(); ++k) speeds_in[block_of[k]].push_back(speeds[k]);
    std::vector<int> groups(index(block_count));
    Numbering<Numbers> number;
    number({});
    for (const auto& [block, its_speeds] : speeds_in) groups[index(block)] = number(its_speeds);
    return groups;
  }
  /// Pieces of the same groups are of one kind.
  void number_kinds(const std::vector<int>& row_group, const std::vector<int>& column_group) {
    Numbering<std::pair<int, int>> number;
    kind_of_.clear();
    for (const auto& segment : segments_)
      kind_of_.push_back(number({row_group[index(segment.row)], column_group[index(segment.column)]}));
  }
  /// Splits groups of blocks by the kinds of their pieces.
  std::vector<Group> split(std::vector<int>& group_of, int Segment::*block) const {
    Numbering<std::pair<int, KindCounts>> number;
    std::vector<Group> groups;
    std::pair<int, KindCounts> key;
    for (size_t begin = 0; begin < segments_.size();) {
      const int number_of_block = segments_[begin].*block;
      auto& group = group_of[index(number_of_block)];
      key.first = group;
      key.second.clear();
      auto end = begin;
      for (; end < segments_.size() && segments_[end].*block == number_of_block; ++end)
        key.second[kind_of_[end]] += segments_[end].piece_count;
      group = number(key);
      if (index(group) == groups.size()) groups.push_back({.pieces = key.second});
      groups[index(group)].count += 1.0;
      begin = end;
    }
    return groups;
  }

  const std::vector<Segment>& segments_;
  std::vector<int> kind_of_;  // [segment]
  Numbers piece_counts_;      // [kind]
  std::vector<Group> rows_;
  std::vector<Group> columns_;
  std::vector<Cell> cells_;
};

Numbers group_shares(const std::vector<Group>& groups, const Numbers& piece_shares) {
  Numbers shares;
  for (const auto& group : groups) {
    double share = 0.0;
    for (const auto& [kind, count] : group.pieces) share += count * piece_shares[index(kind)];
    shares.push_back(share);
  }
  return shares;
}

void scale_to_one(Numbers& shares, std::span<const double> counts) {
  const double sum = std::inner_product(shares.begin(), shares.end(), counts.begin(), 0.0);
  for (double& share : shares) share /= sum;
}

/// Shares of one piece of each segment, with their speed on the grid.
struct Fit {
  Numbers shares;
  double speed = 0.0;
};

/// Descends from these shares: the slowest place, as a mean in which slow places count more and more, gets less. Multiplying shares keeps
/// them positive, so every step is a cut.
Fit descend(const Numbers& start, const AlikePieces& alike) {
  constexpr std::array sharpness{8.0, 32.0, 128.0, 512.0};
  constexpr int steps = 60;
  constexpr double smallest_piece = 1e-12;
  constexpr double largest_push = 1e3;
  const auto& counts = alike.piece_counts();
  auto shares = alike.means(start);
  Fit best;
  for (const double power : sharpness) {
    for (int step = 0; step < steps; ++step) {
      const auto rows = group_shares(alike.rows(), shares);
      const auto columns = group_shares(alike.columns(), shares);
      Numbers times;
      for (const auto& cell : alike.cells())
        times.push_back(rows[cell.row_group] * columns[cell.column_group] / cell.speed);
      const double slowest = std::ranges::max(times);
      if (1.0 / slowest > best.speed) best = {.shares = shares, .speed = 1.0 / slowest};
      Numbers row_pushes(rows.size());
      Numbers column_pushes(columns.size());
      double sum = 0.0;
      for (size_t k = 0; k < times.size(); ++k) {
        const auto& cell = alike.cells()[k];
        const double push = cell.count * std::pow(times[k] / slowest, power);
        row_pushes[cell.row_group] += push;
        column_pushes[cell.column_group] += push;
        sum += push;
      }
      Numbers gradients(shares.size());
      const auto add = [&](const std::vector<Group>& groups, const Numbers& pushes,
                           const Numbers& of_groups) {
        for (size_t group = 0; group < groups.size(); ++group)
          for (const auto& [kind, count] : groups[group].pieces)
            gradients[index(kind)] += count * pushes[group] / (sum * of_groups[group]);
      };
      add(alike.rows(), row_pushes, rows);
      add(alike.columns(), column_pushes, columns);
      for (size_t kind = 0; kind < shares.size(); ++kind) {
        shares[kind] *= std::exp(-std::min(gradients[kind] / counts[kind], largest_push) / power);
        shares[kind] = std::max(shares[kind], smallest_piece);
      }
      scale_to_one(shares, counts);
    }
  }
  best.shares = alike.spread(best.shares);
  return best;
}

/// Ranks of equal speed, or in a line: each gets as much as it is fast.
SpeedShares simple_shares(std::span<const double> speeds, ProcessGrid grid) {
  SpeedShares shares{
      .grid = grid, .pieces = {}, .reachable = std::accumulate(speeds.begin(), speeds.end(), 0.0)};
  for (const int rank : grid.ranks_by_place())
    shares.pieces.push_back(speeds[index(rank)] / shares.reachable);
  return shares;
}

/// [piece]
Numbers pieces_of(const std::vector<Segment>& segments, const Numbers& shares) {
  Numbers pieces;
  for (size_t k = 0; k < segments.size(); ++k)
    pieces.insert(pieces.end(), static_cast<size_t>(segments[k].piece_count), shares[k]);
  return pieces;
}

/// Even pieces first, then drawn ones: the product of two shares has more than one valley. [start][segment]
std::vector<Numbers> starts_for(const std::vector<Segment>& segments) {
  constexpr double enough_pieces = 1024.0;
  constexpr double fewest = 2.0;
  constexpr double most = 128.0;
  Numbers piece_counts;
  for (const auto& segment : segments) piece_counts.push_back(segment.piece_count);
  const double piece_count = std::accumulate(piece_counts.begin(), piece_counts.end(), 0.0);
  std::mt19937_64 random{1};  // the same draws on every rank
  std::vector<Numbers> starts(static_cast<size_t>(std::clamp(enough_pieces / piece_count, fewest, most)),
                              Numbers(segments.size(), 1.0));
  for (auto& start : starts) {
    if (&start != &starts.front()) {
      // Exponentially distributed, which makes all cuts equally likely.
      for (double& share : start) share = -std::log((static_cast<double>(random() >> 11U) + 1.0) / 0x1p53);
    }
    scale_to_one(start, piece_counts);
  }
  return starts;
}

/// Places of the other ranks, in their order, for shares that are given: the least work for the slowest, the most for the fastest, which no
/// exchange of two ranks betters.
std::vector<int> places_for(const Numbers& shares, const MixedRanks& ranks) {
  const auto blocks = block_shares(ranks.segments, shares, ranks.grid);
  const auto& speeds = ranks.other_speeds;
  const auto slow_count = std::ranges::lower_bound(speeds, ranks.usual) - speeds.begin();
  const auto fast_count = std::ssize(speeds) - slow_count;
  std::vector<int> places(index(ranks.grid.rank_count()));
  std::iota(places.begin(), places.end(), 0);
  const auto work = [&](int place) {
    const auto row = index(place / ranks.grid.columns);
    const auto column = index(place % ranks.grid.columns);
    return std::pair(blocks.rows[row] * blocks.columns[column], place);
  };
  std::ranges::partial_sort(places, places.begin() + slow_count, {}, work);
  std::ranges::partial_sort(places.rbegin(), places.rbegin() + fast_count, places.rend() - slow_count,
                            std::ranges::greater(), work);
  places.erase(places.begin() + slow_count, places.end() - fast_count);
  return places;
}

/// [place]: the others at their places, all others where they are or, where that place is taken, where one has left.
std::vector<int> ranks_at(const std::vector<int>& places, const MixedRanks& ranks) {
  constexpr int nobody = -1;
  auto rank_at = ranks.grid.ranks_by_place();
  for (const int rank : ranks.others) rank_at[index(rank)] = nobody;
  std::vector<int> displaced;
  for (size_t k = 0; k < places.size(); ++k) {
    const int there = std::exchange(rank_at[index(places[k])], ranks.others[k]);
    if (there != nobody) displaced.push_back(there);
  }
  std::ranges::sort(displaced);
  auto next = displaced.begin();
  for (int& rank : rank_at) {
    if (rank == nobody) rank = *next++;
  }
  return rank_at;
}

/// The other ranks at places, with shares.
struct Placed {
  std::vector<int> places;
  Fit fit;
};

/// Exchanges two ranks as long as that helps, with the best shares after each; for few ranks only.
void exchange_ranks(Placed& best, const MixedRanks& ranks) {
  constexpr int most_ranks = 16;
  constexpr double least_gain = 1.0005;
  const int rank_count = ranks.grid.rank_count();
  if (rank_count > most_ranks) return;
  bool is_better = true;
  while (is_better) {
    is_better = false;
    for (size_t a = 0; a < best.places.size(); ++a) {
      for (int place = 0; place < rank_count; ++place) {
        auto places = best.places;
        if (places[a] == place) continue;
        std::ranges::replace(places, place, places[a]);
        places[a] = place;
        auto fit = descend(best.fit.shares, AlikePieces(ranks, places));
        if (fit.speed < best.fit.speed * least_gain) continue;
        best = {.places = std::move(places), .fit = std::move(fit)};
        is_better = true;
      }
    }
  }
}

/// With the ranks where they stand on this grid.
Placed best_in_place(const MixedRanks& ranks, ProcessGrid grid) {
  Placed best;
  for (const int rank : ranks.others) best.places.push_back(grid.place_of(rank));
  const AlikePieces alike(ranks, best.places);
  for (const auto& start : starts_for(ranks.segments)) {
    auto fit = descend(start, alike);
    if (fit.speed > best.fit.speed) best.fit = std::move(fit);
  }
  return best;
}

Placed best_of_all_places(const MixedRanks& ranks) {
  constexpr int most_exchanges = 6;     // of places, until they stay
  constexpr double least_gain = 1.001;  // else the start is done
  Placed best;
  for (auto& shares : starts_for(ranks.segments)) {
    double before = 0.0;
    for (int exchange = 0; exchange < most_exchanges; ++exchange) {
      auto places = places_for(shares, ranks);
      auto fit = descend(shares, AlikePieces(ranks, places));
      const double speed = fit.speed;
      shares = fit.shares;
      if (speed > best.fit.speed) best = {.places = std::move(places), .fit = std::move(fit)};
      if (speed < before * least_gain) break;
      before = speed;
    }
  }
  exchange_ranks(best, ranks);
  return best;
}

SpeedShares moved_to(const Placed& placed, const MixedRanks& ranks) {
  return {.grid = ranks.grid.in_order(ranks_at(placed.places, ranks)),
          .pieces = pieces_of(ranks.segments, placed.fit.shares),
          .reachable = placed.fit.speed};
}

/// Where all ranks are equally fast, or in a line, the shares follow from the speeds.
bool is_simple(std::span<const double> speeds, ProcessGrid grid) {
  require(speeds, grid);
  return grid.columns == 1 || grid.rows == 1 ||
         std::ranges::adjacent_find(speeds, std::not_equal_to()) == speeds.end();
}

}  // namespace

double speed_of_shares(std::span<const double> pieces, std::span<const double> speeds, ProcessGrid grid) {
  require(speeds, grid);
  if (pieces.size() != speeds.size())
    throw std::invalid_argument("speed shares: there must be one share for each piece");
  BlockShares blocks{.rows = Numbers(index(grid.rows)), .columns = Numbers(index(grid.columns))};
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    blocks.rows[piece / index(grid.columns)] += pieces[piece];
    blocks.columns[piece / index(grid.rows)] += pieces[piece];
  }
  double slowest = 0.0;
  for (int place = 0; place < grid.rank_count(); ++place) {
    const double work =
        blocks.rows[index(place / grid.columns)] * blocks.columns[index(place % grid.columns)];
    slowest = std::max(slowest, work / speeds[index(grid.rank_at_place(place))]);
  }
  return 1.0 / slowest;
}

std::vector<double> shares_in_place(std::span<const double> speeds, ProcessGrid grid) {
  if (is_simple(speeds, grid)) return simple_shares(speeds, grid).pieces;
  const MixedRanks ranks(speeds, grid);
  return pieces_of(ranks.segments, best_in_place(ranks, grid).fit.shares);
}

SpeedShares shares_by_speed(std::span<const double> speeds, ProcessGrid grid) {
  grid.order = nullptr;
  if (is_simple(speeds, grid)) return simple_shares(speeds, grid);
  const MixedRanks ranks(speeds, grid);
  return moved_to(best_of_all_places(ranks), ranks);
}

SpeedShares shares_on_grid(std::span<const double> speeds, ProcessGrid grid) {
  constexpr double least_gain = 1.02;
  if (is_simple(speeds, grid))
    return simple_shares(speeds, grid);  // there every order reaches the sum of the speeds
  const MixedRanks ranks(speeds, grid);
  const auto in_place = best_in_place(ranks, grid);
  const auto moved = best_of_all_places(ranks);
  if (moved.fit.speed > in_place.fit.speed * least_gain) return moved_to(moved, ranks);
  return {.grid = grid,
          .pieces = pieces_of(ranks.segments, in_place.fit.shares),
          .reachable = in_place.fit.speed};
}

}  // namespace cg2d::comm
