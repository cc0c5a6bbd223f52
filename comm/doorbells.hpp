#pragma once

// How a rank that waits can sleep, and a rank that sends can wake it: one counter per rank in memory that the
// ranks of a node share.
//
// Messages stay MPI's. A doorbell only says "look again": with more ranks than cores a waiting rank that
// polls takes processor time from the ranks that it waits for. sched_yield does not always help: where every
// rank is a session of its own, as under MPICH's launcher, Linux may schedule sessions as groups (autogroup)
// and a yield then gives way to nobody outside of the group.

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "comm/rank_group.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

/// What a rank is told. Two bells, since a rank that waits for a message must not be woken by the news that
/// an earlier one of its own was taken.
enum class Bell { sent, taken };

/// The doorbells of a group; every rank of the group makes it at the same time.
class Doorbells {
 public:
  /// Collective over the group. On a node where shared memory cannot be had its ranks reach nobody.
  explicit Doorbells(RankGroup& group);

  /// Whether `rank` is on this node, so that the two can wake each other.
  [[nodiscard]] bool reaches(int rank) const { return bells_[static_cast<std::size_t>(rank)] != nullptr; }
  /// Makes `rank` look again, now or when it is about to sleep for this bell. No effect on ranks out of
  /// reach.
  void ring(Bell bell, int rank);

  /// How often a bell of mine has rung.
  [[nodiscard]] std::uint32_t rung(Bell bell) const;
  /// Sleeps until the bell has rung more often than `seen`, but a millisecond at most: MPI may need a rank's
  /// help for something that nobody rings for, such as the parts of a very long message.
  void sleep_unless_rung(Bell bell, std::uint32_t seen);

 private:
  struct Counter {
    std::atomic<std::uint32_t> rung;
    std::atomic<std::uint32_t> asleep;
  };
  /// One rank's bells, in a cache line of their own.
  struct alignas(64) Bells {
    std::array<Counter, 2> counters;  // by Bell
  };

  [[nodiscard]] Counter& counter(Bell bell, int rank) const {
    return bells_[static_cast<std::size_t>(rank)]->counters[static_cast<std::size_t>(bell)];
  }

  std::vector<int> node_ranks_;
  SharedSegment segment_;
  std::vector<Bells*> bells_;  // of every rank of the group; nullptr out of reach
  int my_rank_ = 0;
};

}  // namespace cg2d::comm
