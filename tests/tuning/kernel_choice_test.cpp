// The kernel and settings of a run: the request comes first, then the profile, then the rule.

#include "cg/tuning/run_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/error_of.hpp"

namespace cg2d::kernel_choice_test {
namespace {

const comm::ProcessGrid grid_1x2{.columns = 1, .rows = 2};

MatrixFacts class_facts(const char* letter) { return facts_of(*find_class(letter)); }

Configuration named(std::string kernel, const comm::ProcessGrid& grid = grid_1x2) {
  return {.grid = grid, .kernel = std::move(kernel)};
}
Configuration open_kernel(const comm::ProcessGrid& grid = grid_1x2) {
  return named(std::string(automatic_choice), grid);
}

/// Class A on 1x2: csr-simd is fastest, sell next.
LoadedProfile example() {
  ProcessorProfile processor;
  processor.critical_vector_length = 3;
  processor.put(TunedCase{
      .matrix = class_facts("A").key,
      .configuration = {.grid = grid_1x2},
      .nonzeros_per_rank = 9e5,
      .kernels = {
          {.name = "a kernel of tomorrow", .tuning = {}, .step_s = 1e-4},
          {.name = "csr-simd",
           .tuning = {.critical_vector_length = 3, .prefetch_distance = 64},
           .step_s = 2e-4},
          {.name = "sell", .tuning = {.prefetch_distance = 128, .block_width = 8192}, .step_s = 3e-4}}});
  return {.processor = processor, .path = "profile.json", .absence = {}};
}

ChosenKernel choice_by_example(const char* letter, const Configuration& configuration,
                               const kernels::Tuning& asked = {}) {
  const auto profile = example();
  return choose_kernel(class_facts(letter), configuration, {.asked = asked, .profile = profile});
}

TEST(KernelChoiceTest, AutoTakesTheFastestOfTheProfile) {
  const auto choice = choice_by_example("A", open_kernel());
  EXPECT_EQ(choice.kernel->name, "csr-simd");
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::profile);
  EXPECT_EQ(choice.tuning_origin, ChoiceOrigin::profile);
  EXPECT_EQ(choice.tuning.critical_vector_length, 3);
  EXPECT_EQ(choice.tuning.prefetch_distance, 64);
  EXPECT_EQ(choice.tuning.block_width, std::nullopt) << "csr-simd has none";
  EXPECT_EQ(choice.critical_vector_length, 3);
}

TEST(KernelChoiceTest, ANamedKernelTakesItsSettingsFromTheCommandLineElseFromTheProfile) {
  const auto choice = choice_by_example("A", named("sell"));
  EXPECT_EQ(choice.kernel->name, "sell");
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::asked_for);
  EXPECT_EQ(choice.tuning.block_width, 8192);
  EXPECT_EQ(choice.tuning.critical_vector_length, std::nullopt);
  EXPECT_EQ(choice.critical_vector_length, 3) << "what rows are counted by, all the same";
  const auto asked = choice_by_example(
      "A", named("sell"), {.critical_vector_length = 50, .prefetch_distance = 0, .block_width = 64});
  EXPECT_EQ(asked.tuning.prefetch_distance, 0);
  EXPECT_EQ(asked.tuning.block_width, 64);
  EXPECT_EQ(asked.critical_vector_length, 50);
}

TEST(KernelChoiceTest, AnotherCaseGetsTheRulesKernelWithTheNearestSettings) {
  const comm::ProcessGrid grid{.columns = 1, .rows = 4};
  const auto choice = choice_by_example("W", open_kernel(grid));
  EXPECT_EQ(choice.kernel_origin, ChoiceOrigin::built_in_rule);
  EXPECT_EQ(choice.kernel->name, built_in_kernel(class_facts("W"), grid, false).name);
  const auto by_name = choice_by_example("W", named("sell"));
  EXPECT_EQ(by_name.tuning_origin, ChoiceOrigin::profile);
  EXPECT_EQ(by_name.tuning.block_width, 8192);
}

TEST(KernelChoiceTest, WithoutAProfileTheKernelsOwnSettings) {
  const LoadedProfile none{.path = {}, .absence = "none"};
  for (const auto& kernel : kernels::kernel_table()) {
    const auto choice = choose_kernel(class_facts("S"), named(std::string(kernel.name)), {.profile = none});
    EXPECT_EQ(choice.tuning.critical_vector_length, kernel.defaults.critical_vector_length);
    EXPECT_EQ(choice.tuning.prefetch_distance, kernel.defaults.prefetch_distance);
    EXPECT_EQ(choice.tuning.block_width, kernel.defaults.block_width);
    EXPECT_EQ(choice.tuning_origin, ChoiceOrigin::built_in_rule);
  }
}

TEST(CheckMemoryTest, RanksOfANodeShareItsMemory) {
  Environment environment;
  environment.ranks = {{.processors = "0", .node = 0}, {.processors = "1", .node = 0}};
  auto& node = environment.nodes.emplace_back();
  node.name = "node 0";
  node.rank_count = 2;
  node.memory.available_bytes = 100;
  const auto error_with = [&](int64_t bytes) {
    return test::error_of(ExitCode::memory, [&] { check_memory(environment, [=](int) { return bytes; }); });
  };
  EXPECT_EQ(error_with(50), "no error");
  EXPECT_NE(error_with(51).find("not enough memory on node 0"), std::string::npos);
}

TEST(BuiltInKernelTest, SymmetricStorageWhereBlocksAreLarge) {
  const comm::ProcessGrid one{.columns = 1, .rows = 1};
  const auto& kernel = built_in_kernel(class_facts("A"), one, false);
  EXPECT_TRUE(kernel.stores_half());
  EXPECT_TRUE(kernel.is_default);
  EXPECT_FALSE(built_in_kernel(class_facts("W"), one, false).stores_half());
  const comm::ProcessGrid four{.columns = 2, .rows = 2};
  EXPECT_FALSE(built_in_kernel(class_facts("A"), four, false).stores_half());
  EXPECT_TRUE(built_in_kernel(class_facts("B"), four, false).stores_half());
  EXPECT_FALSE(built_in_kernel(class_facts("B"), four, true).stores_half()) << "ranks share cores";
}

}  // namespace
}  // namespace cg2d::kernel_choice_test
