#pragma once

// Ends a run in which nothing goes on: each rank's thread looks at what the rank has come to.

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Watches the rank that makes it during its lifetime, as an observer of the steps. Progress is a step, or a phase, that begins
/// or ends. Without any for the limit, the rank says on stderr what it does and whom it waits for, and ends all. Ranks speak
/// one after the other: each waits for its turn, and for the turns of all others before it ends them. Where it has gone on until then, it
/// says so and watches again.
///
/// Time in which the whole process is stopped does not count. Cost: two stores for each step, and a thread that wakes a few
/// times per second.
class StallWatch final : public StepObserver, public OuterStepObserver {
 public:
  /// Ends all ranks with a code, when those that can have said what they wait for. Called by the thread of the watch, on
  /// every rank that is not stopped.
  using EndAll = std::function<void(ExitCode code)>;

  /// limit_s: the longest time without progress. Holds references. The steps that are counted are those that observers are told of.
  StallWatch(double limit_s, EndAll end, comm::RankGroup& group, const PhaseTimer& timer,
             StepObservers& observers);
  /// The watch ends with its thread.
  ~StallWatch() override { observers_.remove(*this); }
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  void before_step() override { ++step_; }
  bool after_step(const CgState& /*state*/) override {
    ++ended_step_count_;
    return false;
  }
  void before_outer_step() override {
    step_ = 0;
    ++outer_step_;
  }
  /// The outer iterations of another repetition follow.
  void begin_repeat(int number) {
    outer_step_ = 0;
    repeat_ = number;
  }

  /// The present work of this rank: "run 1, outer iteration 3, CG step 12: summation, waits for rank 0". From any thread.
  std::string describe() const;

 private:
  /// Changes with every progress: changes of the phase, and steps.
  using Reached = std::pair<uint64_t, int64_t>;
  Reached reached() const;
  void watch(const std::stop_token& stop);
  [[nodiscard]] bool end_all(const Reached& seen, const std::stop_token& stop);

  double limit_s_;
  EndAll end_;
  comm::RankGroup& group_;
  const PhaseTimer& timer_;
  StepObservers& observers_;
  // Written by the rank, read by the thread.
  std::atomic<int64_t> step_ = 0;  // of the outer iteration, or of the solve
  std::atomic<int64_t> ended_step_count_ = 0;
  std::atomic<int> outer_step_ = 0;
  std::atomic<int> repeat_ = 0;
  std::jthread thread_;  // last: it ends before what it reads
};

}  // namespace cg2d
