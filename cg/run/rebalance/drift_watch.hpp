#pragma once

// When ranks have drifted so far from their shares that another cut pays. Pure arithmetic, no MPI.

#include <deque>
#include <optional>
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

  /// Whether a move may pay, by the sum of the speeds: where it does not, there is no need to look for shares. By additions, products and
  /// quotients only: alike on every rank.
  [[nodiscard]] bool may_pay(const MoveCost& cost) const;
  /// Speeds of the ranks in the iterations that are looked at, in nonzeros per second: [rank]. Only where may_pay(), as the next one.
  [[nodiscard]] std::vector<double> speeds() const;
  /// The mean of those iterations.
  [[nodiscard]] ProductLoad mean_load() const;
  /// Whether a move to these shares pays: [piece], by shares_in_place().
  [[nodiscard]] bool pays(std::span<const double> shares, const MoveCost& cost) const;

  /// Seconds that the slowest rank's products take in an outer iteration, mean of those that are looked at.
  [[nodiscard]] double slowest_s() const;

 private:
  template <typename SpeedOf>
  [[nodiscard]] bool pays_at(const MoveCost& cost, const SpeedOf& speed_of) const;

  comm::ProcessGrid grid_;
  std::deque<ProductLoad> loads_;
};

/// Seconds of the rank that takes longest.
double slowest_s(const ProductLoad& load);

}  // namespace cg2d
