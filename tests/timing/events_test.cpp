// Groups of events by purpose, resolved with made-up lists of what a processor has.

#include "cg/timing/events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"

namespace cg2d::events_test {
namespace {

using Names = std::vector<std::string>;

WhyNot only(Names available) {
  return [available = std::move(available)](const std::string& name) {
    return std::ranges::count(available, name) > 0 ? std::string() : name + " is not here";
  };
}

TEST(GroupTableTest, NamesEveryRoleAndRowsStandAtTheirPlaces) {
  for (size_t place = 0; place < role_table().size(); ++place) {
    const auto& row = role_table()[place];
    EXPECT_EQ(static_cast<size_t>(row.role), place);
    EXPECT_FALSE(row.candidates.empty()) << row.description;
    EXPECT_TRUE(std::ranges::any_of(group_table(), [&](const auto& group) {
      return std::ranges::count(group.roles, row.role) > 0;
    })) << row.description;
  }
  EXPECT_EQ(group_names(), (Names{"cache", "flops", "stalls", "tlb", "branches", "software"}));
  const auto all = resolve_groups(group_names(), [](const auto&) { return std::string(); });
  EXPECT_LE(all.names.size(), most_counted_events) << "all of them fit into one run";
  EXPECT_TRUE(all.refused.empty());
}

TEST(ResolveGroupsTest, TakesTheFirstCandidateThatIsThere) {
  const auto resolved = resolve_groups(
      {"stalls"}, only({"perf::CYCLES", "PAPI_TOT_INS", "PAPI_TOT_CYC", "perf::STALLED-CYCLES-BACKEND"}));
  EXPECT_EQ(resolved.names, (Names{"PAPI_TOT_CYC", "PAPI_TOT_INS", "perf::STALLED-CYCLES-BACKEND"}));
  EXPECT_TRUE(resolved.refused.empty());
}

TEST(ResolveGroupsTest, NamesThePurposesThatNothingServes) {
  const auto resolved = resolve_groups({"branches"}, only({"perf::BRANCHES"}));
  EXPECT_EQ(resolved.names, (Names{"perf::BRANCHES"}));
  ASSERT_EQ(resolved.refused.size(), 1U);
  EXPECT_EQ(resolved.refused.front().name, "branches: mispredicted branches");
  EXPECT_EQ(resolved.refused.front().reason, "perf::BRANCH-MISSES is not here");
}

TEST(ResolveGroupsTest, TakesEachEventOnceAndLeavesOthersAlone) {
  const auto resolved = resolve_groups({"NO_MATTER", "flops", "stalls", "PAPI_TOT_CYC"},
                                       only({"PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_DP_OPS", "PAPI_RES_STL"}));
  EXPECT_EQ(resolved.names,
            (Names{"NO_MATTER", "PAPI_DP_OPS", "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_RES_STL"}));
}

TEST(FindRoleTest, KnowsEachCandidate) {
  EXPECT_EQ(find_role(EventRole::cycles, {"A", "perf::CYCLES"}), 1U);
  EXPECT_EQ(find_role(EventRole::cycles, {"perf::CYCLES", "PAPI_TOT_CYC"}), 1U);  // the preferred one
  EXPECT_FALSE(find_role(EventRole::cycles, {"PAPI_REF_CYC"}).has_value());
}

TEST(RequireKnownEventsTest, SaysWhichNameIsMeant) {
  if (!papi_version()) GTEST_SKIP() << "cg2d was built without PAPI, which knows these names";
  const auto message_for = [](const std::string& name) {
    return test::message_of([&] {
      require_known_events({"perf::TASK-CLOCK", "cache", "PAPI_TOT_CYC", name}, "--papi", group_names());
    });
  };
  EXPECT_NE(message_for("perf::CONTEXT-SWITCHS").find("did you mean perf::CONTEXT-SWITCHES?"),
            std::string::npos);
  EXPECT_NE(message_for("papi_tot_inst").find("did you mean PAPI_TOT_INS?"), std::string::npos);
  EXPECT_NE(message_for("cahce").find("did you mean cache?"), std::string::npos);
  EXPECT_NE(message_for("perf::CYCLE").find("did you mean perf::CYCLES?"), std::string::npos);
  EXPECT_EQ(message_for("QQQQQQQQQQQQ").find("did you mean"), std::string::npos);
  // These exist, whether or not they can be counted here.
  for (const auto* name :
       {"perf::CPU-MIGRATIONS", "perf::INSTRUCTIONS", "PAPI_L3_TCM", "software", "perf::CYCLES:u=1"})
    EXPECT_EQ(message_for(name), "no error") << name;
}

// ---------------------------------------------------------------- software events: their names, the threads that they are of, and those that are refused

TEST(SoftwareEventTest, IsFoundWithAndWithoutPrefixAndMasks) {
  for (const auto* name : {"perf::CONTEXT-SWITCHES", "CONTEXT-SWITCHES", "perf::CONTEXT-SWITCHES:k=1"}) {
    const auto* event = find_software_event(name);
    ASSERT_NE(event, nullptr) << name;
    EXPECT_EQ(event->name, "perf::CONTEXT-SWITCHES") << name;
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
  const EventCounters counters(
      {"perf::CONTEXT-SWITCHES:u=1", "perf::ALIGNMENT-FAULTS", "perf::CPU-MIGRATIONS"}, false,
      UsageScope::thread);
  EXPECT_TRUE(counters.event_names().empty());
  ASSERT_EQ(counters.refused().size(), 3U);
  for (const auto& event : counters.refused()) EXPECT_FALSE(event.reason.empty()) << event.name;
}

}  // namespace
}  // namespace cg2d::events_test
