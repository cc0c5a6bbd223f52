#pragma once

// --rebalance: the matrix is repartitioned between outer iterations where ranks have drifted from their shares.

#include <functional>
#include <memory>
#include <span>

#include "cg/run/feature.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {

/// Work whose matrix can be repartitioned between its iterations.
struct MovableWork {
  /// Seconds that the making of block and communicator took on this rank: about the cost of a move.
  double set_up_s = 0.0;
  /// To pieces of these shares of the nonzeros: [piece]. Collective; throws RunError (on every rank alike).
  std::function<void(std::span<const double> shares)> move;
};

/// Watches outer iterations, and moves the matrix between them. Collective.
class Rebalancer : public OuterStepObserver {
 public:
  virtual void begin_repeat(const RepeatPlace& place) = 0;
  /// The last repetition is over: the moves go to the report, and the mean work of a product to the rank's own result.
  virtual void finish() = 0;
};

/// nullptr: not asked for. timer: of the products; what the context names, and the timer, must outlive it. Collective.
std::unique_ptr<Rebalancer> make_rebalancer(const FeatureContext& context, const PhaseTimer& timer,
                                            MovableWork movable);

}  // namespace cg2d
