#pragma once

// The observers of a solve's steps: lines for people; and checkpoints of a solve of one system: its state after an
// iteration, and how a later solve goes on.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/solver/conjugate_gradient.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Runs an observer's work so that its events count for no phase.
using OutsideOfPhases = std::function<void(const std::function<void()>&)>;

/// The number of steps that are left, by the slope of the logarithm of the smallest residual over the second half
/// of the steps so far.
class ResidualSlope {
 public:
  /// quotient: of the residual and the target, at which it is 1.
  void note(double quotient) {
    const double now = std::log(quotient);
    smallest_.push_back(smallest_.empty() ? now : std::min(smallest_.back(), now));
  }
  /// Nothing before there is a slope, and where residuals do not become smaller.
  [[nodiscard]] std::optional<double> steps_left() const {
    if (smallest_.size() < 4) return std::nullopt;
    const auto half = smallest_.size() / 2;
    const double slope =
        (smallest_.back() - smallest_[half]) / static_cast<double>(smallest_.size() - 1 - half);
    if (!(slope < 0.0) || !std::isfinite(slope)) return std::nullopt;
    constexpr double rounding = 1e-9;  // of the logarithms: five steps are not six
    return std::max(0.0, std::ceil(-smallest_.back() / slope - rounding));
  }

 private:
  std::vector<double> smallest_;
};

/// The observers of one system, added when they are made: they do not move. Where it speaks, it is one itself, and says a line on
/// stderr for every iteration.
class SystemObservers final : public StepObserver {
 public:
  /// name: of the system, before each line.
  SystemObservers(StepObservers& observers, int most_steps, bool speaks, std::string name,
                  OutsideOfPhases outside)
      : history(most_steps), estimates(most_steps), name_(std::move(name)), outside_(std::move(outside)) {
    observers.add(history);
    observers.add(estimates);
    if (speaks) observers.add(*this);
  }
  bool after_step(const CgState& state) override {
    outside_([&] {
      say_on_stderr(
          fmt::format("{}iteration {}: residual {:.6e}", name_, state.number, state.residual_norm()));
    });
    return false;
  }

  ResidualHistory history;
  LanczosEstimates estimates;

 private:
  std::string name_;
  OutsideOfPhases outside_;
};

/// Figures that reports need of each iteration: the history of residuals and the estimate of the spectrum follow from them.
struct SavedStep {
  double alpha = 0.0;
  double beta = 0.0;
  double residual_square = 0.0;
  int replacement_count = 0;
};

/// The state that a solve goes on from, besides its vectors. Alike on every rank.
struct SolveRestart {
  FoundCheckpoint checkpoint{};
  CgState state{};
  double replaced_norm = 0.0;
  std::vector<SavedStep> steps{};

  /// Tells an observer of all earlier iterations.
  void replay(StepObserver& observer) const;
};
class Members;
/// The state that the files have.
void describe(Members& m, SolveRestart& restart);

/// The system that a checkpoint belongs to.
struct CheckpointedSystem {
  std::uint64_t hash = 0;  ///< of the matrix, its values, the right-hand side and the method
  std::int64_t order = 0;
  comm::IndexRange range;  ///< of this rank's elements of each vector
  std::string text;        ///< for people
};

/// Throws RunError (bad_data), alike on every rank, for a checkpoint of another system.
SolveRestart solve_restart(FoundCheckpoint checkpoint, const CheckpointedSystem& system);

}  // namespace cg2d
