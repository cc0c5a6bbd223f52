// Figures of the system from made-up trees of files, and from none.

#include "cg/base/system_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "support/temporary_folder.hpp"

namespace cg2d::system_files_test {
namespace {

using test::SystemTree;

TEST(SystemFilesTest, TimesAndSettingsOfANode) {
  const SystemTree tree;
  tree.write("proc/stat",
             "cpu  100 20 3 999 50 7 8 40 5 5\n"
             "cpu0 90 10 2 500 25 3 4 10 5 5\n"
             "cpu11 10 10 1 499 25 4 4 30 0 0\n"
             "intr 12345 0 0\n"
             "cpufoo 1 2 3\n");
  const auto times = read_node_times(tree.folders());
  const auto ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  // User, nice and system; neither waiting nor interrupts.
  EXPECT_DOUBLE_EQ(times.busy_s, 123.0 / ticks_per_s);
  ASSERT_EQ(times.steal_s.size(), 2U);
  EXPECT_DOUBLE_EQ(times.steal_s.at(0), 10.0 / ticks_per_s);
  EXPECT_DOUBLE_EQ(times.steal_s.at(11), 30.0 / ticks_per_s);
  tree.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(frequency_governor(tree.folders()), "performance");
}

TEST(SystemFilesTest, WaitingOfThreads) {
  const SystemTree tree;
  tree.write("proc/self/task/12/schedstat", "1000 2000000000 30\n");
  tree.write("proc/self/task/13/schedstat", "0 0 0\n");  // a kernel that does not count
  tree.write("proc/self/task/14/status", "Name: cg2d\n");
  tree.write("proc/self/task/notes/schedstat", "1 1 1\n");
  const auto delays = read_thread_delays(tree.folders());
  ASSERT_EQ(delays.size(), 1U);
  EXPECT_DOUBLE_EQ(delays.at(12).delay_s, 2.0);
  EXPECT_EQ(delays.at(12).slice_count, 30);
}

TEST(SystemFilesTest, WithoutFilesAndFromNonsenseNothingIsKnown) {
  const SystemTree tree;
  for (const bool has_files : {false, true}) {
    if (has_files) {
      tree.write("proc/stat", "nothing\n");
      tree.write("proc/self/task/1/schedstat", "1 2\n");
    }
    const auto times = read_node_times(tree.folders());
    EXPECT_EQ(times.busy_s, 0.0);
    EXPECT_TRUE(times.steal_s.empty());
    EXPECT_TRUE(read_thread_delays(tree.folders()).empty());
    EXPECT_FALSE(frequency_governor(tree.folders()));
  }
}

// ---------------------------------------------------------------- limits of control groups, read from made-up trees of both versions of the interface

class ControlGroupTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const { tree_.write(name, text + '\n'); }

  /// The limits of a process that is in these groups.
  ControlGroupLimits limits(const std::string& membership) const {
    write("proc/self/cgroup", membership);
    return control_group_limits(tree_.folders());
  }

  SystemTree tree_;
};

TEST_F(ControlGroupTest, NoFilesAreNoLimits) {
  const auto found = limits("0::/user.slice/session.scope");
  EXPECT_FALSE(found.available_bytes);
  EXPECT_FALSE(found.processors);
  EXPECT_FALSE(limits("").available_bytes);
  EXPECT_FALSE(limits("nonsense\n0:\n::").available_bytes);
}

TEST_F(ControlGroupTest, TheTightestOfAllGroupsUpToTheRootCounts) {
  write("sys/fs/cgroup/job/step/memory.max", "max");
  write("sys/fs/cgroup/job/step/memory.current", "100");
  write("sys/fs/cgroup/job/memory.max", "5000");  // the parent's
  write("sys/fs/cgroup/job/memory.current", "1200");
  write("sys/fs/cgroup/memory.max", "9000");
  write("sys/fs/cgroup/memory.current", "1500");
  EXPECT_EQ(limits("0::/job/step").available_bytes, 3800);
  write("sys/fs/cgroup/memory.max", "4000");  // the root's: all that a container sees
  EXPECT_EQ(limits("0::/job/step").available_bytes, 2500);
  EXPECT_EQ(limits("0::/../../elsewhere").available_bytes, 2500);
  EXPECT_EQ(limits("0::/").available_bytes, 2500);
}

TEST_F(ControlGroupTest, PageCacheIsAvailable) {
  write("sys/fs/cgroup/job/memory.max", "5000");
  write("sys/fs/cgroup/job/memory.current", "4800");
  write("sys/fs/cgroup/job/memory.stat", "anon 700\nfile 4100\ninactive_file 3000\nactive_file 1000");
  EXPECT_EQ(limits("0::/job").available_bytes, 4200);
  write("sys/fs/cgroup/job/memory.stat", "inactive_file 9999");  // counters lag behind each other
  EXPECT_EQ(limits("0::/job").available_bytes, 5000);
}

TEST_F(ControlGroupTest, TheLeastQuotaOfProcessorTimeCounts) {
  write("sys/fs/cgroup/job/step/cpu.max", "max 100000");
  write("sys/fs/cgroup/job/cpu.max", "200000 100000");
  write("sys/fs/cgroup/cpu.max", "350000 100000");
  EXPECT_EQ(limits("0::/job/step").processors, 2.0);
  EXPECT_EQ(limits("0::/other").processors, 3.5);
  write("sys/fs/cgroup/cpu.max", "0 0");
  EXPECT_FALSE(limits("0::/other").processors);
}

TEST_F(ControlGroupTest, VersionOneHasAFolderForEachController) {
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "100");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "4000");
  write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 500");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  const auto found = limits("5:memory:/job/step\n4:cpu,cpuacct:/job\n3:cpuset:/job");
  EXPECT_EQ(found.available_bytes, 1500);
  EXPECT_EQ(found.processors, 1.5);
}

}  // namespace
}  // namespace cg2d::system_files_test
