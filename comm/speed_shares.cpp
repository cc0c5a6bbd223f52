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

ProcessGrid shape_of(const ProcessGrid& grid) { return {.columns = grid.columns, .rows = grid.rows}; }

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

/// Ranks on a grid of several rows and columns.
struct Ranks {
  std::span<const double> speeds;
  ProcessGrid grid;  ///< the shape, without an order
  std::vector<Segment> segments = segments_of(grid);
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

/// The ranks of a grid at these places. Rows of the same speeds are summed at once: a few different ranks cost little however many ranks there
/// are.
class Descent {
 public:
  /// rank_at: [place]
  Descent(const Ranks& ranks, const std::vector<int>& rank_at) : ranks_(ranks) {
    Numbers speed_at;
    for (const int rank : rank_at) speed_at.push_back(std::log(ranks.speeds[index(rank)]));
    auto begin = speed_at.begin();
    for (size_t row = 0; row < index(ranks.grid.rows); ++row, begin += ranks.grid.columns)
      alike_rows_[Numbers(begin, begin + ranks.grid.columns)].push_back(row);
  }

  /// Descends from these shares: the slowest place, as a mean in which slow places count more and more, gets less. At the best shares for one
  /// mean the pressures on all pieces are the same, 1; multiplying shares by a power of them keeps shares positive, so that every step is a cut.
  Fit from(Numbers shares) const {
    // A million ranks, one of half the speed, reach 99.994 % of the best with means up to the power 1e5. From the power 8 on, or by square roots of
    // these steps, grids of 3 x 4 different ranks stay 1 to 12 % below the best.
    constexpr double first_power = 2.0;
    constexpr double last_power = 2e5;
    constexpr double growth = 1.03;
    constexpr double least_pressure = 0.1;
    constexpr double smallest_piece = 1e-12;
    const auto& segments = ranks_.segments;
    Fit best;
    double power = first_power;
    while (power < last_power) {
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
      power *= growth;
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

  const Ranks& ranks_;
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
  constexpr double fewest = 1.0;
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

/// [place]: the least work for the slowest rank, the most for the fastest, which no exchange of two ranks betters. Of equally fast ranks as many
/// as can stay where they are.
std::vector<int> ranks_by_work(const Numbers& shares, const Ranks& ranks) {
  const auto blocks = block_shares(ranks.segments, shares, ranks.grid);
  Numbers work;
  for (const double row : blocks.rows)
    for (const double column : blocks.columns) work.push_back(row * column);
  auto rank_at = ranks.grid.ranks_by_place();
  auto places = rank_at;
  std::ranges::stable_sort(places, {}, [&](int place) { return work[index(place)]; });
  Numbers speeds(ranks.speeds.begin(), ranks.speeds.end());
  std::ranges::sort(speeds);
  Numbers speed_at(speeds.size());
  for (size_t k = 0; k < places.size(); ++k) speed_at[index(places[k])] = speeds[k];
  std::erase_if(places, [&](int place) { return speed_at[index(place)] == ranks.speeds[index(place)]; });
  auto movers = places;  // the ranks that stand there
  std::ranges::sort(places, {}, [&](int place) { return std::pair(speed_at[index(place)], place); });
  std::ranges::sort(movers, {}, [&](int rank) { return std::pair(ranks.speeds[index(rank)], rank); });
  for (size_t k = 0; k < places.size(); ++k) rank_at[index(places[k])] = movers[k];
  return rank_at;
}

/// Ranks at places, with shares.
struct Placed {
  std::vector<int> rank_at;
  Fit fit;
};

/// Exchanges two ranks as long as that helps, with the best shares after each; for few ranks only.
void exchange_ranks(Placed& best, const Ranks& ranks) {
  constexpr size_t most_ranks = 16;
  constexpr double least_gain = 1.0005;
  bool is_better = best.rank_at.size() <= most_ranks;
  while (is_better) {
    is_better = false;
    for (size_t a = 0; a < best.rank_at.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        auto rank_at = best.rank_at;
        if (ranks.speeds[index(rank_at[a])] == ranks.speeds[index(rank_at[b])]) continue;
        std::swap(rank_at[a], rank_at[b]);
        auto fit = Descent(ranks, rank_at).from(best.fit.shares);
        if (fit.speed < best.fit.speed * least_gain) continue;
        best = {.rank_at = std::move(rank_at), .fit = std::move(fit)};
        is_better = true;
      }
    }
  }
}

/// With the ranks where they stand on this grid.
Placed best_in_place(const Ranks& ranks, ProcessGrid grid) {
  Placed best{.rank_at = grid.ranks_by_place(), .fit = {}};
  const Descent descent(ranks, best.rank_at);
  for (const auto& start : starts_for(ranks.segments)) {
    auto fit = descent.from(start);
    if (fit.speed > best.fit.speed) best.fit = std::move(fit);
  }
  return best;
}

Placed best_of_all_places(const Ranks& ranks) {
  constexpr int most_exchanges = 6;     // of places, until they stay
  constexpr double least_gain = 1.001;  // else the start is done
  Placed best;
  for (auto& shares : starts_for(ranks.segments)) {
    double before = 0.0;
    for (int exchange = 0; exchange < most_exchanges; ++exchange) {
      auto rank_at = ranks_by_work(shares, ranks);
      auto fit = Descent(ranks, rank_at).from(shares);
      const double speed = fit.speed;
      shares = fit.shares;
      if (speed > best.fit.speed) best = {.rank_at = std::move(rank_at), .fit = std::move(fit)};
      if (speed < before * least_gain) break;
      before = speed;
    }
  }
  exchange_ranks(best, ranks);
  return best;
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
  const Ranks ranks{.speeds = speeds, .grid = shape_of(grid)};
  return pieces_of(ranks.segments, best_in_place(ranks, grid).fit.shares);
}

SpeedShares shares_on_grid(std::span<const double> speeds, ProcessGrid grid) {
  constexpr double least_gain = 1.02;
  if (is_simple(speeds, grid))
    return simple_shares(speeds, grid);  // there every order reaches the sum of the speeds
  const Ranks ranks{.speeds = speeds, .grid = shape_of(grid)};
  auto best = best_in_place(ranks, grid);
  auto moved = best_of_all_places(ranks);
  if (moved.fit.speed > best.fit.speed * least_gain) best = std::move(moved);
  return {.grid = ranks.grid.in_order(best.rank_at),
          .pieces = pieces_of(ranks.segments, best.fit.shares),
          .reachable = best.fit.speed};
}

}  // namespace cg2d::comm
