#pragma once

// When ranks have drifted so far from their shares that another cut pays. Pure arithmetic, no MPI.

#include <cmath>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d {

/// The products of all ranks in one outer iteration.
struct ProductLoad {
  std::vector<double> seconds;   ///< [rank], of its own, without waiting
  std::vector<double> nonzeros;  ///< [rank], of its block
};

/// What a move would have to bring back.
struct MoveCost {
  double seconds = 0.0;
  int steps_left = 0;  ///< outer iterations
};

/// Watches outer iterations, and says when the matrix should be repartitioned: where the last three would each have been so much shorter with the
/// shares that their times lead to that, if this goes on, the rest of the work gains more than a move costs. One that was disturbed by
/// something that passes is not followed.
class DriftWatch {
 public:
  explicit DriftWatch(comm::ProcessGrid grid) : grid_(grid) {}

  /// After an outer iteration.
  void note(ProductLoad load);
  /// The blocks are others from now on.
  void forget() { loads_.clear(); }

  /// Whether a move to these shares pays: [piece], by shares_in_place(). Without shares whether any may pay, by the sum of the speeds: where none
  /// does, there is no need to look for shares. The latter by additions, products and quotients only: alike on every rank.
  [[nodiscard]] bool pays(const MoveCost& cost, std::span<const double> shares = {}) const;
  /// Speeds of the ranks in the iterations that are looked at, in nonzeros per second: [rank]. Only where pays(), as the next one.
  [[nodiscard]] std::vector<double> speeds() const;
  /// The mean of those iterations.
  [[nodiscard]] ProductLoad mean_load() const;
  /// Seconds that the slowest rank's products take in an outer iteration, mean of those that are looked at.
  [[nodiscard]] double slowest_s() const;

 private:
  comm::ProcessGrid grid_;
  std::deque<ProductLoad> loads_;
};

/// Seconds of the rank that takes longest.
double slowest_s(const ProductLoad& load);

/// A rank around a new cut. After: 0 where no outer iteration came after it.
struct MovedRank {
  int rank = 0;
  std::int64_t nonzeros_before = 0;
  double before_s = 0.0;  ///< of its products in an outer iteration, mean of the last before it
  std::int64_t nonzeros_after = 0;
  double after_s = 0.0;  ///< mean of those after it
};

/// One time that the matrix was repartitioned.
struct Move {
  int repeat_number = 1;
  int after_step = 0;     ///< outer iteration
  int slowest_rank = 0;   ///< whose products took longest
  double slowness = 1.0;  ///< how many times as long as the mean of all
  double before_s = 0.0;  ///< of the slowest rank's products in an outer iteration, mean of those before
  double after_s = 0.0;   ///< mean of those after it; 0: there were none
  double cost_s = 0.0;    ///< of the move itself
  double gained_s = 0.0;  ///< by all after it, less the cost
  int steps_after = 0;
  std::vector<MovedRank> ranks{};

  /// The products of an outer iteration after it.
  void note(const ProductLoad& load) {
    ++steps_after;
    after_s += (slowest_s(load) - after_s) / steps_after;
    gained_s += before_s - slowest_s(load);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank].nonzeros_after = std::llround(load.nonzeros[rank]);
      ranks[rank].after_s += (load.seconds[rank] - ranks[rank].after_s) / steps_after;
    }
  }
};

}  // namespace cg2d
