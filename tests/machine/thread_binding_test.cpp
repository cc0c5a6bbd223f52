// The assignment of threads to cores, for topologies given as data; the topology of this machine.

#include "cg/machine/thread_binding.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace cg2d::thread_binding_test {
namespace {

/// Cores with that many processors each: core k has the processors k, k + count, ... (as Linux numbers the
/// two of a core).
std::vector<ProcessorSet> cores_of(int core_count, int processors_per_core) {
  std::vector<ProcessorSet> cores;
  for (int core = 0; core < core_count; ++core) {
    auto& processors = cores.emplace_back();
    for (int k = 0; k < processors_per_core; ++k) processors.push_back(core + k * core_count);
  }
  return cores;
}

ProcessorSet first_processors(int count) {
  ProcessorSet all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

using Threads = std::vector<ProcessorSet>;

TEST(AssignCoresTest, EachThreadGetsItsCore) {
  const auto four = first_processors(4);
  const auto eight = first_processors(8);
  struct Case {
    std::string name;
    std::vector<ProcessorSet> cores;
    std::vector<ProcessorSet> masks;
    std::vector<Threads> ranks;
    int thread_count = 2;
  };
  const ProcessorSet low{0, 1};
  const ProcessorSet high{2, 3};
  const std::vector<Case> cases{
      {"neighbours", cores_of(4, 1), {four}, {{{0}, {1}}}},
      {"the same mask is shared evenly", cores_of(8, 1), {eight, eight}, {{{0}, {1}}, {{4}, {5}}}},
      {"cores that are no multiple",
       cores_of(7, 1),
       std::vector(3, first_processors(7)),
       {{{0}, {1}}, {{2}, {3}}, {{4}, {5}}}},
      {"all processors of a core", cores_of(4, 2), {eight, eight}, {{{0, 4}, {1, 5}}, {{2, 6}, {3, 7}}}},
      // Cores of machines whose processors alternate between two sockets.
      {"in the topology's order", {{0}, {2}, {1}, {3}}, {four, four}, {{{0}, {2}}, {{1}, {3}}}},
      {"masks of the launcher", cores_of(8, 1), {{4, 5, 6, 7}, {0, 1}}, {{{4}, {5}}, {{0}, {1}}}},
      {"of a core only what the mask has", cores_of(2, 2), {{0, 1}}, {{{0}, {1}}}},
      // More ranks than cores: each core, with both of its processors, has as many, and neighbours share one.
      {"shared cores",
       cores_of(2, 2),
       std::vector(5, four),
       {{{0, 2}}, {{0, 2}}, {{0, 2}}, {{1, 3}}, {{1, 3}}},
       1},
      {"shared cores of masks",
       cores_of(4, 1),
       {high, low, high, low, high, low, high, low},
       {{{2}}, {{0}}, {{2}}, {{0}}, {{3}}, {{1}}, {{3}}, {{1}}},
       1}};
  for (const auto& [name, cores, masks, ranks, thread_count] : cases) {
    const auto assignment = assign_cores(cores, masks, thread_count);
    EXPECT_EQ(assignment.why_not, "") << name;
    EXPECT_EQ(assignment.ranks, ranks) << name;
  }
}

TEST(AssignCoresTest, NothingWhereCoresDoNotSuffice) {
  const auto mask = first_processors(4);
  const auto assignment = assign_cores(cores_of(4, 1), {mask, mask}, 3);
  EXPECT_TRUE(assignment.ranks.empty());
  EXPECT_EQ(assignment.why_not, "2 ranks x 3 threads outnumber the 4 cores that they may run on");
  // Two processors of one core are one core.
  EXPECT_NE(assign_cores(cores_of(1, 2), {{0, 1}}, 2).why_not, "");
  // One rank's mask is too small, the other's is not.
  EXPECT_NE(assign_cores(cores_of(4, 1), {{0, 1, 2}, {3}}, 2).why_not, "");
}

TEST(AssignCoresTest, NothingWhereMasksOverlap) {
  const auto assignment = assign_cores(cores_of(4, 1), {{0, 1, 2}, {2, 3}}, 2);
  EXPECT_TRUE(assignment.ranks.empty());
  EXPECT_EQ(assignment.why_not, "the launcher lets ranks run on overlapping, but different processors");
}

TEST(ShareCoresTest, NothingWhereTheSystemMustPlaceThem) {
  const auto why_not = [](int core_count, const std::vector<ProcessorSet>& masks) {
    return assign_cores(cores_of(core_count, 1), masks, 1).why_not;
  };
  const auto two = first_processors(2);
  // Three on two cores: the system can let each of them have a core for a while.
  EXPECT_EQ(why_not(2, {two, two, two}), "one thread per rank");
  EXPECT_EQ(why_not(2, {two}), "one thread per rank");
  // The launcher has bound them already.
  EXPECT_EQ(why_not(2, {{0}, {0}, {0}, {1}, {1}, {1}}), "one thread per rank");
  EXPECT_EQ(why_not(3, {two, two, two, two, {1, 2}}),
            "the launcher lets ranks run on overlapping, but different processors");
}

// ---------------------------------------------------------------- sets of processors and their texts, and the cores and caches of this machine

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
}  // namespace cg2d::thread_binding_test
