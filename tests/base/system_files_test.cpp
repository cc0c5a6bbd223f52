// Figures of the system from made-up trees of files, and from none.

#include "cg/base/system_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/system_tree.hpp"

namespace cg2d::system_files_test {
namespace {

using test::SystemTree;

TEST(SystemFilesTest, TimesOfANode) {
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

TEST(SystemFilesTest, SettingsOfProcessors) {
  const SystemTree tree;
  tree.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  EXPECT_EQ(frequency_governor(tree.folders()), "performance");
}

TEST(SystemFilesTest, WithoutFilesNothingIsKnown) {
  const SystemTree tree;
  const auto times = read_node_times(tree.folders());
  EXPECT_EQ(times.busy_s, 0.0);
  EXPECT_TRUE(times.steal_s.empty());
  EXPECT_TRUE(read_thread_delays(tree.folders()).empty());
  EXPECT_FALSE(frequency_governor(tree.folders()));
}

TEST(SystemFilesTest, FilesThatSayNonsenseAreNotBelieved) {
  const SystemTree tree;
  tree.write("proc/stat", "nothing\n");
  tree.write("proc/self/task/1/schedstat", "1 2\n");
  const auto times = read_node_times(tree.folders());
  EXPECT_TRUE(times.steal_s.empty());
  EXPECT_TRUE(read_thread_delays(tree.folders()).empty());
}

}  // namespace
}  // namespace cg2d::system_files_test
