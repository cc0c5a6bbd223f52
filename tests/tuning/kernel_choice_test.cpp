// Which kernel and settings a run takes: what was asked for comes first, then the profile, then the rule.

#include "cg/tuning/kernel_choice.hpp"

#include <gtest/gtest.h>

namespace cg2d {
namespace {

const comm::ProcessGrid grid_1x2{.columns = 1, .rows = 2};

KernelTask task_of(const char* letter, const comm::ProcessGrid& grid = grid_1x2) {
  return {.problem = *find_class(letter), .grid = grid};
}

/// Class A on 1x2: csr-simd is fastest, sell next.
LoadedProfile example() {
  ProcessorProfile processor;
  processor.critical_vector_length = 3;
  const Problem& problem = *find_class("A");
  processor.put(
      {.class_name = "A",
       .n = problem.n,
       .nonzer = problem.nonzer,
       .grid = grid_1x2,
       .nonzeros_per_rank = 9e5,
       .kernels = {
           {.name = "a kernel of tomorrow", .tuning = {}, .step_s = 1e-4},
           {.name = "csr-simd",
            .tuning = {.critical_vector_length = 3, .prefetch_distance = 64},
            .step_s = 2e-4},
           {.name = "sell", .tuning = {.prefetch_distance = 128, .block_width = 8192}, .step_s = 3e-4}}});
  return {.processor = processor, .path = "profile.json", .absence = {}};
}

TEST(KernelChoiceTest, AutoTakesTheFastestOfTheProfile) {
  const auto choice = choose_kernel({}, task_of("A"), example());
  EXPECT_EQ(choice.kernel->name, "csr-simd");
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::profile);
  EXPECT_EQ(choice.tuning_origin, ChoiceOrigin::profile);
  EXPECT_EQ(choice.tuning.critical_vector_length, 3);
  EXPECT_EQ(choice.tuning.prefetch_distance, 64);
  EXPECT_EQ(choice.tuning.block_width, std::nullopt) << "csr-simd has none";
  EXPECT_EQ(choice.critical_vector_length, 3);
}

TEST(KernelChoiceTest, ANamedKernelTakesItsSettingsFromTheProfile) {
  const auto choice = choose_kernel({.name = "sell", .tuning = {}}, task_of("A"), example());
  EXPECT_EQ(choice.kernel->name, "sell");
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::asked_for);
  EXPECT_EQ(choice.tuning.block_width, 8192);
  EXPECT_EQ(choice.tuning.critical_vector_length, std::nullopt);
  EXPECT_EQ(choice.critical_vector_length, 3) << "what rows are counted by, all the same";
}

TEST(KernelChoiceTest, WhatWasAskedForStands) {
  const auto choice = choose_kernel(
      {.name = "sell", .tuning = {.critical_vector_length = 50, .prefetch_distance = 0, .block_width = 64}},
      task_of("A"), example());
  EXPECT_EQ(choice.tuning.prefetch_distance, 0);
  EXPECT_EQ(choice.tuning.block_width, 64);
  EXPECT_EQ(choice.critical_vector_length, 50);
}

TEST(KernelChoiceTest, AnotherCaseGetsTheRulesKernelWithTheNearestSettings) {
  const auto choice = choose_kernel({}, task_of("W", {.columns = 1, .rows = 4}), example());
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::built_in_rule);
  EXPECT_EQ(choice.kernel->name, built_in_kernel(task_of("W", {.columns = 1, .rows = 4})).name);
  const auto named = choose_kernel({.name = "sell", .tuning = {}}, task_of("W"), example());
  EXPECT_EQ(named.tuning_origin, ChoiceOrigin::profile);
  EXPECT_EQ(named.tuning.block_width, 8192);
}

TEST(KernelChoiceTest, WithoutAProfileTheKernelsOwnSettings) {
  const LoadedProfile none{.processor = {}, .path = {}, .absence = "none"};
  for (const auto& kernel : kernels::kernel_table()) {
    const auto choice = choose_kernel({.name = std::string(kernel.name), .tuning = {}}, task_of("S"), none);
    EXPECT_EQ(choice.tuning.critical_vector_length, kernel.defaults.critical_vector_length);
    EXPECT_EQ(choice.tuning.prefetch_distance, kernel.defaults.prefetch_distance);
    EXPECT_EQ(choice.tuning.block_width, kernel.defaults.block_width);
    EXPECT_EQ(choice.tuning_origin, ChoiceOrigin::built_in_rule);
  }
}

TEST(BuiltInKernelTest, SymmetricStorageWhereBlocksComeFromMemory) {
  const auto& kernel = built_in_kernel(task_of("B", {.columns = 1, .rows = 1}));
  EXPECT_TRUE(kernel.stores_half());
  EXPECT_TRUE(kernel.is_default);
}

TEST(BuiltInKernelTest, WholeBlocksWhereCachesHoldThemOrRanksShareCores) {
  EXPECT_FALSE(built_in_kernel(task_of("A", {.columns = 1, .rows = 1})).stores_half());
  auto crowded = task_of("D", {.columns = 4, .rows = 4});
  EXPECT_TRUE(built_in_kernel(crowded).stores_half());
  crowded.ranks_oversubscribed = true;
  EXPECT_FALSE(built_in_kernel(crowded).stores_half());
}

}  // namespace
}  // namespace cg2d
