#pragma once

// --rebalance: the matrix is repartitioned between outer iterations where ranks have drifted so far from their shares that another cut pays.

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The products of all ranks in one outer iteration.
struct ProductLoad {
  std::vector<double> seconds;   ///< [rank], of its own, without waiting
  std::vector<double> nonzeros;  ///< [rank], of its block
};

/// The time that a move would have to bring back.
struct MoveCost {
  double seconds = 0.0;
  int steps_left = 0;  ///< outer iterations
};

/// Watches outer iterations, and says when the matrix should be repartitioned: where the last three would each have been so much shorter with the
/// shares that their times lead to that, if this goes on, the rest of the work gains more than a move costs. One that was disturbed by
/// something that passes is not followed. Pure arithmetic, no MPI.
class DriftWatch {
 public:
  explicit DriftWatch(comm::ProcessGrid grid) : grid_(grid) {}

  /// After an outer iteration.
  void note(ProductLoad load);
  /// The blocks are others from now on.
  void forget() { loads_.clear(); }

  /// Whether a move to these shares pays: [piece], by shares_in_place(). Without shares whether any may pay, by the sum of the speeds: where none
  /// does, there is no need to look for shares. The latter by additions, products and quotients only: alike on every rank.
  bool pays(const MoveCost& cost, std::span<const double> shares = {}) const;
  /// Speeds of the ranks in the iterations that are looked at, in nonzeros per second: [rank]. Only where pays(), as the next one.
  std::vector<double> speeds() const;
  /// The mean of those iterations.
  ProductLoad mean_load() const;
  /// Seconds that the slowest rank's products take in an outer iteration, mean of those that are looked at.
  double slowest_s() const;

 private:
  comm::ProcessGrid grid_;
  std::deque<ProductLoad> loads_;
};

/// Watches outer iterations, and moves the matrix between them. Collective.
class Rebalancer final : public OuterStepObserver {
 public:
  /// Moves the matrix to pieces of these shares of the nonzeros: [piece]. Collective; throws RunError (on every rank alike).
  using MoveMatrix = std::function<void(std::span<const double> shares)>;

  /// timer: of the products; what the context names, and the timer, must outlive it. set_up_s: that the making of block and communicator took
  /// on this rank, about the cost of a move.
  Rebalancer(const FeatureContext& context, const PhaseTimer& timer, double set_up_s, MoveMatrix move_matrix)
      : context_(context),
        timer_(timer),
        move_matrix_(std::move(move_matrix)),
        drift_(context.report.configuration.grid),
        move_s_(context.group.maximum(set_up_s)) {}

  /// A repetition of so many outer iterations begins.
  void begin_repeat(int repeat_number, int outer_step_count);
  void before_outer_step() override;
  void after_outer_step(int number, const OuterStep& step) override;
  /// The last repetition is over: the moves go to the report, and the mean work of a product to the rank's own result.
  void finish();

 private:
  void move(int number, const std::vector<double>& shares);
  [[nodiscard]] VectorWork& product_work() { return context_.mine.product_work[index_of(Phase::multiply)]; }

  FeatureContext context_;
  const PhaseTimer& timer_;
  MoveMatrix move_matrix_;
  DriftWatch drift_;
  int repeat_number_ = 1;
  int outer_step_count_ = 1;
  double move_s_;  // of the last one, or as the set-up took
  PhaseRecord before_;
  uint64_t clocks_before_ = 0;
  Stopwatch watch_;
  /// The work of this rank's products, one of each outer iteration: its block changes between them.
  VectorWork work_sum_;
  int64_t work_count_ = 0;
  std::vector<Move> moves_;
};

}  // namespace cg2d
