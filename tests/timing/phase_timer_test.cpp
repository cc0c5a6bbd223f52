// Phases as scopes around calls, and the clock that they read.

#include "cg/timing/phase_timer.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace cg2d::phase_timer_test {
namespace {

class PhaseTimerTest : public ::testing::Test {
 protected:
  const PhaseRecord& record_of(Phase phase) const { return timer_.records()[index_of(phase)]; }
  /// As long as the test says.
  void wait(uint64_t ticks) {
    waiter_.wait_until([ticks] {
      now_ += ticks;
      return true;
    });
  }

  static inline uint64_t now_ = 0;
  comm::Waiter waiter_{comm::WaitMode::spin, []() noexcept { return now_; }};
  PhaseTimer timer_{true, waiter_};
};

TEST_F(PhaseTimerTest, RecordsCallsClocksAndWaitingOfEachPhase) {
  const auto begin = read_cycle_counter();
  for (int k = 0; k < 3; ++k) {
    const auto scope = timer_.scope(Phase::summation);
    wait(100);
  }
  {
    const auto scope = timer_.scope(Phase::dot);
    wait(7);
  }
  {
    const auto scope = timer_.scope_that_goes_on(Phase::dot);
    wait(2);
  }
  wait(1000);  // outside of all phases
  const auto elapsed = read_cycle_counter() - begin;
  const auto& summation = record_of(Phase::summation);
  const auto& dot = record_of(Phase::dot);
  EXPECT_EQ(summation.calls, 3U);
  EXPECT_EQ(summation.waited_clocks, 300U);
  EXPECT_EQ(dot.calls, 1U);
  EXPECT_EQ(dot.waited_clocks, 9U);
  EXPECT_LE(summation.clocks + dot.clocks, elapsed);
  EXPECT_EQ(record_of(Phase::multiply).calls, 0U);
  timer_.reset();
  EXPECT_EQ(summation.calls + summation.clocks + summation.waited_clocks, 0U);
}

TEST_F(PhaseTimerTest, AddsUpWhatHidesAnotherPhase) {
  for (int k = 0; k < 2; ++k) {
    const auto scope = timer_.scope_that_hides(Phase::collection, Phase::multiply);
  }
  const auto& collection = record_of(Phase::collection);
  const auto& multiply = record_of(Phase::multiply);
  EXPECT_EQ(multiply.calls, 2U);
  EXPECT_GT(multiply.clocks, 0U);
  EXPECT_EQ(collection.hidden_clocks, multiply.clocks);
  EXPECT_EQ(collection.clocks, 0U);
  EXPECT_EQ(collection.calls, 0U);
  EXPECT_EQ(multiply.hidden_clocks, 0U);
  { const auto scope = timer_.scope(Phase::multiply); }
  EXPECT_LT(collection.hidden_clocks, multiply.clocks);
}

/// Keeps the records that it receives.
class PhaseList final : public PhaseObserver {
 public:
  void after_phase(Phase phase, uint64_t begin_clocks, uint64_t end_clocks) override {
    EXPECT_LE(begin_clocks, end_clocks);
    clocks += end_clocks - begin_clocks;
    phases.push_back(phase);
  }

  std::vector<Phase> phases;
  uint64_t clocks = 0;
};

TEST_F(PhaseTimerTest, TellsObserversOfEachPhaseWhileTheyAreAttached) {
  PhaseList first;
  PhaseList second;
  { const auto scope = timer_.scope(Phase::shuffle); }
  timer_.attach(first);
  { const auto scope = timer_.scope(Phase::dot); }
  timer_.attach(second);
  { const auto scope = timer_.scope_that_hides(Phase::collection, Phase::multiply); }
  timer_.detach(first);
  { const auto scope = timer_.scope(Phase::summation); }
  EXPECT_EQ(first.phases, (std::vector{Phase::dot, Phase::multiply}));
  EXPECT_EQ(second.phases, (std::vector{Phase::multiply, Phase::summation}));
  // The clocks of the records.
  EXPECT_EQ(first.clocks, record_of(Phase::dot).clocks + record_of(Phase::multiply).clocks);
}

TEST_F(PhaseTimerTest, ATimerThatIsOffRecordsNothingAndTellsNobody) {
  PhaseTimer disabled(false, waiter_);
  PhaseTimer off;
  for (auto* timer : {&disabled, &off}) {
    PhaseList list;
    timer->attach(list);
    { const auto scope = timer->scope(Phase::dot); }
    EXPECT_TRUE(list.phases.empty());
    const auto& dot = timer->records()[index_of(Phase::dot)];
    EXPECT_EQ(dot.calls + dot.clocks + dot.waited_clocks, 0U);
    timer->detach(list);
  }
  EXPECT_EQ(off.measure_clocks_per_scope(), 0.0);
}

// ---------------------------------------------------------------- the counter of reference cycles, however busy the machine is

TEST(ClocksPerSecondTest, AgreesWithTheMonotonicClock) {
  if (!cycle_counter_is_invariant()) GTEST_SKIP() << "the counter follows the core's frequency here";
  using Clock = std::chrono::steady_clock;
  // A window of its own, read in the other order.
  const auto start_time = Clock::now();
  const auto start_ticks = read_cycle_counter();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto end_ticks = read_cycle_counter();
  const auto end_time = Clock::now();
  const double expected = static_cast<double>(end_ticks - start_ticks) /
                          std::chrono::duration<double>(end_time - start_time).count();
  // Both see one counter and one clock: 1 % of 50 ms is 0.5 ms between the two readings at an end. Where the
  // processor is taken away for longer than that, more than once, the test would fail; it takes the window
  // again.
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (std::abs(clocks_per_second() - expected) <= 0.01 * expected) break;
  }
  EXPECT_NEAR(clocks_per_second(), expected, 0.01 * expected);
}

}  // namespace
}  // namespace cg2d::phase_timer_test
