#include "comm/speed_shares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

namespace cg2d::comm {
namespace {

using Numbers = std::vector<double>;

std::size_t index(int number) { return static_cast<std::size_t>(number); }

void require(std::span<const double> speeds, ProcessGrid grid) {
  if (grid.columns < 1 || grid.rows < 1) throw std::invalid_argument("speed shares: the grid is empty");
  if (speeds.size() != index(grid.rank_count()))
    throw std::invalid_argument("speed shares: there must be one speed for each place of the grid");
  if (!std::ranges::all_of(speeds, [](double speed) { return std::isfinite(speed) && speed > 0.0; }))
    throw std::invalid_argument("speed shares: speeds must be finite and greater than 0");
}

/// Shares of row blocks and of column blocks.
struct BlockShares {
  Numbers rows;
  Numbers columns;
};

BlockShares block_shares(std::span<const double> pieces, ProcessGrid grid) {
  BlockShares blocks{.rows = Numbers(index(grid.rows)), .columns = Numbers(index(grid.columns))};
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    blocks.rows[piece / index(grid.columns)] += pieces[piece];
    blocks.columns[piece / index(grid.rows)] += pieces[piece];
  }
  return blocks;
}

/// Work of each place.
Numbers work_of(const BlockShares& blocks) {
  Numbers work;
  for (const double row : blocks.rows)
    for (const double column : blocks.columns) work.push_back(row * column);
  return work;
}

/// Time of each place for its work.
Numbers times_of(const BlockShares& blocks, std::span<const double> speed_at) {
  auto times = work_of(blocks);
  for (std::size_t place = 0; place < times.size(); ++place) times[place] /= speed_at[place];
  return times;
}

/// Pieces between the same two borders of blocks are alike.
void even_out(Numbers& pieces, ProcessGrid grid) {
  for (std::size_t begin = 0; begin < pieces.size();) {
    auto end = begin + 1;
    while (end < pieces.size() && end % index(grid.columns) != 0 && end % index(grid.rows) != 0) ++end;
    const auto first = pieces.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = pieces.begin() + static_cast<std::ptrdiff_t>(end);
    std::fill(first, last, std::accumulate(first, last, 0.0) / static_cast<double>(end - begin));
    begin = end;
  }
}

void scale_to_one(Numbers& pieces) {
  const double sum = std::accumulate(pieces.begin(), pieces.end(), 0.0);
  for (double& piece : pieces) piece /= sum;
}

/// Shares with their speed on the grid.
struct Fit {
  Numbers pieces;
  double speed = 0.0;
};

bool is_line(ProcessGrid grid) { return grid.columns == 1 || grid.rows == 1; }

/// A line of ranks: each gets as much as it is fast.
Fit line_fit(std::span<const double> speed_at) {
  Fit fit{.pieces = {speed_at.begin(), speed_at.end()},
          .speed = std::accumulate(speed_at.begin(), speed_at.end(), 0.0)};
  scale_to_one(fit.pieces);
  return fit;
}

/// Descends from these shares: the slowest place, as a mean in which slow places count more and more, gets less. Multiplying pieces keeps
/// them positive, so every step is a cut.
Fit descend(Numbers pieces, std::span<const double> speed_at, ProcessGrid grid) {
  if (is_line(grid)) return line_fit(speed_at);
  constexpr std::array sharpness{8.0, 32.0, 128.0, 512.0};
  constexpr int steps = 60;
  constexpr double smallest_piece = 1e-12;
  constexpr double largest_push = 1e3;
  Fit best;
  for (const double power : sharpness) {
    for (int step = 0; step < steps; ++step) {
      const auto blocks = block_shares(pieces, grid);
      auto times = times_of(blocks, speed_at);
      const double slowest = std::ranges::max(times);
      if (1.0 / slowest > best.speed) best = {.pieces = pieces, .speed = 1.0 / slowest};
      double sum = 0.0;
      for (double& time : times) sum += time = std::pow(time / slowest, power);
      BlockShares push{.rows = Numbers(index(grid.rows)), .columns = Numbers(index(grid.columns))};
      for (std::size_t place = 0; place < times.size(); ++place) {
        push.rows[place / index(grid.columns)] += times[place] / sum;
        push.columns[place % index(grid.columns)] += times[place] / sum;
      }
      for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
        const auto row = piece / index(grid.columns);
        const auto column = piece / index(grid.rows);
        const double gradient =
            push.rows[row] / blocks.rows[row] + push.columns[column] / blocks.columns[column];
        pieces[piece] *= std::exp(-std::min(gradient, largest_push) / power);
        pieces[piece] = std::max(pieces[piece], smallest_piece);
      }
      scale_to_one(pieces);
    }
  }
  even_out(best.pieces, grid);
  return best;
}

/// Even pieces first, then drawn ones: the product of two shares has more than one valley.
class Starts {
 public:
  explicit Starts(ProcessGrid grid) : piece_count_(index(grid.rank_count())) {
    constexpr std::size_t enough_pieces = 1024;
    constexpr std::size_t fewest = 2;
    constexpr std::size_t most = 128;
    count_ = is_line(grid) ? 1 : std::clamp(enough_pieces / piece_count_, fewest, most);
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Numbers next() {
    Numbers pieces(piece_count_, 1.0);
    if (!is_first_) {
      for (double& piece : pieces) piece = drawn();
    }
    is_first_ = false;
    scale_to_one(pieces);
    return pieces;
  }

 private:
  /// Exponentially distributed, which makes all cuts equally likely.
  double drawn() {
    constexpr double steps = 0x1p53;
    return -std::log((static_cast<double>(random_() >> 11U) + 1.0) / steps);
  }

  std::size_t piece_count_;
  std::size_t count_ = 1;
  bool is_first_ = true;
  std::mt19937_64 random_{1};  // the same draws on every rank
};

Numbers speeds_at(std::span<const int> rank_at, std::span<const double> speeds) {
  Numbers at;
  for (const int rank : rank_at) at.push_back(speeds[index(rank)]);
  return at;
}

/// Ranks at their places, with shares.
struct Placed {
  std::vector<int> rank_at;
  Numbers pieces;
  double speed = 0.0;
};

/// The places for shares that are given: the most work to the fastest, which no exchange of two ranks betters. Ties keep the order of the
/// ranks.
std::vector<int> places_for(std::span<const double> pieces, std::span<const double> speeds,
                            ProcessGrid grid) {
  const auto work = work_of(block_shares(pieces, grid));
  std::vector<int> places(work.size());
  std::iota(places.begin(), places.end(), 0);
  auto ranks = places;
  std::ranges::stable_sort(places, {}, [&](int place) { return work[index(place)]; });
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return speeds[index(rank)]; });
  std::vector<int> rank_at(work.size());
  for (std::size_t k = 0; k < places.size(); ++k) rank_at[index(places[k])] = ranks[k];
  return rank_at;
}

/// Exchanges two ranks as long as that helps, with the best shares after each; for few ranks only.
void exchange_ranks(Placed& best, std::span<const double> speeds, ProcessGrid grid) {
  constexpr std::size_t most_ranks = 16;
  constexpr double least_gain = 1.0005;
  if (is_line(grid) || speeds.size() > most_ranks) return;
  bool is_better = true;
  while (is_better) {
    is_better = false;
    for (std::size_t a = 0; a < speeds.size(); ++a) {
      for (std::size_t b = a + 1; b < speeds.size(); ++b) {
        auto rank_at = best.rank_at;
        std::swap(rank_at[a], rank_at[b]);
        auto fit = descend(best.pieces, speeds_at(rank_at, speeds), grid);
        if (fit.speed < best.speed * least_gain) continue;
        best = {.rank_at = std::move(rank_at), .pieces = std::move(fit.pieces), .speed = fit.speed};
        is_better = true;
      }
    }
  }
}

}  // namespace

double speed_of_shares(std::span<const double> pieces, std::span<const double> speeds, ProcessGrid grid) {
  require(speeds, grid);
  if (pieces.size() != speeds.size())
    throw std::invalid_argument("speed shares: there must be one share for each piece");
  return 1.0 /
         std::ranges::max(times_of(block_shares(pieces, grid), speeds_at(grid.ranks_by_place(), speeds)));
}

std::vector<double> shares_in_place(std::span<const double> speeds, ProcessGrid grid) {
  require(speeds, grid);
  const auto speed_at = speeds_at(grid.ranks_by_place(), speeds);
  Starts starts(grid);
  Fit best;
  for (std::size_t start = 0; start < starts.count(); ++start) {
    auto fit = descend(starts.next(), speed_at, grid);
    if (fit.speed > best.speed) best = std::move(fit);
  }
  return best.pieces;
}

SpeedShares shares_by_speed(std::span<const double> speeds, ProcessGrid grid) {
  require(speeds, grid);
  constexpr int most_exchanges = 6;     // of places, until they stay
  constexpr double least_gain = 1.001;  // else the start is done
  Starts starts(grid);
  grid.order = nullptr;
  const auto even = starts.next();
  Placed best{.rank_at = grid.ranks_by_place(), .pieces = even, .speed = speed_of_shares(even, speeds, grid)};
  const auto found = [&] {
    return SpeedShares{.grid = grid.in_order(best.rank_at), .pieces = best.pieces, .reachable = best.speed};
  };
  if (std::ranges::max(speeds) == std::ranges::min(speeds)) return found();
  for (std::size_t start = 0; start < starts.count(); ++start) {
    auto pieces = start == 0 ? even : starts.next();
    double before = 0.0;
    for (int exchange = 0; exchange < most_exchanges; ++exchange) {
      auto rank_at = places_for(pieces, speeds, grid);
      auto fit = descend(std::move(pieces), speeds_at(rank_at, speeds), grid);
      if (fit.speed > best.speed)
        best = {.rank_at = std::move(rank_at), .pieces = fit.pieces, .speed = fit.speed};
      if (fit.speed < before * least_gain) break;
      before = fit.speed;
      pieces = std::move(fit.pieces);
    }
  }
  exchange_ranks(best, speeds, grid);
  return found();
}

SpeedShares shares_on_grid(std::span<const double> speeds, ProcessGrid grid) {
  constexpr double least_gain = 1.02;
  SpeedShares in_place{.grid = grid, .pieces = shares_in_place(speeds, grid)};
  in_place.reachable = speed_of_shares(in_place.pieces, speeds, grid);
  if (is_line(grid)) return in_place;  // there every order reaches the sum of the speeds
  auto moved = shares_by_speed(speeds, grid);
  return moved.reachable > in_place.reachable * least_gain ? moved : in_place;
}

}  // namespace cg2d::comm
