// The choice of the temporal block, from times that are given.

#include "cg/stencil/stencil_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::block_choice_test {
namespace {

/// Steps of 256 planes, and of those near one neighbour, which both compute: b-1 in the first step, b-2 in the second one, and so on.
const StencilWork work{.plane_count = 256, .step_count = 64, .planes_of_pass = [](int step_count) {
                         return step_count * int64_t{256} + step_count * (step_count - 1) / 2;
                       }};

std::vector<BlockPrediction> predictions_for(const StorageTimes& storage, int most = 64) {
  std::vector<BlockPrediction> predictions;
  for (const int block : candidate_blocks(most))
    predictions.push_back(predict_block(work, block, 1e-4, storage));
  return predictions;
}

TEST(BlockChoiceTest, CandidatesGrowToTheLongestOne) {
  EXPECT_EQ(candidate_blocks(1), (std::vector{1}));
  EXPECT_EQ(candidate_blocks(2), (std::vector{1, 2}));
  EXPECT_EQ(candidate_blocks(7), (std::vector{1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(candidate_blocks(64), (std::vector{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}));
}

TEST(BlockChoiceTest, APassTakesTheLongerOfComputingAndStorage) {
  const auto slow = predict_block(work, 1, 1e-4, {.plane_s = 1e-3});
  EXPECT_EQ(slow.pass_count, 64);
  EXPECT_NEAR(slow.computing_s, 64 * 256 * 1e-4, 1e-9);
  EXPECT_NEAR(slow.storage_s, 64 * 256 * 1e-3, 1e-9);
  EXPECT_NEAR(slow.total_s, 1.25 * slow.storage_s, 1e-9);
  const auto in_memory = predict_block(work, 10, 1e-4, {});
  EXPECT_EQ(in_memory.pass_count, 7);
  EXPECT_NEAR(in_memory.total_s, (6 * (2560 + 45) + 4 * 256 + 6) * 1e-4, 1e-9);
}

TEST(BlockChoiceTest, TheSmallestBlockThatHidesTheDeviceIsTaken) {
  const auto in_memory = predictions_for({});
  EXPECT_EQ(choose_block(in_memory).block, 1);
  // Reading and writing a plane takes as long as eight steps: a quarter more are to be hidden.
  const auto slow = predictions_for({.plane_s = 8e-4});
  const auto& taken = choose_block(slow);
  EXPECT_GE(taken.block, 10);
  EXPECT_LE(taken.block, 16);
  // A device that no block hides: the longest one.
  const auto slowest = predictions_for({.plane_s = 1.0}, 12);
  EXPECT_EQ(choose_block(slowest).block, 12);
}

TEST(StencilOptionsTest, ShapesAndBlocks) {
  EXPECT_EQ(shape_from("5x6x7"), (comm::Extents{5, 6, 7}));
  EXPECT_EQ(shape_text(shape_from("512x1x30")), "512x1x30");
  for (const auto* const text :
       {"", "5", "5x6", "5x6x7x8", "0x6x7", "5x-6x7", "5x6x7 ", "5X6X7", "x6x7", "5xx7", "99999999999x6x7",
        "20000x20000x1", "1x1x1000000001", "99999999999999999999x1x1"})
    EXPECT_THROW(shape_from(text), InputError) << text;
  EXPECT_EQ(block_from("auto"), std::nullopt);
  EXPECT_EQ(block_from("16"), 16);
  for (const auto* const text : {"", "0", "-1", "many", "1.5", "99999999999"})
    EXPECT_THROW(block_from(text), InputError) << text;
}

}  // namespace
}  // namespace cg2d::block_choice_test
