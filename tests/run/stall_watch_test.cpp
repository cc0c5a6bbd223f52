// The watch of iterations: what it says of a rank, and that it ends a run that stands still and no other.

#include "cg/run/watch/exit_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "cg/base/child_process.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/phase_timer.hpp"
#include "comm/waiter.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::stall_watch_test {
namespace {

using std::chrono::milliseconds;
using test::group;

/// The end of a run, without one.
struct End {
  std::atomic<int> code = 0;
  std::atomic<int> count = 0;

  [[nodiscard]] StallWatch::EndAll recorded() {
    return [this](ExitCode given) {
      code = static_cast<int>(given);
      ++count;
    };
  }
};

class StallWatchTest : public testing::Test {
 protected:
  End end;
  PhaseTimer timer;
  StepObservers observers;
};

/// Waits for what another thread does. A limit far above all times of the test.
bool comes(const std::function<bool()>& what) {
  for (int k = 0; k < 6'000; ++k) {
    if (what()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST_F(StallWatchTest, EndsOnEveryRankWhatStandsStill) {
  const StallWatch watch(0.1, end.recorded(), group(), timer, observers);
  EXPECT_TRUE(comes([&] { return end.count > 0; }));
  EXPECT_EQ(end.code, 85);
  EXPECT_EQ(end.count, 1);
}

/// Steps or phases come much more often than the limit, and together last several times as long.
TEST_F(StallWatchTest, DoesNotEndWhatIsSlow) {
  for (const bool makes_steps : {true, false}) {
    const StallWatch watch(1.0, end.recorded(), group(), timer, observers);
    const auto pause = [] { std::this_thread::sleep_for(milliseconds(100)); };
    for (int k = 0; k < 30 && makes_steps; ++k) {
      observers.before_step();
      pause();
      if (k % 2 == 0) observers.after_step({});
    }
    for (int k = 0; k < 30 && !makes_steps; ++k) {
      const auto timed = timer.scope(Phase::dot);
      pause();
    }
  }
  EXPECT_EQ(end.count, 0);
}

TEST_F(StallWatchTest, DoesNotEndWhatGoesOnWhileRanksSpeak) {
  // A rank that is resumed when the limit is over: the next step comes within the second in which ranks say what they wait for.
  constexpr double limit_s = 0.5;
  {
    const MemoryFile said;
    const RedirectedStreams redirected(STDOUT_FILENO, said.descriptor());
    const auto says = [&](std::string_view words) { return said.text().find(words) != std::string::npos; };
    const StallWatch watch(limit_s, end.recorded(), group(), timer, observers);
    EXPECT_TRUE(comes([&] { return says("no progress for 0.5 s"); }));
    // Ranks that notice it later have time to say so before the end.
    std::this_thread::sleep_for(milliseconds(300));
    // Steps come while the end is decided and afterwards, for more than the second that ranks take to speak.
    for (int k = 0; k < 30; ++k) {
      observers.before_step();
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_TRUE(says("goes on, so it does not end the run")) << said.text();
  }
  EXPECT_EQ(end.count, 0);
}

/// All of it is stopped for longer than the limit, as by a job scheduler.
TEST_F(StallWatchTest, DoesNotCountTheTimeOfASuspendedProcess) {
  std::string text;
  {
    const MemoryFile said;
    const RedirectedStreams redirected(STDOUT_FILENO, said.descriptor());
    const StallWatch watch(1.5, end.recorded(), group(), timer, observers);
    EXPECT_EQ(std::system("kill -STOP $PPID; sleep 2; kill -CONT $PPID"), 0);
    std::this_thread::sleep_for(milliseconds(500));  // for a look, not for the limit
    text = said.text();
  }
  EXPECT_EQ(text, "");
  EXPECT_EQ(end.count, 0);
}

TEST_F(StallWatchTest, SaysWhereTheRankIsAndWhomItWaitsFor) {
  StallWatch watch(1e6, end.recorded(), group(), timer, observers);
  EXPECT_EQ(watch.describe(), "CG step 0: between the phases, waits for no rank");
  observers.before_step();
  observers.before_step();
  {
    const auto timed = timer.scope(Phase::summation);
    EXPECT_EQ(watch.describe(), "CG step 2: summation, waits for no rank");
  }
  watch.begin_repeat(3, 10);
  watch.before_outer_step();
  observers.before_step();
  const std::string place = "run 3, outer iteration 11, CG step 1: between the phases, waits for ";
  for (const bool names_rank : {true, false}) {
    int looks = 0;
    std::string said;
    if (names_rank) group().waiter().expect(0);
    group().waiter().wait_until([&] {  // the second look is within the wait
      said = watch.describe();
      return ++looks > 1;
    });
    EXPECT_EQ(said, place + (names_rank ? "rank 0" : "other ranks"));
    EXPECT_EQ(watch.describe(), place + "no rank");
  }
}

TEST_F(StallWatchTest, IsNoObserverAfterItsEnd) {
  { const StallWatch watch(1e6, end.recorded(), group(), timer, observers); }
  observers.before_step();  // would touch freed memory, which the sanitizers find
  EXPECT_FALSE(observers.after_step({}));
  EXPECT_EQ(end.count, 0);
}

}  // namespace
}  // namespace cg2d::stall_watch_test
