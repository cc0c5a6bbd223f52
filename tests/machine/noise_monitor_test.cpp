// The monitor reads made-up files before and after a region, and takes the difference.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "comm/rank_group.hpp"
#include "support/mpi_test.hpp"
#include "support/system_tree.hpp"

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

TEST(NoiseMonitorTest, ARegionInWhichNoOtherLoadCouldShowIsNotCalledQuiet) {
  comm::RankGroup group(test::group().handle());
  auto environment = inspect_environment(group, 1);
  environment.oversubscribed = false;
  std::vector<RankQuiet> ranks(environment.ranks.size());
  for (auto& rank : ranks)
    rank = {.region_s = 5e-4, .most_delay_s = 0.0, .loop_before_s = 1e-4, .loop_after_s = 1e-4, .node = {}};
  ranks.front().node = {.is_read = true, .processor_count = 2};
  EXPECT_EQ(judge_quiet(ranks, environment).text(), "unknown: 0.5 ms are too short to tell");
  for (auto& rank : ranks) rank.region_s = 5.0;
  EXPECT_EQ(judge_quiet(ranks, environment).text(), "yes: machine otherwise idle");
}

TEST(NoiseMonitorTest, EveryRankGetsTheSame) {
  comm::RankGroup group(test::group().handle());
  const auto environment = inspect_environment(group, 1);
  NoiseMonitor monitor(group, environment);
  monitor.begin();
  group.barrier();
  monitor.end();
  const auto reason = monitor.result().reason();
  for (const auto& other : group.gather_all(reason)) EXPECT_EQ(other, reason);
}

}  // namespace
}  // namespace cg2d::noise_monitor_test
