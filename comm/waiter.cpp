#include "comm/waiter.hpp"

#include <sched.h>

#include "comm/mpi_handles.hpp"

namespace cg2d::comm {
namespace {

// Even a rank with a core of its own yields in the end: other programs may want that core. A poll takes about
// 0.1 us, so this is far beyond any message that is under way.
constexpr std::int64_t polls_before_yield_when_spinning = 10'000;

}  // namespace

void Waiter::pause_after(std::int64_t polls_in_vain) const {
  if (mode_ == WaitMode::yield || polls_in_vain > polls_before_yield_when_spinning) sched_yield();
}

void Waiter::wait_all(std::span<MPI_Request> requests) {
  if (requests.empty()) return;
  const std::uint64_t begin = ticks_ != nullptr ? ticks_() : 0;
  for (std::int64_t polls = 1;; ++polls) {
    int complete = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (complete != 0) break;
    pause_after(polls);
  }
  if (ticks_ != nullptr) {
    waited_ticks_ += ticks_() - begin;
    ++wait_count_;
  }
}

}  // namespace cg2d::comm
