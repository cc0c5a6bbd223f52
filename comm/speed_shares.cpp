#include "comm/speed_shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
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

/// Shares of one piece of each segment, with their speed on the grid.
struct Fit {
  Numbers shares;
  double speed = 0.0;
};

void scale_to_one(Numbers& shares, const std::vector<Segment>& segments) {
  double sum = 0.0;
  for (size_t k = 0; k < segments.size(); ++k) sum += segments[k].piece_count * shares[k];
  for (double& share : shares) share /= sum;
}

/// The ranks of a grid with the others at places. Rows of the same speeds are summed at once: a few different ranks cost little however many
/// ranks there are.
class Descent {
 public:
  /// places: of ranks.others, in their order.
  Descent(const MixedRanks& ranks, const std::vector<int>& places) : ranks_(ranks) {
    Numbers speed_at(index(ranks.grid.rank_count()), std::log(ranks.usual));
    for (size_t k = 0; k < places.size(); ++k) speed_at[index(places[k])] = std::log(ranks.other_speeds[k]);
    auto begin = speed_at.begin();
    for (size_t row = 0; row < index(ranks.grid.rows); ++row, begin += ranks.grid.columns)
      alike_rows_[Numbers(begin, begin + ranks.grid.columns)].push_back(row);
  }

  /// Descends from these shares: the slowest place, as a mean in which slow places count more and more, gets less. At the best shares for one
  /// mean the pressures on all pieces are the same, 1; multiplying shares by a power of them keeps shares positive, so that every step is a cut.
  Fit from(Numbers shares) const {
    // Of a million ranks, one of half the speed: 99.994 % of the best with means up to the power 1e5. From the power 8 on, or by square roots of
    // these steps, grids of 3 x 4 different ranks stay 1 to 12 % below the best.
    constexpr double first_power = 2.0;
    constexpr double last_power = 2e5;
    constexpr double growth = 1.03;
    constexpr double least_pressure = 0.1;
    constexpr double smallest_piece = 1e-12;
    const auto& segments = ranks_.segments;
    Fit best;
    for (double power = first_power; power < last_power; power *= growth) {
      const auto blocks = block_shares(segments, shares, ranks_.grid);
      const auto slow = slow_places(blocks, power);
      if (slow.speed > best.speed) best = {.shares = shares, .speed = slow.speed};
      for (size_t k = 0; k < segments.size(); ++k) {
        const auto row = index(segments[k].row);
        const auto column = index(segments[k].column);
        const double pressure = 0.5 * (slow.parts.rows[row] / blocks.rows[row] +
                                       slow.parts.columns[column] / blocks.columns[column]);
        shares[k] *= std::pow(std::max(pressure, least_pressure), -1.0 / power);
        shares[k] = std::max(shares[k], smallest_piece);
      }
      scale_to_one(shares, segments);
    }
    return best;
  }

 private:
  /// The parts of rows and of columns in the sum over all places of (time / slowest)^power, and the speed of the slowest place.
  struct SlowPlaces {
    BlockShares parts;
    double speed;
  };
  SlowPlaces slow_places(const BlockShares& blocks, double power) const {
    const auto rows = logarithms(blocks.rows);
    const auto columns = logarithms(blocks.columns);
    Numbers widest;  // [alike rows]
    double slowest = -std::numeric_limits<double>::infinity();
    for (const auto& [speeds, alike] : alike_rows_) {
      widest.push_back(rows[alike.front()]);
      for (const auto row : alike) widest.back() = std::max(widest.back(), rows[row]);
      for (size_t column = 0; column < columns.size(); ++column)
        slowest = std::max(slowest, widest.back() + columns[column] - speeds[column]);
    }
    SlowPlaces slow{.parts = {.rows = Numbers(rows.size()), .columns = Numbers(columns.size())},
                    .speed = std::exp(-slowest)};
    double sum = 0.0;
    auto widest_row = widest.begin();
    for (const auto& [speeds, alike] : alike_rows_) {
      const double at_widest = *widest_row++;
      double in_one = 0.0;  // the sum over the widest of these rows
      double in_rows = 0.0;
      Numbers in_columns;
      for (size_t column = 0; column < columns.size(); ++column)
        in_columns.push_back(std::exp(power * (at_widest + columns[column] - speeds[column] - slowest)));
      for (const double part : in_columns) in_one += part;
      for (const auto row : alike) {
        const double part = std::exp(power * (rows[row] - at_widest));
        slow.parts.rows[row] = part * in_one;
        in_rows += part;
      }
      for (size_t column = 0; column < columns.size(); ++column)
        slow.parts.columns[column] += in_rows * in_columns[column];
      sum += in_rows * in_one;
    }
    for (double& part : slow.parts.rows) part /= sum;
    for (double& part : slow.parts.columns) part /= sum;
    return slow;
  }
  static Numbers logarithms(Numbers numbers) {
    for (double& number : numbers) number = std::log(number);
    return numbers;
  }

  const MixedRanks& ranks_;
  std::map<Numbers, std::vector<size_t>> alike_rows_;  // by the logarithms of their ranks' speeds
};

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
  double piece_count = 0.0;
  for (const auto& segment : segments) piece_count += segment.piece_count;
  std::mt19937_64 random{1};  // the same draws on every rank
  std::vector<Numbers> starts(static_cast<size_t>(std::clamp(enough_pieces / piece_count, fewest, most)),
                              Numbers(segments.size(), 1.0));
  for (auto& start : starts) {
    if (&start != &starts.front()) {
      // Exponentially distributed, which makes all cuts equally likely.
      for (double& share : start) share = -std::log((static_cast<double>(random() >> 11U) + 1.0) / 0x1p53);
    }
    scale_to_one(start, segments);
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
        auto fit = Descent(ranks, places).from(best.fit.shares);
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
  const Descent descent(ranks, best.places);
  for (const auto& start : starts_for(ranks.segments)) {
    auto fit = descent.from(start);
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
      auto fit = Descent(ranks, places).from(shares);
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
