// Cores and caches from made-up files, the texts of sets of processors, and the files against hwloc on this machine.

#include "cg/machine/topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "support/system_tree.hpp"

namespace cg2d::topology_test {
namespace {

using test::SystemTree;

TEST(ProcessorSetTest, ReadsAndWritesTheListsOfLinux) {
  EXPECT_EQ(processors_from("0-3,8"), (ProcessorSet{0, 1, 2, 3, 8}));
  EXPECT_EQ(processors_from("8,2-3,3"), (ProcessorSet{2, 3, 8}));
  EXPECT_EQ(processors_from(""), ProcessorSet{});
  EXPECT_EQ(processors_from("1,x"), ProcessorSet{1});
  EXPECT_EQ(processors_from("nothing"), ProcessorSet{});
  EXPECT_EQ(list_of({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(list_of({5, 7, 8}), "5,7-8");
  EXPECT_EQ(list_of({}), "");
}

TEST(ProcessorSetTest, CommonAndAll) {
  EXPECT_EQ(common_processors({0, 1, 4}, {1, 4, 5}), (ProcessorSet{1, 4}));
  EXPECT_EQ(all_processors({0, 4}, {1, 4, 5}), (ProcessorSet{0, 1, 4, 5}));
}

/// Two packages of two cores with two hardware threads each; the threads of core k are processors k and k + 4. As many machines
/// do, it numbers the cores of both packages in turns.
void write_two_packages(const SystemTree& tree) {
  tree.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Made-up 2x2\nflags\t\t: fpu\n");
  tree.write("sys/devices/system/cpu/online", "0-7\n");
  for (int processor = 0; processor < 8; ++processor) {
    const auto core = processor % 4;
    const auto package = core % 2;
    const auto folder = "sys/devices/system/cpu/cpu" + std::to_string(processor) + "/";
    const auto core_list = list_of({core, core + 4});
    tree.write(folder + "topology/physical_package_id", std::to_string(package) + "\n");
    tree.write(folder + "topology/core_cpus_list", core_list + "\n");
    struct Cache {
      std::string level, type, size, list;
    };
    const auto package_list = list_of({package, package + 2, package + 4, package + 6});
    const std::array<Cache, 4> caches{
        Cache{"1", "Data", "48K", core_list}, Cache{"1", "Instruction", "32K", core_list},
        Cache{"2", "Unified", "1024K", core_list}, Cache{"3", "Unified", "32M", package_list}};
    for (std::size_t index = 0; index < caches.size(); ++index) {
      const auto cache = folder + "cache/index" + std::to_string(index) + "/";
      tree.write(cache + "level", caches[index].level + "\n");
      tree.write(cache + "type", caches[index].type + "\n");
      tree.write(cache + "size", caches[index].size + "\n");
      tree.write(cache + "shared_cpu_list", caches[index].list + "\n");
    }
  }
}

TEST(TopologyFromFilesTest, NeighboursShareAPackage) {
  const SystemTree tree;
  write_two_packages(tree);
  const auto topology = topology_from_files(tree.folders());
  EXPECT_EQ(topology.processor, "Made-up 2x2");
  EXPECT_EQ(topology.cores, (std::vector<ProcessorSet>{{0, 4}, {2, 6}, {1, 5}, {3, 7}}));
  ASSERT_EQ(topology.caches.size(), 3U);
  const std::array<std::int64_t, 3> bytes{48 << 10, 1 << 20, 32 << 20};
  const std::array<int, 3> shared{1, 1, 2};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(topology.caches[k].level, static_cast<int>(k) + 1);
    EXPECT_EQ(topology.caches[k].byte_count, bytes[k]);
    EXPECT_EQ(topology.caches[k].shared_by_cores, shared[k]);
  }
}

TEST(TopologyFromFilesTest, ProcessorsAreCoresWhereTheFilesSayNoMore) {
  const SystemTree tree;
  tree.write("sys/devices/system/cpu/online", "0,2\n");
  const auto topology = topology_from_files(tree.folders());
  EXPECT_EQ(topology.processor, "unknown");
  EXPECT_EQ(topology.cores, (std::vector<ProcessorSet>{{0}, {2}}));
  EXPECT_TRUE(topology.caches.empty());
}

TEST(TopologyFromFilesTest, WithoutFilesNothingIsKnown) {
  const SystemTree tree;
  EXPECT_TRUE(topology_from_files(tree.folders()).cores.empty());
}

TEST(TopologyTest, TheFilesAgreeWithHwloc) {
  const auto machine = machine_topology();
  const auto files = topology_from_files();
  EXPECT_EQ(files.cores, machine.cores);
  EXPECT_EQ(files.processor, machine.processor);
  ASSERT_EQ(files.caches.size(), machine.caches.size());
  for (std::size_t k = 0; k < files.caches.size(); ++k) {
    EXPECT_EQ(files.caches[k].level, machine.caches[k].level);
    EXPECT_EQ(files.caches[k].byte_count, machine.caches[k].byte_count);
    EXPECT_EQ(files.caches[k].shared_by_cores, machine.caches[k].shared_by_cores);
  }
}

}  // namespace
}  // namespace cg2d::topology_test
