#pragma once

// The observers of a solve's steps: lines for people, and requests to stop.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/solver/step_observer.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Runs an observer's work so that its events count for no phase.
using OutsideOfPhases = std::function<void(const std::function<void()>&)>;

/// The number of steps that are left, by the slope of the logarithm of the smallest residual over the second half
/// of the steps so far.
class ResidualSlope {
 public:
  explicit ResidualSlope(double target_norm) : target_(std::log(target_norm)) {}

  void note(double residual_norm) {
    const double now = std::log(residual_norm);
    smallest_.push_back(smallest_.empty() ? now : std::min(smallest_.back(), now));
  }
  /// Nothing before there is a slope, and where residuals do not become smaller.
  [[nodiscard]] std::optional<double> steps_left() const {
    if (smallest_.size() < 4) return std::nullopt;
    const auto half = smallest_.size() / 2;
    const double slope =
        (smallest_.back() - smallest_[half]) / static_cast<double>(smallest_.size() - 1 - half);
    if (!(slope < 0.0) || !std::isfinite(slope) || !std::isfinite(target_)) return std::nullopt;
    return std::max(0.0, std::ceil((target_ - smallest_.back()) / slope));
  }

 private:
  double target_;
  std::vector<double> smallest_;
};

/// A line on stderr for every iteration.
class Monitor final : public StepObserver {
 public:
  Monitor(bool speaks, OutsideOfPhases outside) : speaks_(speaks), outside_(std::move(outside)) {}
  bool after_step(const CgState& state) override {
    ++count_;
    if (!speaks_) return false;
    outside_(
        [&] { say_on_stderr(fmt::format("iteration {}: residual {:.6e}", count_, state.residual_norm())); });
    return false;
  }

 private:
  bool speaks_;
  OutsideOfPhases outside_;
  int count_ = 0;
};

/// Says about once a second how far a solve is, and how long it may take at the mean rate so far.
class SolveProgress final : public StepObserver {
 public:
  SolveProgress(const Progress& progress, double target_norm, OutsideOfPhases outside)
      : progress_(progress), outside_(std::move(outside)), target_norm_(target_norm), slope_(target_norm) {}
  bool after_step(const CgState& state) override {
    ++count_;
    slope_.note(state.residual_norm());
    constexpr double interval_s = 1.0;
    const double now_s = stopwatch_.seconds();
    if (now_s < said_s_ + interval_s) return false;
    said_s_ = now_s;
    outside_([&] {
      progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_,
                                state.residual_norm(), target_norm_, rest(now_s)));
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
  OutsideOfPhases outside_;
  double target_norm_;
  ResidualSlope slope_;
  double said_s_ = 0.0;
  int count_ = 0;
  Stopwatch stopwatch_;
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

 private:
  [[nodiscard]] bool ask() {
    constexpr double interval_s = 0.1;
    // A request is a time that no solve takes: one message for both.
    constexpr double request_s = 1e30;
    const double common_s = group_.maximum(watch_.asked() ? request_s : stopwatch_.seconds());
    if (common_s >= request_s) return true;
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
  Stopwatch stopwatch_;
};

}  // namespace cg2d
