#pragma once

// The observers and clocks of a solve's iterations.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "cg/base/progress.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/solver/lanczos.hpp"
#include "cg/solver/stop_rule.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

/// A line on stderr for every iteration.
class Monitor final : public StepObserver {
 public:
  explicit Monitor(bool speaks, std::string name = {}) : speaks_(speaks), name_(std::move(name)) {}
  bool after_step(const CgState& state) override {
    if (speaks_)
      say_on_stderr(fmt::format("{}iteration {}: residual {:.6e}", name_, ++count_, state.residual_norm()));
    return false;
  }

 private:
  bool speaks_;
  std::string name_;  // of the system, where there are several
  int count_ = 0;
};

/// Says about once a second how far a solve is, and how long it may take at the mean rate so far.
class SolveProgress final : public StepObserver {
 public:
  SolveProgress(const Progress& progress, double target_norm)
      : progress_(progress), target_norm_(target_norm) {}
  bool after_step(const CgState& state) override {
    ++count_;
    if (first_norm_ == 0.0) first_norm_ = state.first_residual_norm();
    constexpr double interval_s = 1.0;
    if (stopwatch_.seconds() < said_s_ + interval_s) return false;
    said_s_ = stopwatch_.seconds();
    const double done = std::log(state.residual_norm() / first_norm_) / std::log(target_norm_ / first_norm_);
    const auto rest = done > 0.0 && done < 1.0
                          ? fmt::format(", about {:.0f} s left", said_s_ * (1.0 / done - 1.0))
                          : std::string();
    progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_, state.residual_norm(),
                              target_norm_, rest));
    return false;
  }

 private:
  const Progress& progress_;
  double target_norm_;
  double first_norm_ = 0.0;
  double said_s_ = 0.0;
  int count_ = 0;
  Stopwatch stopwatch_;
};

/// The counts that grow with a solve; measure() takes their growth since then.
class RegionClocks {
 public:
  RegionClocks(comm::RankGroup& group, const ReadySystem& system, const DistributedVectors& vectors)
      : group_(group), system_(system), vectors_(vectors), before_(counts()) {}

  [[nodiscard]] RankTimes times() const {
    const auto end_clocks = read_cycle_counter();
    auto times = counts();
    times.region_s = stopwatch_.seconds();
    times.region_clocks = end_clocks - begin_clocks_;
    times.phases = system_.timer.records();
    times.wait_count -= before_.wait_count;
    times.dot_work = times.dot_work - before_.dot_work;
    times.update_work = times.update_work - before_.update_work;
    for (std::size_t k = 0; k < times.sent.size(); ++k) {
      times.sent[k].message_count -= before_.sent[k].message_count;
      times.sent[k].byte_count -= before_.sent[k].byte_count;
    }
    return times;
  }

 private:
  [[nodiscard]] RankTimes counts() const {
    RankTimes counts{};
    counts.wait_count = group_.waiter().wait_count();
    counts.dot_work = vectors_.dot_work();
    counts.update_work = vectors_.update_work();
    for (std::size_t k = 0; k < counts.sent.size(); ++k)
      counts.sent[k] = system_.sent(static_cast<comm::Operation>(k));
    return counts;
  }

  comm::RankGroup& group_;
  const ReadySystem& system_;
  const DistributedVectors& vectors_;
  RankTimes before_;
  Stopwatch stopwatch_;
  std::uint64_t begin_clocks_ = read_cycle_counter();
};

struct SystemObserversConfig {
  int most_steps;
  const Progress& progress;
  double target_norm;  ///< of the residual
  bool monitors;       ///< this rank speaks
  std::string name{};  ///< of the system, before each line of the monitor
};

/// The observers of one system.
struct SystemObservers {
  explicit SystemObservers(const SystemObserversConfig& config)
      : target_norm(config.target_norm),
        history(config.most_steps),
        estimates(config.most_steps),
        progress(config.progress, config.target_norm),
        monitor(config.monitors, config.name) {}

  double target_norm;
  ResidualHistory history;
  LanczosEstimates estimates;
  SolveProgress progress;
  Monitor monitor;
};

/// The outcome of a solve with what its observers saw.
inline Solution solution_of(const SystemSolveResult& result, const SystemObservers& observers,
                            const Preconditioner& preconditioner) {
  const auto spectrum = observers.estimates.estimate();
  return {.result = result,
          .target_norm = observers.target_norm,
          .history = observers.history.norms(),
          .spectrum = spectrum,
          .predicted_steps = spectrum.predicted_steps(observers.target_norm / result.right_hand_side_norm),
          .preconditioner_remark = preconditioner.remark()};
}

}  // namespace cg2d
