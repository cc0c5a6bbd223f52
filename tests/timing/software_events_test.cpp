// Software events: their names, the threads that they are of, and those that are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cg/timing/events.hpp"

namespace cg2d::software_events_test {
namespace {

TEST(SoftwareEventTest, IsFoundByEveryNameThatPapiHasForIt) {
  for (const auto* name : {"perf::CONTEXT-SWITCHES", "CONTEXT-SWITCHES", "perf::CS", "perf::context-switches",
                           "perf::PERF_COUNT_SW_CONTEXT_SWITCHES", "perf::CONTEXT-SWITCHES:k=1"}) {
    const auto* event = find_software_event(name);
    ASSERT_NE(event, nullptr) << name;
    EXPECT_EQ(full_name(*event), "perf::CONTEXT-SWITCHES") << name;
  }
  for (const auto* name : {"perf::CONTEXT", "perf::CYCLES", "perf::", "", "PAPI_TOT_CYC", "perf::C"})
    EXPECT_EQ(find_software_event(name), nullptr) << name;
}

/// Without PAPI there are no counters.
class SoftwareEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!papi_version()) GTEST_SKIP() << "cg2d was built without PAPI";
  }
};

/// The calling thread's account is not that of another one; a process's is that of all of them.
TEST_F(SoftwareEventsTest, AreOfTheThreadOrOfTheProcess) {
  constexpr int64_t work_ns = 30'000'000;
  for (const auto scope : {UsageScope::thread, UsageScope::process}) {
    const EventCounters counters({"perf::TASK-CLOCK", "perf::CONTEXT-SWITCHES"}, false, scope);
    CounterValues before{};
    CounterValues after{};
    counters.read(before);
    std::thread([] {
      for (int k = 0; k < 500; ++k) std::this_thread::sleep_for(std::chrono::microseconds(20));
      while (system_usage(UsageScope::thread).processor_ns < work_ns) {
      }
    }).join();
    counters.read(after);
    EXPECT_EQ(after[0] - before[0] >= work_ns, scope == UsageScope::process);
    // A sleep may be over before the thread has left its core.
    EXPECT_EQ(after[1] - before[1] >= 250, scope == UsageScope::process);
  }
}

TEST_F(SoftwareEventsTest, RefuseWhatTheSystemDoesNotCount) {
  const EventCounters counters({"perf::CONTEXT-SWITCHES:u=1", "perf::ALIGNMENT-FAULTS", "perf::CS:x"}, false,
                               UsageScope::thread);
  EXPECT_TRUE(counters.event_names().empty());
  ASSERT_EQ(counters.refused().size(), 3U);
  for (const auto& event : counters.refused()) EXPECT_FALSE(event.reason.empty()) << event.name;
}

TEST_F(SoftwareEventsTest, KeepTheOrderThatWasAskedFor) {
  const std::vector<std::string> names{"perf::TASK-CLOCK", "perf::ALIGNMENT-FAULTS", "PAPI_TOT_INS",
                                       "perf::CPU-CLOCK"};
  EventCounters counters(names, false, UsageScope::thread);
  std::vector<std::string> all = counters.event_names();
  EXPECT_TRUE(
      std::ranges::is_sorted(all, {}, [&](const auto& name) { return std::ranges::find(names, name); }));
  for (const auto& event : counters.refused()) all.push_back(event.name);
  EXPECT_TRUE(std::ranges::is_permutation(all, names));
  CounterValues values{};
  counters.read(values);
  for (size_t event = 0; event < counters.event_names().size(); ++event)
    EXPECT_GT(values[event], 0) << counters.event_names()[event];
}

}  // namespace
}  // namespace cg2d::software_events_test
