// Groups of events by purpose, resolved with made-up lists of what a processor has; counted events.

#include "cg/timing/events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/report/phase_figures.hpp"
#include "support/error_of.hpp"
#include "support/mpi_test.hpp"

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

TEST(RequireKnownEventsTest, KnowsNamesThatCannotBeCountedHere) {
  if (!papi_version()) GTEST_SKIP() << "cg2d was built without PAPI, which knows these names";
  EXPECT_NO_THROW(require_known_events({"cache", "perf::CPU-MIGRATIONS", "PAPI_L3_TCM", "perf::CYCLES:u=1"},
                                       "--papi", group_names()));
}

// ---------------------------------------------------------------- names of software events

TEST(SoftwareEventTest, IsFoundWithAndWithoutPrefixAndMasks) {
  for (const auto* name : {"perf::CONTEXT-SWITCHES", "CONTEXT-SWITCHES", "perf::CONTEXT-SWITCHES:k=1"}) {
    const auto* event = find_software_event(name);
    ASSERT_NE(event, nullptr) << name;
    EXPECT_EQ(event->name, "perf::CONTEXT-SWITCHES") << name;
  }
  for (const auto* name : {"perf::CONTEXT", "perf::CYCLES", "perf::", "", "PAPI_TOT_CYC", "perf::C"})
    EXPECT_EQ(find_software_event(name), nullptr) << name;
}

// ---------------------------------------------------------------- counted events: names, kinds, derived rates, and real ones of the system

TEST(EventNamesTest, RefusesWhatIsNoList) {
  for (const auto* text : {"", ",", "A,", ",A", "A,,B", "A, B", "A,B,A"})
    EXPECT_THROW(event_names_from(text, "--papi"), InputError) << text;
  std::string many = "E";
  for (size_t k = 0; k < most_counted_events; ++k) many += ",E" + std::to_string(k);
  EXPECT_THROW(event_names_from(many, "--papi"), InputError);
  EXPECT_EQ(event_names_from("perf::A-B,C:u", "--papi"), (Names{"perf::A-B", "C:u"}));
}

TEST(EventKindTest, IsKnownByTheName) {
  for (const auto& [name, kind] : {std::pair("PAPI_TOT_CYC", EventKind::core_cycles),
                                   {"perf::CYCLES", EventKind::core_cycles},
                                   {"PAPI_REF_CYC", EventKind::reference_cycles},
                                   {"perf::REF-CYCLES", EventKind::reference_cycles},
                                   {"perf::INSTRUCTIONS:u=1:k=1", EventKind::instructions},
                                   {"PAPI_L1_LDM", EventKind::misses},
                                   {"perf::CACHE-MISSES", EventKind::misses},
                                   {"perf::TASK-CLOCK", EventKind::nanoseconds},
                                   {"perf::PAGE-FAULTS", EventKind::other}})
    EXPECT_EQ(event_kind(name), kind) << name;
}

/// Two ranks; event 0: 2 and 4 in multiply, 1 and 1 in dot, 4 and 8 in the region.
RunReport two_ranks(std::vector<std::string> names) {
  RunReport report;
  report.problem = Problem{};
  report.problem.niter = 1;
  report.nonzero_count = 3;
  report.counters.asked = names;
  report.counters.counted = std::move(names);
  report.ranks.resize(2);
  RepeatReport repeat;
  repeat.ranks.resize(2);
  repeat.counts.resize(2);
  for (size_t rank = 0; rank < 2; ++rank) {
    auto& counts = repeat.counts[rank];
    const auto factor = static_cast<int64_t>(rank + 1);
    counts.phases[static_cast<size_t>(Phase::multiply)] = {2 * factor, 10};
    counts.phases[static_cast<size_t>(Phase::dot)] = {1, 0};
    counts.region = {4 * factor, 20};
    counts.reading_count = 50;
    repeat.ranks[rank].region_clocks = 10'000;
    report.ranks[rank].clocks_per_reading = 20.0;
  }
  report.repeats.push_back(std::move(repeat));
  return report;
}

TEST(EventTotalsTest, MergesTheRanks) {
  const auto report = two_ranks({"PAPI_L2_TCM"});
  const auto totals = event_totals(phases_of(report), 0);
  const auto multiply = static_cast<size_t>(Phase::multiply);
  EXPECT_EQ(totals.phases[multiply].minimum, 2.0);
  EXPECT_EQ(totals.phases[multiply].mean, 3.0);
  EXPECT_EQ(totals.phases[multiply].maximum, 4.0);
  EXPECT_EQ(totals.phases[multiply].total, 6.0);
  EXPECT_EQ(totals.region_total, 12.0);
  EXPECT_DOUBLE_EQ(totals.coverage.value_or(0.0), 8.0 / 12.0);
  // 6 misses in 26 products of 3 nonzeros.
  EXPECT_DOUBLE_EQ(per_nonzero(phases_of(report), totals), 6.0 / (26.0 * 3.0));
  EXPECT_DOUBLE_EQ(reading_share(phases_of(report)), 50 * 20.0 / 10'000.0);
}

TEST(EventTotalsTest, FiguresAreOfAllRanks) {
  const auto report = two_ranks({"PAPI_TOT_INS", "PAPI_TOT_CYC"});
  const auto figures = counter_figures(phases_of(report));
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_DOUBLE_EQ(figures.front().phases[index_of(Phase::multiply)], 6.0 / 20.0);
}

TEST(DoubtTest, EventsThatStandStill) {
  auto report = two_ranks({"PAPI_L2_TCM", "perf::CPU-MIGRATIONS"});
  EXPECT_EQ(doubt_about(report.counters, report.repeats.front(), 0), "");
  for (auto& rank : report.repeats.front().counts) rank.region = {};
  test::expect_in(doubt_about(report.counters, report.repeats.front(), 0), "PAPI_L2_TCM counted nothing");
  EXPECT_EQ(doubt_about(report.counters, report.repeats.front(), 1), "");  // there may be none
}

/// Work of another thread is the rank's where a rank has several.
TEST(SetUpCountersTest, SeveralThreadsAreCountedTogether) {
  if (!papi_version()) GTEST_SKIP() << "cg2d was built without PAPI";
  constexpr int64_t work_ns = 30'000'000;
  for (const bool has_threads : {false, true}) {
    const auto setup = set_up_counters({"perf::CONTEXT-SWITCHES:u=1", "perf::TASK-CLOCK"},
                                       {.has_threads = has_threads}, test::group());
    ASSERT_EQ(setup.refused.size(), 1U) << "software events have no masks";
    CounterValues before{};
    CounterValues after{};
    setup.counters->read(before);
    std::thread([] {
      while (system_usage(UsageScope::thread).processor_ns < work_ns) {
      }
    }).join();
    setup.counters->read(after);
    EXPECT_EQ(after[0] - before[0] >= work_ns, has_threads);
  }
}

TEST(PhaseCountersTest, EventsBelongToThePhaseBeforeTheReading) {
  if (!papi_version()) GTEST_SKIP() << "cg2d was built without PAPI";
  EventCounters counters({"perf::TASK-CLOCK"}, false, UsageScope::thread);
  PhaseCounters phases(counters);
  constexpr int64_t work_ns = 1'000'000;
  const auto work = [] {
    const auto end_ns = system_usage(UsageScope::thread).processor_ns + work_ns;
    while (system_usage(UsageScope::thread).processor_ns < end_ns) {
    }
  };
  phases.begin_region();
  for (int k = 0; k < 3; ++k) phases.after_phase(Phase::dot, 0, 1);
  work();
  phases.after_phase(Phase::multiply, 0, 1);
  work();
  phases.leave_out();
  phases.end_region();
  const auto& counts = phases.counts();
  EXPECT_EQ(counts.reading_count, 5U);
  const auto multiply = counts.phases[index_of(Phase::multiply)][0];
  EXPECT_GE(multiply, work_ns);
  EXPECT_GE(counts.region[0], multiply + work_ns);
}

}  // namespace
}  // namespace cg2d::events_test
