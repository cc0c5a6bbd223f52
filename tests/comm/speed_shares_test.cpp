// Shares by speed against a search over all borders and all places.

#include "comm/speed_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/test_extent.hpp"

namespace cg2d::comm::speed_shares_test {
namespace {

using Numbers = std::vector<double>;

double sum_of(const Numbers& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

size_t index(int number) { return static_cast<size_t>(number); }

Numbers drawn_speeds(std::mt19937_64& random, int count) {
  std::uniform_real_distribution<double> speed(1.0, 4.0);
  Numbers speeds(index(count));
  for (double& one : speeds) one = speed(random);
  return speeds;
}

/// A border of blocks is the first piece of one.
std::vector<size_t> borders_of(ProcessGrid grid) {
  std::vector<size_t> borders;
  for (int piece = 1; piece < grid.rank_count(); ++piece)
    if (piece % grid.columns == 0 || piece % grid.rows == 0) borders.push_back(index(piece));
  return borders;
}

/// Pieces for borders at these positions, which never fall, of [0, 1].
Numbers pieces_of(const Numbers& positions, ProcessGrid grid) {
  const auto borders = borders_of(grid);
  Numbers pieces(index(grid.rank_count()));
  double before = 0.0;
  size_t first = 0;
  for (size_t k = 0; k <= borders.size(); ++k) {
    const double position = k < borders.size() ? positions[k] : 1.0;
    pieces[first] = position - before;
    before = position;
    if (k < borders.size()) first = borders[k];
  }
  return pieces;
}

/// Work of each place, as the definition has it.
Numbers work_of(const Numbers& pieces, ProcessGrid grid) {
  Numbers work(pieces.size());
  for (int place = 0; place < grid.rank_count(); ++place) {
    double row = 0.0;
    double column = 0.0;
    for (int k = 0; k < grid.columns; ++k) row += pieces[index(grid.row_of(place) * grid.columns + k)];
    for (int k = 0; k < grid.rows; ++k) column += pieces[index(grid.column_of(place) * grid.rows + k)];
    work[index(place)] = row * column;
  }
  return work;
}

/// Whether ranks may change places.
enum class Places { fixed, free };

/// The speed for these borders. speeds: of the places; where these are free, in order: the k-th speed for the k-th work is the best.
double best_speed(const Numbers& positions, const Numbers& speeds, ProcessGrid grid, Places places) {
  auto work = work_of(pieces_of(positions, grid), grid);
  if (places == Places::free) std::ranges::sort(work);
  double slowest = 0.0;
  for (size_t k = 0; k < work.size(); ++k) slowest = std::max(slowest, work[k] / speeds[k]);
  return 1.0 / slowest;
}

/// Every way to put the borders on a lattice, then steps that shrink, from the best of them.
class BorderSearch {
 public:
  BorderSearch(Numbers speeds, ProcessGrid grid, Places places)
      : speeds_(std::move(speeds)), grid_(grid), places_(places) {
    if (places == Places::free) std::ranges::sort(speeds_);
    const auto count = borders_of(grid).size();
    lattice_ = count <= 3 ? 32 : 16;
    Numbers positions(count);
    scan(positions, 0, 0);
    std::ranges::sort(found_, std::ranges::greater(), &Found::speed);
    constexpr size_t most_refined = 8;
    for (size_t k = 0; k < std::min(most_refined, found_.size()); ++k)
      best_ = std::max(best_, refined(found_[k].positions));
  }

  double best() const { return best_; }

 private:
  struct Found {
    Numbers positions;
    double speed;
  };

  void scan(Numbers& positions, size_t number, int first) {
    if (number == positions.size()) {
      const double speed = best_speed(positions, speeds_, grid_, places_);
      if (speed < 0.9 * best_) return;
      best_ = std::max(best_, speed);
      found_.push_back({positions, speed});
      return;
    }
    for (int k = first; k <= lattice_; ++k) {
      positions[number] = static_cast<double>(k) / lattice_;
      scan(positions, number + 1, k);
    }
  }

  double refined(Numbers positions) const {
    double best = best_speed(positions, speeds_, grid_, places_);
    for (double step = 0.5 / lattice_; step > 1e-4;) {
      bool is_better = false;
      for (size_t k = 0; k < positions.size(); ++k) {
        for (const double way : {-step, step}) {
          for (size_t end = k + 1; end <= positions.size(); ++end) {  // neighbours move with it
            auto moved = positions;
            for (size_t j = k; j < end; ++j) moved[j] += way;
            if (moved.front() < 0.0 || moved.back() > 1.0 || !std::ranges::is_sorted(moved)) continue;
            if (const double speed = best_speed(moved, speeds_, grid_, places_);
                speed > best * (1.0 + 1e-9)) {
              best = speed;
              positions = std::move(moved);
              is_better = true;
            }
          }
        }
      }
      if (!is_better) step *= 0.5;
    }
    return best;
  }

  Numbers speeds_;
  ProcessGrid grid_;
  Places places_;
  int lattice_ = 0;
  std::vector<Found> found_;
  double best_ = 0.0;
};

TEST(SpeedSharesTest, EqualSpeedsStayAndShareEvenly) {
  for (const auto grid : factorizations(12)) {
    SCOPED_TRACE(grid.name());
    const auto shares = shares_on_grid(Numbers(12, 3.5), grid);
    EXPECT_EQ(shares.grid.order, nullptr);
    for (const double piece : shares.pieces) EXPECT_DOUBLE_EQ(piece, 1.0 / 12.0);
    EXPECT_NEAR(shares.reachable, 42.0, 1e-9);
  }
}

TEST(SpeedSharesTest, ALineReachesTheSumOfItsSpeedsAndASquareCannotDoWithoutASlowRanksRowAndColumn) {
  const Numbers speeds{1.0, 1.0, 2.0};
  for (const ProcessGrid grid :
       {ProcessGrid{.columns = 1, .rows = 3}, ProcessGrid{.columns = 3, .rows = 1}}) {
    EXPECT_GT(shares_on_grid(speeds, grid).reachable, 0.995 * 4.0);
    const auto in_place = shares_in_place(speeds, grid);
    EXPECT_NEAR(in_place[0], 0.25, 0.002);
    EXPECT_NEAR(in_place[2], 0.50, 0.002);
  }
  // By hand: r = c = (a, 1 - a), the slow rank at (0, 0), and a^2 = (1 - a)^2 / 2.
  const double a = std::sqrt(0.5) / (1.0 + std::sqrt(0.5));
  const auto shares = shares_on_grid(Numbers{2.0, 2.0, 1.0, 2.0}, {.columns = 2, .rows = 2});
  EXPECT_NEAR(shares.reachable, 1.0 / (a * a), 0.01 / (a * a));
}

/// It costs what the rows that differ cost, not what all places do.
TEST(SpeedSharesTest, AFewSlowRanksOfAMillion) {
  const ProcessGrid square{.columns = 1024, .rows = 1024};
  Numbers speeds(index(square.rank_count()), 1.0);
  const auto check = [&](ProcessGrid grid, double reachable, double least_share) {
    const auto shares = shares_on_grid(speeds, grid);
    EXPECT_NEAR(shares.reachable, speed_of_shares(shares.pieces, speeds, shares.grid),
                1e-9 * shares.reachable);
    EXPECT_NEAR(sum_of(shares.pieces), 1.0, 1e-9);
    EXPECT_GT(shares.reachable, least_share * reachable) << grid.name();
  };
  // By hand: the work of the slow rank's row and column is less by the same factor a, and a^2 = 1/2. Rank 5 stands at (0, 5), which makes two
  // rows and two columns smaller, the last one at (1023, 1023).
  const double a = std::sqrt(0.5);
  for (const auto& [rank, smaller_rows] : {std::pair(5, 2.0), std::pair(square.rank_count() - 1, 1.0)}) {
    speeds[index(rank)] = 0.5;
    check(square, std::pow(1024.0 - smaller_rows * (1.0 - a), 2.0), 0.9999);
    speeds[index(rank)] = 1.0;
  }
  // Borders of rows and of columns that alternate; rows and columns that hold slow ranks may be half as large.
  speeds.resize(index(1000 * 1001));
  for (const int rank : {0, 1, 5000, 400000, 1000 * 1001 - 1}) speeds[index(rank)] = 0.5;
  check({.columns = 1000, .rows = 1001}, (1000.0 - 0.5 * 5.0) * (1001.0 - 0.5 * 4.0), 0.99);
}

/// The result is a cut of the whole, with its speed.
void expect_cut(const SpeedShares& shares, const Numbers& speeds) {
  EXPECT_NEAR(sum_of(shares.pieces), 1.0, 1e-12);
  EXPECT_GT(std::ranges::min(shares.pieces), 0.0);
  EXPECT_NEAR(shares.reachable, speed_of_shares(shares.pieces, speeds, shares.grid), 1e-9 * shares.reachable);
  const auto work = work_of(shares.pieces, {.columns = shares.grid.columns, .rows = shares.grid.rows});
  double slowest = 0.0;
  for (size_t place = 0; place < work.size(); ++place)
    slowest =
        std::max(slowest, work[place] / speeds[index(shares.grid.rank_at_place(static_cast<int>(place)))]);
  EXPECT_NEAR(shares.reachable, 1.0 / slowest, 1e-9 * shares.reachable);
  EXPECT_LE(shares.reachable, sum_of(speeds) * (1.0 + 1e-12));
}

TEST(SpeedSharesTest, RanksChangePlacesOnlyWhereThatReachesMore) {
  const ProcessGrid grid{.columns = 2, .rows = 2};
  // By hand: 0.40 of the sum where the slow ones stand at (0, 0) and (1, 1), 0.62 elsewhere.
  const Numbers opposite{1.0, 4.0, 4.0, 1.0};
  const auto moved = shares_on_grid(opposite, grid);
  EXPECT_NE(moved.grid.order, nullptr);
  EXPECT_NEAR(moved.reachable, speed_of_shares(moved.pieces, opposite, moved.grid), 1e-9 * moved.reachable);
  EXPECT_NEAR(moved.reachable, 6.25, 0.02);
  EXPECT_NEAR(speed_of_shares(shares_in_place(opposite, grid), opposite, grid), 4.0, 0.02);
  for (const auto& speeds : {Numbers{1.0, 1.001, 0.999, 1.0}, Numbers{2.0, 2.0, 2.0, 1.999}}) {
    EXPECT_EQ(shares_on_grid(speeds, grid).grid.order, nullptr);
  }
  EXPECT_EQ(shares_on_grid(Numbers{1.0, 4.0, 2.0}, {.columns = 1, .rows = 3}).grid.order, nullptr);
}

TEST(SpeedSharesTest, SharesFollowRanksToTheirPlaces) {
  const ProcessGrid grid{.columns = 3, .rows = 2};
  const Numbers speed_at{1.0, 2.0, 1.5, 3.0, 2.5, 4.0};
  const std::vector<int> rank_at{4, 2, 0, 5, 1, 3};
  Numbers speeds(6);
  for (size_t place = 0; place < 6; ++place) speeds[index(rank_at[place])] = speed_at[place];
  EXPECT_EQ(shares_in_place(speeds, grid.in_order(rank_at)), shares_in_place(speed_at, grid));
}

TEST(SpeedSharesTest, AreNearTheBestOfEveryGrid) {
  const int draw_count = test::with_fewer_sanitized(test::by_extent(5, 100, 1000));
  std::mt19937_64 random(5);
  for (const int rank_count : {4, 6, 8, 12, 1, 2}) {
    for (const auto grid : factorizations(rank_count)) {
      SCOPED_TRACE(grid.name());
      const bool is_line = grid.columns == 1 || grid.rows == 1;
      for (int draw = 0; draw < draw_count; ++draw) {
        SCOPED_TRACE("draw " + std::to_string(draw));
        const auto speeds = drawn_speeds(random, rank_count);
        const auto best = [&](Places places) {
          return is_line ? sum_of(speeds) : BorderSearch(speeds, grid, places).best();
        };
        const auto shares = shares_on_grid(speeds, grid);
        expect_cut(shares, speeds);
        // Ranks stay where they stand unless other places reach 2 % more.
        const double worthwhile = is_line || shares.grid.order != nullptr ? 1.0 : 1.02;
        ASSERT_GT(worthwhile * shares.reachable, (rank_count <= 8 ? 0.98 : 0.97) * best(Places::free));
        const auto in_place = speed_of_shares(shares_in_place(speeds, grid), speeds, grid);
        ASSERT_GT(in_place, 0.97 * best(Places::fixed));
      }
    }
  }
}

TEST(SpeedSharesTest, RefusesWhatIsNoSpeed) {
  const ProcessGrid grid{.columns = 2, .rows = 1};
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto infinity = std::numeric_limits<double>::infinity();
  for (const auto& speeds :
       {Numbers{1.0}, Numbers{1.0, 0.0}, Numbers{-1.0, 1.0}, Numbers{nan, 1.0}, Numbers{1.0, infinity}}) {
    EXPECT_THROW((void)shares_on_grid(speeds, grid), std::invalid_argument);
    EXPECT_THROW((void)shares_in_place(speeds, grid), std::invalid_argument);
  }
  EXPECT_THROW((void)shares_on_grid(Numbers{}, {.columns = 0, .rows = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::comm::speed_shares_test
