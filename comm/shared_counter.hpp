#pragma once

// A counter in memory that several ranks (or threads) share: some count up, others wait for a number.

#include <atomic>
#include <cstdint>

#include "comm/waiter.hpp"

namespace cg2d::comm {

/// Zero bytes are a counter at 0. In a cache line of its own, so that who waits for one does not slow down
/// who counts on another. What is written in front of add() is seen behind a wait_for() that it ends: an
/// addition releases, the wait acquires, and a chain of additions keeps the releases of all before it.
class alignas(64) SharedCounter {
 public:
  /// Counts up by one. Where that makes a multiple of `goal`, those that sleep are woken: nobody waits for
  /// other numbers.
  void add(std::uint64_t goal);
  /// Returns when it has been counted up to `number`, a multiple of the goal, or beyond. Polls; gives the
  /// processor away, or sleeps, as the waiter's mode says. Adds to the waiter's ticks.
  void wait_for(std::uint64_t number, Waiter& waiter);
  [[nodiscard]] bool has_reached(std::uint64_t number) const {
    return count_.load(std::memory_order_acquire) >= number;
  }

 private:
  void sleep_before(std::uint64_t number);

  std::atomic<std::uint64_t> count_;
  std::atomic<std::uint32_t> sleeper_count_;
};

}  // namespace cg2d::comm
