// Software events: names and masks, the trial that refuses what counts nothing, and the system's own account.

#include "cg/timing/software_events.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cg/timing/event_counters.hpp"

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

/// In both modes, by the kernel.
bool can_count(const std::string& name) { return why_not_counted(name).empty(); }

constexpr const char* why_skipped = "this system lets nobody count what happens in the kernel";

/// Switches, faults and processor time, each many times what the tolerance of 2 % leaves out.
void work() {
  constexpr std::size_t bytes = std::size_t{1000} * 4096;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t offset = 0; offset < bytes; offset += 4096)
    static_cast<volatile char*>(memory)[offset] = 1;
  munmap(memory, bytes);
  for (int k = 0; k < 500; ++k) std::this_thread::sleep_for(std::chrono::microseconds(20));
  const auto begin = system_usage(UsageScope::thread).processor_ns;
  while (system_usage(UsageScope::thread).processor_ns - begin < 30'000'000) {
  }
}

/// Counts by the kernel's counters, which events with masks come from, works, and compares with the system's account, which those without
/// come from. If it works elsewhere, another thread works, too, which belongs to the process only. No clocks: the kernel's leaves out the
/// switching itself.
void expect_agreement(UsageScope scope, bool works_elsewhere) {
  std::vector<std::string> names{"perf::CONTEXT-SWITCHES", "perf::PAGE-FAULTS", "perf::MINOR-FAULTS",
                                 "perf::MAJOR-FAULTS"};
  const auto count = names.size();
  for (std::size_t event = 0; event < count; ++event) names.push_back(names[event] + ":u=1:k=1");
  const EventCounters counters(names, false, scope);
  ASSERT_EQ(counters.event_names(), names);
  CounterValues before{};
  CounterValues after{};
  counters.read(before);
  work();
  if (works_elsewhere) std::thread(work).join();  // made after the counters: inherited by a process
  counters.read(after);
  const int workers = works_elsewhere && scope == UsageScope::process ? 2 : 1;
  EXPECT_GE(after[0] - before[0], 250 * workers);  // a sleep may be over before the thread has left its core
  EXPECT_GE(after[2] - before[2], 1000 * workers);
  for (std::size_t event = 0; event < count; ++event) {
    const auto account = after[event] - before[event];
    const auto counted = after[event + count] - before[event + count];
    // A few switches and faults lie between the two readings.
    EXPECT_LE(std::abs(counted - account), std::max<std::int64_t>(4, account / 50))
        << names[event] << ": " << counted << " counted, the OS total is " << account;
  }
}

TEST(SoftwareEventsTest, AgreeWithTheSystemsAccountOverAllThreads) {
  if (!can_count("perf::CONTEXT-SWITCHES:u=1:k=1")) GTEST_SKIP() << why_skipped;
  expect_agreement(UsageScope::process, true);
}

TEST(SoftwareEventsTest, AgreeWithTheSystemsAccountOfOneThread) {
  if (!can_count("perf::CONTEXT-SWITCHES:u=1:k=1")) GTEST_SKIP() << why_skipped;
  expect_agreement(UsageScope::thread, false);
  expect_agreement(UsageScope::thread, true);
}

TEST(SoftwareEventsTest, CountTheOthersWhereTheFirstIsRefused) {
  if (!can_count("perf::CONTEXT-SWITCHES:u=1:k=1")) GTEST_SKIP() << why_skipped;
  const EventCounters counters({"perf::CONTEXT-SWITCHES:u=1", "perf::MINOR-FAULTS:u=1:k=1"}, false,
                               UsageScope::thread);
  ASSERT_EQ(counters.event_names(), std::vector<std::string>{"perf::MINOR-FAULTS:u=1:k=1"});
  CounterValues before{};
  CounterValues after{};
  counters.read(before);
  work();
  counters.read(after);
  EXPECT_GE(after[0] - before[0], 1000);
}

TEST(SoftwareEventsTest, TriesEachEventFirst) {
  const EventCounters counters({"perf::TASK-CLOCK", "perf::CONTEXT-SWITCHES", "perf::PAGE-FAULTS"}, false,
                               UsageScope::thread);
  ASSERT_EQ(counters.event_names().size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_GT(counters.trial_count(k), 0);
}

/// In user mode alone there are no switches: this is what PAPI's own domain made of the event.
TEST(SoftwareEventsTest, RefuseWhatCountsNothing) {
  const EventCounters counters({"perf::CONTEXT-SWITCHES:u=1", "perf::ALIGNMENT-FAULTS", "perf::CS:x"}, false,
                               UsageScope::thread);
  EXPECT_TRUE(counters.event_names().empty());
  ASSERT_EQ(counters.refused().size(), 3U);
  for (const auto& event : counters.refused()) EXPECT_FALSE(event.reason.empty()) << event.name;
  if (!can_count("perf::CONTEXT-SWITCHES:u=1:k=1")) GTEST_SKIP() << why_skipped;
  const auto found = std::ranges::find(counters.refused(), "perf::CONTEXT-SWITCHES:u=1", &RefusedEvent::name);
  ASSERT_NE(found, counters.refused().end());
  EXPECT_NE(found->reason.find("counts nothing"), std::string::npos) << found->reason;
}

TEST(SoftwareEventsTest, LeaveTheThreadWhereItMayRun) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const EventCounters counters({"perf::CPU-MIGRATIONS"}, false, UsageScope::thread);
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
  if (counters.event_names().empty()) GTEST_SKIP() << counters.refused().front().reason;
  if (CPU_COUNT(&before) > 1) {
    EXPECT_GT(counters.trial_count(0), 0);
  }
}

TEST(EventCountersTest, KeepTheOrderThatWasAskedFor) {
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
  for (std::size_t event = 0; event < counters.event_names().size(); ++event)
    EXPECT_GT(values[event], 0) << counters.event_names()[event];
}

}  // namespace
}  // namespace cg2d::software_events_test
