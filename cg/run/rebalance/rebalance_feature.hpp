#pragma once

// --rebalance: the matrix is repartitioned between outer iterations where ranks have drifted from their shares.

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/rebalance/drift_watch.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

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

  void begin_repeat(const RepeatPlace& place);
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
  RepeatPlace place_;
  double move_s_;  // of the last one, or as the set-up took
  PhaseRecord before_;
  std::uint64_t clocks_before_ = 0;
  Stopwatch watch_;
  /// The work of this rank's products, one of each outer iteration: its block changes between them.
  VectorWork work_sum_;
  std::int64_t work_count_ = 0;
  std::vector<Move> moves_;
};

}  // namespace cg2d
