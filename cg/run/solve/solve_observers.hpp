#pragma once

// The observers of a solve's steps: lines for people, and requests to stop.

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
#include "cg/solver/lanczos.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"
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

/// A line on stderr for every iteration.
class Monitor final : public StepObserver {
 public:
  /// name: of the system, before each line.
  Monitor(bool speaks, std::string name, OutsideOfPhases outside)
      : speaks_(speaks), name_(std::move(name)), outside_(std::move(outside)) {}
  bool after_step(const CgState& state) override {
    if (!speaks_) return false;
    outside_([&] {
      say_on_stderr(
          fmt::format("{}iteration {}: residual {:.6e}", name_, state.number, state.residual_norm()));
    });
    return false;
  }

 private:
  bool speaks_;
  std::string name_;
  OutsideOfPhases outside_;
};

/// Says about once a second how far a solve is, and how long it may take at the mean rate so far.
class SolveProgress final : public StepObserver {
 public:
  SolveProgress(const Progress& progress, const Tolerance& tolerance, OutsideOfPhases outside)
      : progress_(progress), tolerance_(tolerance), outside_(std::move(outside)) {}
  bool after_step(const CgState& state) override {
    ++count_;
    const double target_norm = tolerance_.residual_norm_for(state.right_hand_side_norm());
    slope_.note(state.residual_norm() / target_norm);
    constexpr double interval_s = 1.0;
    const double now_s = stopwatch_.seconds();
    if (now_s < said_s_ + interval_s) return false;
    said_s_ = now_s;
    outside_([&] {
      progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_,
                                state.residual_norm(), target_norm, rest(now_s)));
    });
    return false;
  }

 private:
  [[nodiscard]] std::string rest(double now_s) const {
    const auto steps = slope_.steps_left();
    if (!steps) return {};
    return fmt::format(", about {:.0f} iterations and {:.0f} s left", *steps, *steps * now_s / count_);
  }

  const Progress& progress_;
  const Tolerance& tolerance_;
  OutsideOfPhases outside_;
  ResidualSlope slope_;  // of quotients of residual and target: several systems have targets of their own
  double said_s_ = 0.0;
  int count_ = 0;
  Stopwatch stopwatch_;
};

/// The observers of one system.
struct SystemObservers {
  /// The other parameters: as for the monitor.
  SystemObservers(int most_steps, bool speaks, const std::string& name, const OutsideOfPhases& outside)
      : history(most_steps), estimates(most_steps), monitor(speaks, name, outside) {}

  /// They must not move any more.
  void add_to(StepObservers& observers) {
    observers.add(history);
    observers.add(estimates);
    observers.add(monitor);
  }

  ResidualHistory history;
  LanczosEstimates estimates;
  Monitor monitor;
};

/// Requests to stop when a signal has reached any rank. The ranks agree on it by a message of their own: after
/// steps 1, 2, 4, ..., and then about ten times a second, by the slowest rank's clock, so that all ask at the same
/// steps.
class StepInterrupts final : public StepObserver {
 public:
  StepInterrupts(const InterruptWatch& watch, comm::RankGroup& group, OutsideOfPhases outside)
      : watch_(watch), group_(group), outside_(std::move(outside)) {}

  bool after_step(const CgState& /*state*/) override {
    if (++count_ < next_check_) return false;
    bool asked = false;
    outside_([&] { asked = ask(); });
    return asked;
  }
  /// The time since this was made, by the slowest clock, when the ranks last asked each other: alike on every rank.
  [[nodiscard]] double common_s() const { return common_s_; }

 private:
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

  const InterruptWatch& watch_;
  comm::RankGroup& group_;
  OutsideOfPhases outside_;
  std::int64_t count_ = 0;
  std::int64_t next_check_ = 1;
  double common_s_ = 0.0;
  Stopwatch stopwatch_;
};

}  // namespace cg2d
