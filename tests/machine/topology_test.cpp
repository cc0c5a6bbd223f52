// Sets of processors and their texts, and the cores and caches of this machine.

#include "cg/machine/environment.hpp"

#include <gtest/gtest.h>

namespace cg2d::topology_test {
namespace {

TEST(ProcessorSetTest, ReadsAndWritesTheListsOfLinux) {
  EXPECT_EQ(processors_from("0-3,8"), (ProcessorSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(processors_from("8,2-3,3"), (ProcessorSet{2, 3, 8}));
  EXPECT_EQ(processors_from(""), ProcessorSet{});
  EXPECT_EQ(list_of({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(list_of({5, 7, 8}), "5,7-8");
  EXPECT_EQ(list_of({}), "");
}

TEST(ProcessorSetTest, CommonAndAll) {
  EXPECT_EQ(common_processors({0, 1, 4}, {1, 4, 5}), (ProcessorSet{1, 4}));
  EXPECT_EQ(all_processors({0, 4}, {1, 4, 5}), (ProcessorSet{0, 1, 4, 5}));
}

TEST(TopologyTest, CoresAreNotEmptyAndShareNoProcessor) {
  const auto topology = machine_topology();
  EXPECT_FALSE(topology.processor.empty());
  ASSERT_FALSE(topology.cores.empty());
  ProcessorSet all;
  for (const auto& core : topology.cores) {
    EXPECT_FALSE(core.empty());
    EXPECT_TRUE(common_processors(all, core).empty());
    all = all_processors(all, core);
  }
  for (const auto& cache : topology.caches) {
    EXPECT_GE(cache.level, 1);
    EXPECT_GT(cache.byte_count, 0);
    EXPECT_LE(cache.shared_by_cores, static_cast<int>(topology.cores.size()));
  }
}

}  // namespace
}  // namespace cg2d::topology_test
