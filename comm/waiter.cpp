#include "comm/waiter.hpp"

#include <sched.h>

#include <chrono>

#include "comm/doorbells.hpp"
#include "comm/mpi_handles.hpp"

namespace cg2d::comm {
namespace {

// Even a rank with a core of its own yields in the end: other programs may want that core. A poll takes about
// 0.1 us, so this is far beyond any message that is under way.
constexpr std::int64_t polls_before_yield_when_spinning = 10'000;

// One poll takes one or a few messages out of MPI's queues (UCX begins with one and takes more while it finds
// more), and several may have come with one ring.
constexpr std::int64_t polls_per_ring = 8;

// MPI may need a rank's help for something that nobody rings for, such as the parts of a very long message.
constexpr std::chrono::microseconds longest_sleep{1000};

}  // namespace

void Waiter::wait_all(std::span<MPI_Request> requests, Doorbells* bells) {
  if (requests.empty()) return;
  const std::uint64_t begin = ticks_ != nullptr ? ticks_() : 0;
  for (std::int64_t polls = 1;; ++polls) {
    // Read before the poll, so that no later ring is missed.
    const std::uint32_t rung = bells != nullptr ? bells->rung() : 0;
    int complete = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (complete != 0) break;
    if (mode_ == WaitMode::spin) {
      if (polls > polls_before_yield_when_spinning) sched_yield();
    } else if (bells == nullptr) {
      sched_yield();
    } else if (polls % polls_per_ring == 0) {
      bells->sleep_unless_rung(rung, longest_sleep);
    }
  }
  if (ticks_ != nullptr) {
    waited_ticks_ += ticks_() - begin;
    ++wait_count_;
  }
}

}  // namespace cg2d::comm
