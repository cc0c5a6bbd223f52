#include "comm/waiter.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>

#include "comm/doorbells.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d::comm {
namespace {

using std::chrono::microseconds;

// Ranks with a core each wait a few microseconds for a message that is under way, and rarely more than 100
// for a rank that has more to do. A rank that waits for longer may be in the way of the one it waits for: of
// another host, container or program on the same cores, which no affinity mask tells.
constexpr microseconds spin_time{100};
// A yield may give way to nobody (see doorbells.hpp), so this does not last long either.
constexpr microseconds spin_and_yield_time{200};
// Looks before the clock is read for the first time: most waits are over by then.
constexpr int64_t looks_without_clock = 32;

// Several messages may have come with one ring, and one poll takes only a few of them out of MPI's queues
// (UCX begins with one and takes more while it finds more).
constexpr int64_t polls_per_ring = 8;

constexpr microseconds shortest_nap{20};
constexpr microseconds longest_nap{1'000};
// In sleep mode. Each nap ends with a poll of some microseconds on a core that works: 14 ranks that nap for
// 10 ms take about 1 % of it.
constexpr microseconds longest_nap_beside_work{10'000};

/// Leaves the core's units to its other hardware thread for a moment.
void relax_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// As sched_setattr(2) takes it; the C library has no type for it.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // the slice, ns; 0: the system's
  uint64_t deadline = 0;
  uint64_t period = 0;
};

/// Makes the waiting of this thread, and of threads that it starts later, end in time: for naps, and beside
/// other programs on the same cores. Its share of the cores stays the same, and a core of its own, too.
/// Systems that do not know it go on as before.
void wake_in_time() {
  // Else Linux prolongs naps by 50 us, to wake several threads at once.
  constexpr unsigned long timer_slack_ns = 1'000;
  prctl(PR_SET_TIMERSLACK, timer_slack_ns);
  // Since Linux 6.12 a thread that wakes comes before one with a longer slice (3 ms by default). Class S on 3
  // hosts with 2 ranks each, 4 cores for all beside 25 processes (2026-11-22, medians): native 11.8 s without,
  // 1.9 s with it; put more than 30 s without, 12.9 s with it.
  constexpr uint64_t slice_ns = 100'000;
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER || attributes.runtime < slice_ns) return;  // somebody's decision
  attributes.runtime = slice_ns;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

bool are_complete(std::span<MPI_Request> requests) {
  int complete = 0;
  check(MPI_Testall(int_count(requests.size()), requests.data(), &complete, MPI_STATUSES_IGNORE),
        "MPI_Testall");
  return complete != 0;
}

}  // namespace

void Pauses::pause(bool is_memory) {
  ++looks_;
  if (mode_ == WaitMode::block) return give_way();
  if (mode_ == WaitMode::sleep) return nap();
  if (mode_ == WaitMode::yield) {
    if (looks_ > yields_before_rest) return nap();
    sched_yield();
    return;
  }
  if (looks_ > looks_without_clock) {
    if (looks_ == looks_without_clock + 1) start_ = Clock::now();
    const auto waited = Clock::now() - start_;
    if (waited > spin_and_yield_time) return nap();
    if (waited > spin_time) {
      sched_yield();
      return;
    }
  }
  if (is_memory) relax_core();
}

void Pauses::nap() {
  const auto now = Clock::now();
  if (start_ == Clock::time_point{}) start_ = now;
  const auto longest = mode_ == WaitMode::sleep ? longest_nap_beside_work : longest_nap;
  std::this_thread::sleep_for(
      std::clamp<Clock::duration>((now - start_) / naps_per_wait_, shortest_nap, longest));
}

Waiter::Waiter(WaitMode mode, TickSource ticks) : mode_(possible_mode(mode)), ticks_(ticks) {
  wake_in_time();
}

void Waiter::set_mode(WaitMode mode) { mode_ = possible_mode(mode); }

/// The pause is the wait itself.
void Waiter::wait_in_mpi(std::span<MPI_Request> requests) {
  bool is_over = false;
  look_until([&] { return is_over; },
             [&] {
               check(MPI_Waitall(int_count(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
                     "MPI_Waitall");
               is_over = true;
             });
}

void Waiter::wait_all(std::span<MPI_Request> requests) {
  if (requests.empty()) return;
  if (mode_ == WaitMode::block) return wait_in_mpi(requests);
  Pauses pauses(mode_);
  look_until([&] { return are_complete(requests); }, [&] { pauses.pause(false); });
}

void Waiter::wait(MPI_Request request, Doorbells& bells, Bell bell) {
  if (mode_ != WaitMode::yield) return wait_all({&request, 1});
  // Read before the polls that follow, so that no ring after them is missed.
  uint64_t rung = bells.rung(bell);
  int64_t polls_since = 0;
  const auto rest = [&] {
    if (++polls_since < polls_per_ring) return;
    bells.sleep_unless_rung(bell, rung);
    rung = bells.rung(bell);
    polls_since = 0;
  };
  look_until([&] { return are_complete({&request, 1}); }, rest);
}

}  // namespace cg2d::comm
