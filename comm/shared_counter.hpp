#pragma once

// A counter in memory that several ranks (or threads) share: some count, others wait for a number.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "comm/waiter.hpp"

namespace cg2d::comm {

/// Zero bytes are a counter at 0. It has a cache line of its own, so that waiting for one does not slow down
/// counting on another.
///
/// 1. Writes before add_one() are seen after every wait_for() that needs it: additions release, the wait
///    acquires, and a later addition keeps the releases of those before it.
/// 2. Everybody waits for multiples of the same goal, so only an addition that reaches one wakes sleepers.
/// 3. No sleeper is missed: it announces itself, then looks at the number; an addition counts, then looks for
///    sleepers; both in one order (sequentially consistent), so one of the two sees the other. The system
///    compares the number once more before it puts the rank to sleep (futex).
class alignas(64) SharedCounter {
 public:
  /// Counts up by one; wakes the sleepers if that reaches a multiple of `goal`.
  void add_one(uint64_t goal);
  /// Returns when the count has reached `number`, a multiple of the goal. Polls, yields or sleeps as the
  /// waiter's mode says, and adds to its ticks.
  void wait_for(uint64_t number, Waiter& waiter);
  bool has_reached(uint64_t number) const { return count_.load(std::memory_order_acquire) >= number; }

  uint64_t count() const { return count_.load(std::memory_order_seq_cst); }
  /// Sleeps until somebody counts, unless the count has reached `number`; for `longest` at most.
  void sleep_before(uint64_t number, std::chrono::nanoseconds longest);

 private:
  std::atomic<uint64_t> count_;
  std::atomic<uint32_t> sleeper_count_;
};

}  // namespace cg2d::comm
