#pragma once

// Doorbells let a rank sleep while it waits, and let the rank that sends wake it: counters of each rank in
// memory that the ranks of a node share. Messages stay MPI's; a doorbell only says "look again".
//
// With more ranks than cores a waiting rank that polls takes processor time from the ranks that it waits for.
// sched_yield does not always help: where every rank is a session of its own, as under MPICH's launcher,
// Linux may schedule sessions as groups (autogroup), and a yield then gives way to nobody outside of the
// group.

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"
#include "comm/shared_counter.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

/// The news that wake a rank: a message was sent to it, or one of its own was taken. They are two bells,
/// since a rank that waits for the one must not be woken by the other.
enum class Bell { sent, taken };

/// The doorbells of a group.
///
///     waits                                rings
///     1. seen = rung(bell)
///     2. looks for what it waits for       1. makes it true
///     3. sleep_unless_rung(bell, seen)     2. ring(bell, rank)
///
/// No ring is missed: one before 1. is followed by the look, one after it ends or prevents the sleep.
class Doorbells {
 public:
  /// Collective over the group. Where a node has no shared memory its ranks reach no other rank.
  explicit Doorbells(RankGroup& group)
      : node_ranks_(ranks_of_my_host(group)),
        segment_(group, node_ranks_, sizeof(Bells)),
        bells_(static_cast<size_t>(group.size()), nullptr) {
    if (!segment_.is_there()) return;
    for (size_t index = 0; index < node_ranks_.size(); ++index) {
      // Zero bytes are bells that have not rung.
      bells_[static_cast<size_t>(node_ranks_[index])] = reinterpret_cast<Bells*>(segment_.part(index));
    }
    my_rank_ = group.rank();
  }

  /// Whether `rank` is on this node, so that the two can wake each other.
  bool reaches(int rank) const { return bells_[static_cast<size_t>(rank)] != nullptr; }
  /// Wakes `rank` if it sleeps for this bell, or keeps it from doing so. No effect on ranks out of reach.
  void ring(Bell bell, int rank) {
    if (reaches(rank)) bell_of(bell, rank).add_one(1);
  }

  /// How often a bell of mine has rung.
  uint64_t rung(Bell bell) const { return bell_of(bell, my_rank_).count(); }
  /// Sleeps until the bell has rung more often than `seen`, but a millisecond at most: MPI may need calls of
  /// this rank for events that ring no bell, such as the parts of a very long message.
  void sleep_unless_rung(Bell bell, uint64_t seen) {
    constexpr std::chrono::milliseconds longest{1};
    bell_of(bell, my_rank_).sleep_before(seen + 1, longest);
  }

 private:
  using Bells = std::array<SharedCounter, 2>;  // by Bell

  SharedCounter& bell_of(Bell bell, int rank) const {
    return (*bells_[static_cast<size_t>(rank)])[static_cast<size_t>(bell)];
  }

  std::vector<int> node_ranks_;
  SharedSegment segment_;
  std::vector<Bells*> bells_;  // by rank of the group; nullptr: out of reach
  int my_rank_ = 0;
};

}  // namespace cg2d::comm
