// The end of a program whose MPI does not end.

#include "cg/run/watch/exit_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "cg/base/interrupt.hpp"

namespace cg2d::exit_watch_test {
namespace {

using std::chrono::milliseconds;

TEST(ExitWatch, HoldsTheThreadWhenTheTimeIsOverAndLeavesWithTheCodeAndTheLastWords) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        const auto watch = watch_exit(ExitCode::verification_failed, milliseconds(20), "left without it");
        // Long after the limit, and well before the process leaves.
        std::this_thread::sleep_for(milliseconds(20) + holding_time / 2);
        std::fputs("the thread goes on\n", stderr);
        std::this_thread::sleep_for(std::chrono::minutes(1));
      },
      testing::ExitedWithCode(82), "^cg2d: left without it\n$");
}

TEST(ExitWatch, DoesNothingWhenItGoesInTime) {
  const auto start = std::chrono::steady_clock::now();
  { const auto watch = watch_exit(ExitCode::internal, milliseconds(200), "not in time"); }
  // The watch must not be waited for; and it must be gone, or this process would end with 70.
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(200));
  std::this_thread::sleep_for(milliseconds(300));
}

TEST(InterruptWatch, TakesTheEchoOfASignalForTheSameRequest) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        const InterruptWatch watch;
        for (int k = 0; k < 2; ++k) std::raise(SIGTERM);
        if (watch.asked()) std::fputs("asked once\n", stderr);
        std::this_thread::sleep_for(milliseconds(1100));
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "^asked once\n$");
}

}  // namespace
}  // namespace cg2d::exit_watch_test
