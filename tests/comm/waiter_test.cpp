// Waiting for a thread that takes long: the core is left to others.

#include "comm/waiter.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

namespace cg2d::comm::waiter_test {
namespace {

double processor_time_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Processor time that this thread takes to wait for 200 ms.
double cost_of_waiting_s(WaitMode mode) {
  Waiter waiter(mode);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    is_over = true;
  });
  const double before = processor_time_s();
  waiter.wait_until([&] { return is_over.load(); });
  const double cost = processor_time_s() - before;
  other.join();
  return cost;
}

TEST(Waiter, ALongWaitLeavesTheCoreToOthersInEveryMode) {
  // Some 300 us of looking, and then some 300 naps of up to 1 ms (in block mode 1300), which cost 10 us each, on virtual machines 40 us. A rank
  // that spins or yields takes all 200 ms.
  for (const auto mode : {WaitMode::spin, WaitMode::yield, WaitMode::sleep, WaitMode::block})
    EXPECT_LT(cost_of_waiting_s(mode), 0.1) << static_cast<int>(mode);
}

TEST(Waiter, AShortWaitIsNotProlonged) {
  // Looks come without naps for the first 100 us, so a wait for a few looks takes no longer than these.
  Waiter waiter(WaitMode::spin);
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int repeat = 0; repeat < 100; ++repeat) {  // the shortest: a crowded machine prolongs some
    int looks = 0;
    const auto start = std::chrono::steady_clock::now();
    waiter.wait_until([&] { return ++looks > 50; });
    shortest = std::min(shortest, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(shortest, std::chrono::microseconds(20));
}

/// Times that this thread went to sleep, yields not counted.
long sleep_count() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Waiter, ARankThatCanBeWokenTakesNoNapsBefore) {
  // Naps end by timers, so ranks that nap interrupt those that they wait for on the same core.
  Waiter waiter(WaitMode::yield);
  bool is_woken = false;
  const auto before = sleep_count();
  waiter.wait_until([&] { return is_woken; }, [&] { is_woken = true; });
  EXPECT_EQ(sleep_count(), before);
}

}  // namespace
}  // namespace cg2d::comm::waiter_test
