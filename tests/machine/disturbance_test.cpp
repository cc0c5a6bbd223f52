// The criteria for a disturbed region, on made-up figures: no verdict depends on the machine that runs this.

#include "cg/machine/noise_monitor.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cg2d::disturbance_test {
namespace {

/// Ranks on nodes of 4 processors; a region of 10 s in which every rank computes, and nothing else.
struct Region {
  Environment environment;
  std::vector<RankQuiet> ranks;

  explicit Region(const std::vector<int>& ranks_of_nodes) {
    for (size_t node = 0; node < ranks_of_nodes.size(); ++node) {
      environment.nodes.emplace_back();
      for (int k = 0; k < ranks_of_nodes[node]; ++k) {
        environment.ranks.push_back({.processors = "0-3", .node = static_cast<int>(node)});
        RankQuiet rank;
        rank.region_s = rank.cpu_s = 10.0;
        rank.most_delay_s = 0.0;
        rank.loop_before_s = rank.loop_after_s = 1e-4;
        if (k == 0)
          rank.node = {.is_read = true, .busy_s = 10.0 * ranks_of_nodes[node], .processor_count = 4};
        ranks.push_back(rank);
      }
    }
  }

  QuietResult judged() const { return judge_quiet(ranks, environment); }

  void expect_only(const std::string& part) const {
    const auto quiet = judged();
    ASSERT_EQ(quiet.disturbances.size(), 1U) << quiet.reason();
    EXPECT_NE(quiet.reason().find(part), std::string::npos) << quiet.reason();
  }
  void expect_quiet() const { EXPECT_EQ(judged().reason(), ""); }
};

TEST(DisturbanceTest, NothingElseIsQuiet) {
  const Region region({2, 1});
  const auto quiet = region.judged();
  EXPECT_FALSE(quiet.is_disturbed()) << quiet.reason();
  EXPECT_EQ(quiet.delay_share, 0.0);
  EXPECT_EQ(quiet.other_load, 0.0);
  EXPECT_EQ(quiet.loop_spread, 0.0);
}

TEST(DisturbanceTest, AThreadThatWaitsForAProcessor) {
  Region region({2, 1});
  region.ranks[2].most_delay_s = 0.19;
  region.expect_quiet();
  region.ranks[2].most_delay_s = 0.25;
  region.expect_only("waited 2.5 % of the time");
}

TEST(DisturbanceTest, SwitchesAreCountedPerSecondOfComputing) {
  Region region({2});
  region.ranks[0].involuntary_switches = 20;
  region.ranks[1].involuntary_switches = 10;
  region.ranks[1].cpu_s = 2.0;
  EXPECT_DOUBLE_EQ(region.judged().switches_per_s, 5.0);
  EXPECT_EQ(region.judged().involuntary_switches, 30);
}

TEST(DisturbanceTest, TimeOfOtherProcesses) {
  Region region({2, 1});
  region.ranks[2].node.busy_s += 15.0;
  region.expect_only("other processes kept 1.4");  // 1.5 processors, less the uncertainty of ticks
  EXPECT_GT(*region.judged().other_share, 0.3);
  region.ranks[2].node.busy_s = 10.5;  // 1.3 % of 4 processors
  region.expect_quiet();
  region.ranks[2].node.busy_s = 1.0;  // less than the ranks' own: the system counts in ticks
  EXPECT_EQ(region.judged().other_load, 0.0);
}

TEST(DisturbanceTest, AFewTicksOfAShortRegionProveNothing) {
  Region region({1});
  region.ranks[0].region_s = 0.02;
  region.ranks[0].cpu_s = 0.02;
  region.ranks[0].node.busy_s = 0.05;  // more than the processors have
  region.ranks[0].node.most_steal_s = 0.01;
  region.expect_quiet();
}

TEST(DisturbanceTest, Steal) {
  Region region({1, 1});
  region.ranks[1].node.most_steal_s = 0.5;
  region.expect_only("the hypervisor took 4.8 %");
  region.ranks[1].node.most_steal_s = 0.1;
  region.expect_quiet();
}

TEST(DisturbanceTest, LoopsOfRanksOnOneNodeAreCompared) {
  Region region({2, 1});
  region.ranks[2].loop_before_s = region.ranks[2].loop_after_s = 3e-4;  // another node, another processor
  region.expect_quiet();
  region.ranks[1].loop_before_s = region.ranks[1].loop_after_s = 1.2e-4;
  region.expect_only("CPU speed differs by 20.0 % between ranks of a node");
  region.environment.nodes[0].has_like_processors = false;  // large and small cores
  region.expect_quiet();
}

TEST(DisturbanceTest, ALoopThatChanges) {
  Region region({1, 1});
  region.ranks[1].loop_after_s = 1.05e-4;
  region.expect_quiet();
  region.ranks[1].loop_after_s = 0.8e-4;
  region.expect_only("CPU speed changed by +25.0 % during the run");
  region.ranks[1].loop_after_s = 1.3e-4;
  region.expect_only("CPU speed changed by -23.1 % during the run");
}

/// Ranks that share cores wait for each other, and switch all the time; other programs are still noticed.
TEST(DisturbanceTest, OversubscribedRanksDoNotDisturbThemselves) {
  Region region({8});
  region.environment.oversubscribed = true;
  for (auto& rank : region.ranks) {
    rank.cpu_s = 5.0;
    rank.most_delay_s = 5.0;
    rank.involuntary_switches = 5000;
    rank.loop_after_s = 3e-4;
  }
  region.ranks[0].node.busy_s = 40.0;
  const auto quiet = region.judged();
  EXPECT_EQ(quiet.reason(), "");
  EXPECT_TRUE(quiet.is_oversubscribed);
  EXPECT_EQ(quiet.delay_share, 0.5) << "the figures are shown all the same";
  for (auto& rank : region.ranks) rank.cpu_s = 4.0;
  region.expect_only("other processes kept 0.7");
}

TEST(DisturbanceTest, AWaitThatBeganBeforeAShortRegionIsNoMoreThanAllOfIt) {
  Region region({1});
  region.ranks[0].most_delay_s = 58.5;
  region.ranks[0].node.most_steal_s = 20.0;
  const auto quiet = region.judged();
  EXPECT_EQ(quiet.delay_share, 1.0);
  EXPECT_EQ(quiet.steal_share, 1.0);
}

}  // namespace
}  // namespace cg2d::disturbance_test
