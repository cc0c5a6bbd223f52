#pragma once

// The observers of a solve's steps: lines for people, requests to stop; and checkpoints of a solve of one system: its state after an
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

#include "cg/base/interrupt.hpp"
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

/// Told of each step of all systems together. Says about once a second how far a solve is, and how long it may take at the mean rate so far, and
/// requests to stop when a signal has reached any rank. The ranks agree on it by a message of their own: after steps 1, 2, 4, ..., and then
/// about ten times a second, by the slowest rank's clock, so that all ask at the same steps.
class SolveWatch {
 public:
  SolveWatch(const Progress& progress, comm::RankGroup& group, const Tolerance& tolerance,
             OutsideOfPhases outside, bool stops_when_asked)
      : progress_(progress),
        group_(group),
        tolerance_(tolerance),
        outside_(std::move(outside)),
        watch_(stops_when_asked) {}

  bool after_step(const CgState& state) {
    ++count_;
    tell(state);
    if (count_ < next_check_) return false;
    bool asked = false;
    outside_([&] { asked = ask(); });
    return asked;
  }
  /// The time since this was made, by the slowest clock, when the ranks last asked each other: alike on every rank.
  [[nodiscard]] double common_s() const { return common_s_; }

 private:
  void tell(const CgState& state) {
    const double target_norm = tolerance_.residual_norm_for(state.right_hand_side_norm());
    slope_.note(state.residual_norm() / target_norm);
    constexpr double interval_s = 1.0;
    const double now_s = stopwatch_.seconds();
    if (now_s < said_s_ + interval_s) return;
    said_s_ = now_s;
    outside_([&] {
      const auto left = slope_.steps_left();
      progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_,
                                state.residual_norm(), target_norm,
                                left ? fmt::format(", about {:.0f} iterations and {:.0f} s left", *left,
                                                   *left * now_s / static_cast<double>(count_))
                                     : ""));
    });
  }
  [[nodiscard]] bool ask() {
    constexpr double interval_s = 0.1;
    // A request is a time that no solve takes: one message for both.
    constexpr double request_s = 1e30;
    const double common_s = group_.maximum(watch_.asked() ? request_s : stopwatch_.seconds());
    if (common_s >= request_s) return true;
    common_s_ = common_s;
    const double steps = common_s > 0.0 ? interval_s * static_cast<double>(count_) / common_s : 1.0;
    const auto most = static_cast<double>(count_);
    next_check_ = count_ + std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(most, steps)));
    return false;
  }

  const Progress& progress_;
  comm::RankGroup& group_;
  const Tolerance& tolerance_;
  OutsideOfPhases outside_;
  InterruptWatch watch_;
  ResidualSlope slope_;  // of quotients of residual and target: several systems have targets of their own
  std::int64_t count_ = 0;
  std::int64_t next_check_ = 1;
  double said_s_ = 0.0;
  double common_s_ = 0.0;
  Stopwatch stopwatch_;
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
