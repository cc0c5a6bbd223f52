#pragma once

// The one place where the program waits for another rank.

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

namespace cg2d::comm {

/// A rank's behaviour between two polls.
enum class WaitMode {
  /// The rank has a core to itself, as far as it can see: it polls at once. After a while it yields, and then
  /// takes naps, since other programs, or ranks of a host that shares the cores, may want that core.
  spin,
  /// Ranks outnumber the cores that they may run on: a rank gives the processor away. It calls sched_yield a
  /// few times, and then sleeps where another rank can wake it; where none can, it takes naps.
  yield,
  /// The other ranks are busy with work that must not be disturbed: a rank sleeps between two polls, longer
  /// as the wait gets longer. It notices the end late, by a tenth of the wait and 10 ms at most.
  sleep,
  /// The rank waits in MPI's own blocking call, and nobody rings for it; for memory it looks now and then. Only
  /// where ranks that poll stop each other: see rank_kind.hpp.
  block,
};

/// The pauses of one wait, from the first look in vain to the last. Their lengths grow with the wait, so that
/// its end is noticed late by a tenth of the wait at most.
class Pauses {
 public:
  /// A rank in yield mode yields so often before it naps, or sleeps where it can be woken: it never naps there.
  /// A nap ends by a timer, so a rank that naps in a wait takes the core from those that it waits for: with ten
  /// naps of 20 us before each sleep, class A on 16 ranks and 2 cores took 1.5 to 1.9 times as long (AMD EPYC
  /// Zen 5, virtual machine, 2026-11). 0, 4 and 20 yields could not be told apart.
  static constexpr int64_t yields_before_rest = 20;

  /// A nap lasts as long as the wait until then, divided by this.
  static constexpr int usual_naps = 10;

  explicit Pauses(WaitMode mode, int naps_per_wait = usual_naps)
      : mode_(mode), naps_per_wait_(naps_per_wait) {}
  /// Called after each look in vain. `is_memory`: the look was at memory, and took some nanoseconds; a look
  /// that calls MPI takes much longer.
  void pause(bool is_memory);

 private:
  using Clock = std::chrono::steady_clock;
  void nap();

  WaitMode mode_;
  int naps_per_wait_;
  int64_t looks_ = 0;
  Clock::time_point start_{};
};

class Doorbells;
enum class Bell;

/// Reads a clock; used to tell waiting from working. May be nullptr: nothing is measured then.
using TickSource = uint64_t (*)() noexcept;

/// Waits by polling, but in block mode. MPI's own blocking calls never give the processor away: with MPICH 4.0.2 an 8-byte
/// allreduce of 16 ranks on 2 cores takes 75 ms, a butterfly of polled messages 0.1 ms.
class Waiter {
 public:
  /// Made by the thread that waits: lets the system end the naps of this thread in time. Waits in the
  /// possible_mode() (rank_kind.hpp) for `mode`.
  explicit Waiter(WaitMode mode, TickSource ticks = nullptr);

  /// Returns when all requests are complete. Throws MpiError.
  void wait_all(std::span<MPI_Request> requests);
  /// Waits for one request, a send or a receive. In yield mode the rank sleeps after some polls until the
  /// partner rings its bell: `taken` for a send, `sent` for a receive.
  void wait(MPI_Request request, Doorbells& bells, Bell bell);

  /// Returns when reached() is true. In yield mode it calls sleep() after some yields in vain, which returns
  /// when reached() may have changed, or after a while.
  template <typename Reached, typename Sleep>
  void wait_until(const Reached& reached, const Sleep& sleep);
  /// wait_until() where no rank can wake this one: it takes short naps.
  template <typename Reached>
  void wait_until(const Reached& reached);

  /// The same for a rank that serves others: it naps ten times as often, and notices the end late by a hundredth of the wait.
  template <typename Reached>
  void serve_until(const Reached& reached);

  /// Values of awaited_rank() that are no rank.
  static constexpr int no_rank = -1;       ///< nothing is waited for
  static constexpr int unknown_rank = -2;  ///< one rank or several, not known which
  /// The next wait is for that rank of the group. Only for who reports on waits that do not end.
  void expect(int rank) { expected_rank_ = rank; }
  /// The rank that is waited for at this moment. From any thread.
  int awaited_rank() const { return std::atomic_ref(awaited_rank_).load(std::memory_order_relaxed); }

  /// Waits from now on in the possible_mode() for `mode`.
  void set_mode(WaitMode mode);
  void set_tick_source(TickSource ticks) { ticks_ = ticks; }
  WaitMode mode() const { return mode_; }
  /// Ticks spent waiting since the Waiter was made.
  uint64_t waited_ticks() const { return waited_ticks_; }
  /// The number of waits that were timed, each by two readings of the tick source.
  uint64_t wait_count() const { return wait_count_; }

 private:
  /// Calls pause() after each look in vain.
  template <typename Reached, typename Pause>
  void look_until(const Reached& reached, const Pause& pause);
  void wait_in_mpi(std::span<MPI_Request> requests);
  void record_awaited(int rank) { std::atomic_ref(awaited_rank_).store(rank, std::memory_order_relaxed); }

  WaitMode mode_;
  TickSource ticks_;
  uint64_t waited_ticks_ = 0;
  uint64_t wait_count_ = 0;
  int expected_rank_ = unknown_rank;    // in the next wait
  mutable int awaited_rank_ = no_rank;  // read by other threads, too
};

template <typename Reached, typename Pause>
void Waiter::look_until(const Reached& reached, const Pause& pause) {
  const uint64_t begin = ticks_ != nullptr ? ticks_() : 0;
  if (!reached()) {
    record_awaited(expected_rank_);
    do {
      pause();
    } while (!reached());
    record_awaited(no_rank);
  }
  expected_rank_ = unknown_rank;
  if (ticks_ != nullptr) {
    waited_ticks_ += ticks_() - begin;
    ++wait_count_;
  }
}

template <typename Reached, typename Sleep>
void Waiter::wait_until(const Reached& reached, const Sleep& sleep) {
  Pauses pauses(mode_);
  int64_t looks = 0;
  look_until(reached, [&] {
    if (mode_ == WaitMode::yield && ++looks > Pauses::yields_before_rest) {
      sleep();
    } else {
      pauses.pause(true);
    }
  });
}

template <typename Reached>
void Waiter::wait_until(const Reached& reached) {
  Pauses pauses(mode_);
  look_until(reached, [&] { pauses.pause(true); });
}

template <typename Reached>
void Waiter::serve_until(const Reached& reached) {
  constexpr int naps_per_wait = 10 * Pauses::usual_naps;
  Pauses pauses(mode_, naps_per_wait);
  look_until(reached, [&] { pauses.pause(true); });
}

}  // namespace cg2d::comm
