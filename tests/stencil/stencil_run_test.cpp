// Whole runs on several ranks: one result for every store, reader, temporal block and number of ranks; and one end on all ranks
// where something fails on one of them. And the choice of the temporal block, from times that are given.

#include "cg/stencil/stencil_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/crc32c.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "support/error_of.hpp"
#include "support/faulty_reader.hpp"
#include "support/heat_domain.hpp"
#include "support/mpi_test.hpp"
#include "support/plain_laplacian.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::stencil_run_test {
namespace {

using test::FaultKind;
using test::group;

constexpr comm::Extents shape{13, 6, 23};  // 23 planes do not divide among 2, 3 or 4 ranks
constexpr int step_count = 11;

DomainFigures plain_result(int steps) {
  test::HeatDomain domain(shape);
  for (int step = 0; step < steps; ++step) domain.step();
  const HeatField field(shape);
  DomainFigures figures;
  for (int64_t z = 0; z < domain.plane_count(); ++z) {
    const auto plane = field.compare(z, steps, domain.plane(z));
    figures.sum += plane.sum;
    figures.checksum = crc32c(std::as_bytes(std::span(&plane.checksum, 1)), figures.checksum);
  }
  return figures;
}

/// Each rank has a folder of its own.
StencilOptions options_for(const test::TemporaryFolder* folder, std::optional<int> block) {
  StencilOptions options{.shape = shape, .step_count = step_count, .block = block};
  if (folder != nullptr) options.folders = {folder->path()};
  return options;
}

StencilReport report_of(const StencilOptions& options, const PanelIoRow& reader = usual_panel_io()) {
  const Progress progress(ProgressMode::quiet, 0);
  return perform_stencil(options, group(), progress, reader);
}

void expect_result(const StencilReport& report, const DomainFigures& expected) {
  EXPECT_EQ(report.code(), ExitCode::success) << report.domain.largest_error;
  EXPECT_EQ(report.domain.checksum, expected.checksum);
  EXPECT_EQ(report.domain.sum, expected.sum);
}

TEST(StencilRunTest, EveryPassAndStoreHasTheBitsOfPlainSteps) {
  const auto expected = plain_result(step_count);
  const test::TemporaryFolder folder;
  // A pass is as long as the smallest slab allows.
  for (int block = 1; block <= std::min(7, static_cast<int>(shape[2]) / group().size()); ++block) {
    SCOPED_TRACE(block);
    expect_result(report_of(options_for(nullptr, block)), expected);
    for (const auto& reader : panel_io_table()) {
      if (!reader.why_unavailable().empty()) continue;
      expect_result(report_of(options_for(&folder, block), reader), expected);
    }
  }
}

TEST(StencilRunTest, SStepCgMakesTheStepsOfPlainCgInEveryPassAndStore) {
  constexpr int steps = 12;
  test::PlainCg plain(shape);
  for (int step = 0; step < steps; ++step) plain.step();
  const double sum = std::accumulate(plain.x.begin(), plain.x.end(), 0.0);
  const test::TemporaryFolder folder;
  for (const int block : {1, 2, 5}) {
    if (group().size() > 1 && int64_t{2} * block > shape[2] / group().size()) continue;
    SCOPED_TRACE(block);
    auto options = options_for(nullptr, block);
    options.method = "s-step-cg";
    options.step_count = steps;
    const auto report = report_of(options);
    EXPECT_EQ(report.code(), ExitCode::success);
    EXPECT_EQ(report.pass_count, (steps + block - 1) / block);
    EXPECT_NEAR(report.domain.sum, sum, 1e-9 * sum);
    const auto& solve = report.solve.value();
    EXPECT_EQ(solve.iterations, steps);
    EXPECT_EQ(std::ssize(solve.residuals), steps);
    EXPECT_NEAR(solve.residual, plain.residual(), 1e-9);
    EXPECT_NEAR(solve.true_residual, plain.residual(), 1e-9);
    options.folders = {folder.path()};
    for (const auto& reader : panel_io_table()) {
      if (!reader.why_unavailable().empty()) continue;
      const auto stored = report_of(options, reader);
      expect_result(stored, report.domain);
      EXPECT_EQ(stored.solve->residuals, solve.residuals);
    }
  }
}

TEST(StencilRunTest, SStepCgEndsAtTheToleranceOrSaysThatItDidNot) {
  test::PlainCg plain(shape);
  int needed = 0;
  for (; plain.residual() > 1e-6; ++needed) plain.step();
  auto options = options_for(nullptr, 2);
  options.method = "s-step-cg";
  options.tolerance = 1e-6;
  options.step_count = 100;
  const auto report = report_of(options);
  EXPECT_EQ(report.code(), ExitCode::success);
  EXPECT_EQ(report.step_count, needed);
  options.step_count = needed - 1;
  EXPECT_EQ(report_of(options).code(), ExitCode::not_converged);
}

TEST(StencilRunTest, AFolderThatOneRankLacksEndsAllRanks) {
  const test::TemporaryFolder folder;
  auto missing = options_for(&folder, 1);
  if (group().rank() == group().size() - 1) missing.folders = {folder.path("missing")};
  test::expect_error(ExitCode::cannot_create, "missing", [&] { report_of(missing); });
}

TEST(StencilRunTest, AFaultOnOneRankIsMendedOrEndsAllRanks) {
  const auto reader = test::faulty_reader();
  const test::TemporaryFolder folder;
  const auto expected = plain_result(step_count);
  const bool is_faulty = group().rank() == group().size() - 1;
  for (const auto direction : {PanelDirection::read, PanelDirection::write}) {
    for (const auto kind : {FaultKind::error, FaultKind::short_count, FaultKind::flipped_bit}) {
      for (const int first : {0, 3, 9, 17}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", from request " + std::to_string(first));
        const auto faults = [&](size_t count) { return std::vector<FaultKind>(is_faulty ? count : 0, kind); };
        test::plan_faults({.kinds = faults(direction == PanelDirection::read ? 2 : 1),
                           .direction = direction,
                           .first = first});
        const auto code = kind == FaultKind::flipped_bit ? ExitCode::bad_data : ExitCode::cannot_write;
        test::expect_error(code, "plane ", [&] { report_of(options_for(&folder, 4), reader); });
        if (direction == PanelDirection::write) continue;
        test::plan_faults({.kinds = faults(1), .direction = direction, .first = first});
        expect_result(report_of(options_for(&folder, 4), reader), expected);
      }
    }
  }
  test::plan_faults({});
}

/// Comparisons with NaN are false, so none may stand between it and the verdict.
TEST(StencilRunTest, AFieldOfNanIsNotVerified) {
  const StencilOptions options{.shape = shape};
  const auto method = stencil_method_table().front().make(options);
  const PlaneFigures right{.largest_error = 1e-17};
  const PlaneFigures broken{.largest_error = std::nan("")};
  for (const auto& planes : {std::vector{broken, right}, std::vector{right, broken, right}}) {
    StencilReport report;
    method->judge(planes, report);
    EXPECT_EQ(report.code(), ExitCode::verification_failed);
  }
  StencilReport report;
  method->judge(std::vector{right, right}, report);
  EXPECT_EQ(report.code(), ExitCode::success);
}

TEST(StencilRunTest, TextAndVerdictSayWhatIsWrong) {
  auto report = report_of(options_for(nullptr, 3));
  report.domain.largest_error = 1.0;
  EXPECT_EQ(report.code(), ExitCode::verification_failed);
  EXPECT_NE(stencil_text(report).find(" NOT verified: "), std::string::npos);
  EXPECT_NE(document_text(report).find("\"verification-failed\""), std::string::npos);
  // More steps help where all have been made.
  report.domain.largest_error = 0.0;
  report.solve = StencilSolve{.residual = 1e-3, .true_residual = 1e-3, .wanted_residual = 1e-6};
  EXPECT_NE(verdict_text(report).find("; take more --steps"), std::string::npos);
  --report.step_count;
  EXPECT_NE(verdict_text(report).find("; rounding keeps x"), std::string::npos);
}

// ---------------------------------------------------------------- the choice of the temporal block

/// Steps of 256 planes, and of those near one neighbour, which both compute: b-1 in the first step, b-2 in the second one, and so on.
const StencilWork work{.plane_count = 256, .step_count = 64, .planes_of_pass = [](int steps) {
                         return steps * int64_t{256} + steps * (steps - 1) / 2;
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
        "20000x20000x1", "1x1x1000001", "1x1x1000000001", "99999999999999999999x1x1"})
    EXPECT_THROW(shape_from(text), InputError) << text;
  for (const auto* const text : {"", "0", "-1", "1.5", "99999999999"})
    EXPECT_THROW(block_from(text), InputError) << text;
}

}  // namespace
}  // namespace cg2d::stencil_run_test
