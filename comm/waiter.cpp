#include "comm/waiter.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/doorbells.hpp"
#include "comm/mpi_handles.hpp"

namespace cg2d::comm {
namespace {

// Even a rank with a core of its own yields in the end, since other programs may want that core. A poll takes
// about 0.1 us, so this is far beyond any message that is under way.
constexpr std::int64_t polls_before_yield_when_spinning = 10'000;

// A yield may give way to nobody (see doorbells.hpp). Where no partner can ring, a rank that waits for longer
// takes short naps.
constexpr std::int64_t yields_before_nap = 20;

// Several messages may have come with one ring, and one poll takes only a few of them out of MPI's queues
// (UCX begins with one and takes more while it finds more).
constexpr std::int64_t polls_per_ring = 8;

// Each nap of a sleeping rank ends with a poll of some microseconds on a core that works: 14 ranks that nap
// for 10 ms take about 1 % of it.
constexpr std::chrono::microseconds shortest_nap{20};
constexpr std::chrono::microseconds longest_nap{10'000};
constexpr int naps_per_wait = 10;

/// Leaves the core's units to its other hardware thread for a moment.
void relax_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

/// Polls until all requests are complete, with pause(number of polls so far) after each poll in vain.
template <typename Pause>
void Waiter::poll(std::span<MPI_Request> requests, const Pause& pause) {
  const std::uint64_t begin = ticks_ != nullptr ? ticks_() : 0;
  for (std::int64_t polls = 1;; ++polls) {
    int complete = 0;
    check(MPI_Testall(int_count(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (complete != 0) break;
    pause(polls);
  }
  if (ticks_ != nullptr) {
    waited_ticks_ += ticks_() - begin;
    ++wait_count_;
  }
}

void Waiter::wait_all(std::span<MPI_Request> requests) {
  if (requests.empty()) return;
  if (mode_ == WaitMode::sleep) {
    const auto start = std::chrono::steady_clock::now();
    return poll(requests, [=](std::int64_t) {
      const std::chrono::nanoseconds nap = (std::chrono::steady_clock::now() - start) / naps_per_wait;
      std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(nap, shortest_nap, longest_nap));
    });
  }
  if (mode_ == WaitMode::spin) {
    return poll(requests, [](std::int64_t polls) {
      if (polls > polls_before_yield_when_spinning) sched_yield();
    });
  }
  poll(requests, [](std::int64_t polls) {
    if (polls <= yields_before_nap) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(shortest_nap);
    }
  });
}

void Waiter::nap() { std::this_thread::sleep_for(shortest_nap); }

void Waiter::pause_between_looks(std::int64_t looks) {
  // A look with its pause takes some 50 ns.
  constexpr std::int64_t looks_before_yield = 2 * polls_before_yield_when_spinning;
  if (mode_ == WaitMode::sleep) {
    nap();
  } else if (looks > looks_before_yield) {
    sched_yield();
  } else {
    relax_core();
  }
}

void Waiter::wait(MPI_Request request, Doorbells& bells, Bell bell) {
  if (mode_ != WaitMode::yield) return wait_all({&request, 1});
  // Read before the polls that follow, so that no ring after them is missed.
  std::uint32_t rung = bells.rung(bell);
  std::int64_t polls_since = 0;
  poll({&request, 1}, [&](std::int64_t) {
    if (++polls_since < polls_per_ring) return;
    bells.sleep_unless_rung(bell, rung);
    rung = bells.rung(bell);
    polls_since = 0;
  });
}

}  // namespace cg2d::comm
