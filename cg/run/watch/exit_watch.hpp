#pragma once

// Ends of a process: a bound for the time that MPI takes, a rank that is not to go on, since the process that started it is gone or a
// signal has asked for the end, and a run in which nothing goes on.

#include <sys/types.h>

#include <atomic>
#include <chrono>
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

/// In this time before a process leaves by watch_exit(), the watched thread is held.
inline constexpr std::chrono::milliseconds holding_time{500};

/// A thread that ends the process with a code when it still exists after some time. For the end of a run, when its
/// results are out and all ranks know the code, but MPI_Finalize may hang: launchers take the code of a
/// process that leaves without it. Watches the calling thread. From here on no result may be outstanding. `last_words`: one line for
/// stderr, or empty. Where the system gives no thread there is no watch.
///
/// Before a process leaves, the watched thread is held for some time, in which the watches of all ranks come
/// to their end. Otherwise the first rank that leaves might let another one go on: one that waited for it in
/// UCX now comes to PMI's barrier, MPICH's mpiexec answers to all hosts, and ends by SIGPIPE (code 141), since
/// the first one's is gone. (1 of 50 runs by `put` on 4 x 1 pretended hosts.)
[[nodiscard]] std::jthread watch_exit(ExitCode code, std::chrono::milliseconds limit,
                                      const std::string& last_words);

/// abort_all_ranks() when stderr has been read, from any thread, also where this rank's main thread is within MPI. No result may be
/// outstanding. Does not return.
[[noreturn]] void end_all_ranks(ExitCode code);

/// A thread of each rank, from before MPI starts to after its end, so that no wait, of MPI_Init and of set-up neither, lasts for ever:
///
/// - The rank's parent, which is the launcher's process on this host, is gone, by kill -9 or the memory killer: the rank ends
///   within two seconds. Only where there are several ranks; a process by itself may outlive its parent (nohup).
/// - A signal asks for the end and there is no InterruptWatch: one line on stderr, and all ranks end with ExitCode::interrupted.
///   Rank 0 speaks at once, and others where rank 0 has no signal and does not end them before.
///
/// The thread wakes once per second, and then shows how the time of the progress line goes on. Where the system gives none, handlers of
/// signals end the process.
class LifeWatch {
 public:
  /// has_others: whether the launcher has started other ranks, as far as the environment tells. Before MPI starts.
  explicit LifeWatch(bool has_others);
  ~LifeWatch();
  LifeWatch(const LifeWatch&) = delete;
  LifeWatch& operator=(const LifeWatch&) = delete;

  /// MPI has started: from here on the watch can end all ranks, and signals ask it to.
  void begin_ending_all(int rank, int rank_count);

 private:
  void watch(const std::stop_token& stop);
  void end_by_request() const;

  pid_t parent_;
  std::atomic<bool> has_others_;
  std::atomic<int> rank_ = 0;
  std::jthread thread_;
};

// ---------------------------------------------------------------- a run in which nothing goes on

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
  /// The outer iterations of another repetition follow. earlier_count: those before a restart.
  void begin_repeat(int number, int earlier_count = 0) {
    outer_step_ = earlier_count;
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
