// Groups of events by purpose, resolved with made-up lists of what a processor has.

#include "cg/timing/events.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cg/base/errors.hpp"

namespace cg2d::event_groups_test {
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
}

TEST(GroupTableTest, FitsIntoOneRun) {
  const auto all = resolve_groups(group_names(), [](const auto&) { return std::string(); });
  EXPECT_LE(all.names.size(), most_counted_events);
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
    try {
      require_known_events({"perf::TASK-CLOCK", "cache", "PAPI_TOT_CYC", name}, "--papi", group_names());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message_for("perf::CONTEXT-SWITCHS").find("did you mean perf::CONTEXT-SWITCHES?"),
            std::string::npos);
  EXPECT_NE(message_for("papi_tot_inst").find("did you mean PAPI_TOT_INS?"), std::string::npos);
  EXPECT_NE(message_for("cahce").find("did you mean cache?"), std::string::npos);
  EXPECT_NE(message_for("perf::CYCLE").find("did you mean perf::CYCLES?"), std::string::npos);
  EXPECT_EQ(message_for("QQQQQQQQQQQQ").find("did you mean"), std::string::npos);
  // These exist, whether or not they can be counted here.
  for (const auto* name : {"perf::CS", "perf::INSTRUCTIONS", "PAPI_L3_TCM", "software", "perf::CYCLES:u=1"})
    EXPECT_EQ(message_for(name), "") << name;
}

}  // namespace
}  // namespace cg2d::event_groups_test
