// The monitor reads made-up files before and after a region, and takes the difference.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "comm/rank_group.hpp"
#include "support/mpi_test.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::noise_monitor_test {
namespace {

void write_load(const test::SystemTree& tree, int busy_ticks, int steal_ticks, int64_t waiting_ms) {
  const auto line = std::to_string(busy_ticks) + " 0 0 0 0 0 0 " + std::to_string(steal_ticks) + "\n";
  tree.write("proc/stat", "cpu  " + line + "cpu0 " + line);
  tree.write("proc/self/task/1/schedstat", "1 " + std::to_string(waiting_ms) + "000000 1\n");
}

TEST(NoiseMonitorTest, DifferencesCountAndOnlyThoseOfTheRegion) {
  comm::RankGroup group(test::group().handle());
  auto environment = inspect_environment(group, 1);
  environment.oversubscribed = false;
  const test::SystemTree tree;
  NoiseMonitor monitor(group, environment, tree.folders());
  write_load(tree, 1000, 500, 1);
  monitor.begin();
  write_load(tree, 100'000'000, 50'000'000, 900'000'000);  // far beyond whatever the region takes
  monitor.end();
  const auto loud = monitor.result();
  for (const auto& other : group.gather_all(loud.reason())) EXPECT_EQ(other, loud.reason());
  EXPECT_TRUE(loud.is_disturbed());
  for (const std::string part : {"waited", "hypervisor", "other processes"})
    EXPECT_NE(loud.reason().find(part), std::string::npos) << part << " is not in " << loud.reason();
  EXPECT_GT(loud.loop_before_s.minimum, 0.0);
  EXPECT_GT(loud.loop_after_s.minimum, 0.0);
  // Nothing more happens.
  monitor.begin();
  monitor.end();
  const auto still = monitor.result();
  EXPECT_EQ(still.delay_share, 0.0);
  EXPECT_EQ(still.steal_share, 0.0);
  EXPECT_EQ(still.other_share, 0.0);
}

// ---------------------------------------------------------------- the criteria for a disturbed region, on made-up figures: no verdict depends on the machine that runs this

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
};

TEST(DisturbanceTest, EachIsNamedBeyondItsBound) {
  struct Case {
    std::vector<int> ranks_of_nodes;
    std::function<void(Region&)> change;
    std::string words;  ///< of the only disturbance; empty: quiet
  };
  const auto loops = [](size_t rank, double before_s, double after_s) {
    return [=](Region& region) {
      region.ranks[rank].loop_before_s = before_s;
      region.ranks[rank].loop_after_s = after_s;
    };
  };
  const std::vector<Case> cases{
      {{2, 1}, [](auto& region) { region.ranks[2].most_delay_s = 0.19; }, ""},
      {{2, 1}, [](auto& region) { region.ranks[2].most_delay_s = 0.25; }, "waited 2.5 % of the time"},
      // 1.5 processors, less the uncertainty of ticks; 1.3 % of 4 processors; and less than the ranks' own.
      {{2, 1}, [](auto& region) { region.ranks[2].node.busy_s = 25.0; }, "other processes kept 1.4"},
      {{2, 1}, [](auto& region) { region.ranks[2].node.busy_s = 10.5; }, ""},
      {{2, 1}, [](auto& region) { region.ranks[2].node.busy_s = 1.0; }, ""},
      // A few ticks of a short region prove nothing.
      {{1},
       [](auto& region) {
         region.ranks[0].region_s = region.ranks[0].cpu_s = 0.02;
         region.ranks[0].node.busy_s = 0.05;  // more than the processors have
         region.ranks[0].node.most_steal_s = 0.01;
       },
       ""},
      {{1, 1}, [](auto& region) { region.ranks[1].node.most_steal_s = 0.5; }, "the hypervisor took 4.8 %"},
      {{1, 1}, [](auto& region) { region.ranks[1].node.most_steal_s = 0.1; }, ""},
      {{2, 1}, loops(2, 3e-4, 3e-4), ""},  // another node, another processor
      {{2, 1}, loops(1, 1.2e-4, 1.2e-4), "CPU speed differs by 20.0 % between ranks of a node"},
      {{2, 1},
       [&](auto& region) {
         loops(1, 1.2e-4, 1.2e-4)(region);
         region.environment.nodes[0].has_like_processors = false;  // large and small cores
       },
       ""},
      {{1, 1}, loops(1, 1e-4, 1.05e-4), ""},
      {{1, 1}, loops(1, 1e-4, 0.8e-4), "CPU speed changed by +25.0 % during the run"},
      {{1, 1}, loops(1, 1e-4, 1.3e-4), "CPU speed changed by -23.1 % during the run"}};
  for (size_t k = 0; k < cases.size(); ++k) {
    Region region(cases[k].ranks_of_nodes);
    cases[k].change(region);
    const auto quiet = region.judged();
    EXPECT_EQ(quiet.disturbances.size(), cases[k].words.empty() ? 0U : 1U) << k << ": " << quiet.reason();
    EXPECT_NE(quiet.reason().find(cases[k].words), std::string::npos) << k << ": " << quiet.reason();
  }
}

TEST(DisturbanceTest, ARegionInWhichNoOtherLoadCouldShowIsNotCalledQuiet) {
  Region region({1});
  EXPECT_EQ(region.judged().text(), "yes: machine otherwise idle");
  region.ranks[0].region_s = 5e-4;
  region.ranks[0].node.busy_s = 0.0;
  EXPECT_EQ(region.judged().text(), "unknown: 0.5 ms are too short to tell");
}

TEST(DisturbanceTest, SwitchesAreCountedPerSecondOfComputing) {
  Region region({2});
  region.ranks[0].involuntary_switches = 20;
  region.ranks[1].involuntary_switches = 10;
  region.ranks[1].cpu_s = 2.0;
  EXPECT_DOUBLE_EQ(region.judged().switches_per_s, 5.0);
  EXPECT_EQ(region.judged().involuntary_switches, 30);
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
  EXPECT_NE(region.judged().reason().find("other processes kept 0.7"), std::string::npos);
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
}  // namespace cg2d::noise_monitor_test
