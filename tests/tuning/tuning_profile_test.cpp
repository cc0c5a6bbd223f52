// The profile of a machine: its entries, and that the file keeps them.

#include "cg/tuning/tuning_profile.hpp"

#include "cg/base/output_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cg/base/errors.hpp"
#include "support/error_of.hpp"

namespace cg2d::tuning_profile_test {
namespace {

TunedCase case_of(const Problem& problem, const comm::ProcessGrid& grid, std::string kernel, int distance) {
  return {.matrix = facts_of(problem).key,
          .configuration = {.grid = grid},
          .nonzeros_per_rank = expected_nonzero_count(problem) / grid.rank_count(),
          .kernels = {{.name = std::move(kernel),
                       .tuning = {.prefetch_distance = distance, .block_width = 4096},
                       .step_s = 1e-3},
                      {.name = "scalar", .tuning = {}, .step_s = 2e-3}}};
}

TransportCase timed_transports(const comm::ProcessGrid& grid, double shared_s) {
  return {.matrix = npb_matrix_key("S", 1400, 7),
          .configuration = {.grid = grid,
                            .kernel = "sell",
                            .transport = "auto",
                            .sum_form = comm::SumForm::whole_block,
                            .thread_count = 2},
          .node_count = 3,
          .wait_mode = comm::WaitMode::yield,
          .transports = {{.name = "shared", .step_s = shared_s}, {.name = "two-sided", .step_s = 2e-5}}};
}

TuningProfile example() {
  TuningProfile profile;
  auto& processor = profile["Some processor, L1d 32 KiB"];
  processor.critical_vector_length = 6;
  processor.curve = {{.row_length = 1, .scalar_ns = 2.0, .vector_ns = 7.5},
                     {.row_length = 6, .scalar_ns = 1.0, .vector_ns = 0.75}};
  processor.put(case_of(*find_class("S"), {.columns = 1, .rows = 2}, "sell", 512));
  processor.put(case_of(*find_class("B"), {.columns = 2, .rows = 1}, "symmetric", 2048));
  profile["Another one"].critical_vector_length = never_in_vectors;
  return profile;
}

const TunedCase* find(const ProcessorProfile& processor, const char* letter, const comm::ProcessGrid& grid,
                      int thread_count) {
  return processor.find_case(facts_of(*find_class(letter)).key, {.grid = grid, .thread_count = thread_count});
}

TEST(CriticalVectorLengthTest, IsWhereTheVectorsWinForGood) {
  EXPECT_EQ(critical_vector_length_of(
                {{1, 1.0, 2.0}, {4, 1.0, 0.9}, {8, 1.0, 1.1}, {16, 1.0, 1.0}, {32, 1.0, 0.5}}),
            16);
  EXPECT_EQ(critical_vector_length_of({{1, 1.0, 0.5}, {4, 1.0, 0.9}}), 1);
  EXPECT_EQ(critical_vector_length_of({{1, 1.0, 0.5}, {4, 1.0, 1.5}}), never_in_vectors);
  EXPECT_EQ(critical_vector_length_of({}), never_in_vectors);
}

TEST(TuningProfileTest, TheFileKeepsEverything) {
  auto written = example();
  auto& some = written.at("Some processor, L1d 32 KiB");
  some.measured = {.date = "2026-01-02T03:04:05Z", .attempts = 1};
  some.cases.back().measured = {.date = "2026-11-22T12:30:00Z", .attempts = 2, .disturbance = "busy"};
  const auto text = format_profile(written);
  const auto profile = parse_profile(text);
  EXPECT_EQ(format_profile(profile), text);
  const auto& processor = profile.at("Some processor, L1d 32 KiB");
  ASSERT_EQ(processor.curve.size(), 2U);
  EXPECT_EQ(find(processor, "B", {.columns = 1, .rows = 2}, 1), nullptr);
  EXPECT_EQ(find(processor, "B", {.columns = 2, .rows = 1}, 2), nullptr);
  const auto* tuned = find(processor, "B", {.columns = 2, .rows = 1}, 1);
  ASSERT_NE(tuned, nullptr);
  EXPECT_EQ(tuned->kernels.front().name, "symmetric");
  EXPECT_EQ(tuned->kernels.front().tuning.critical_vector_length, std::nullopt);
  EXPECT_EQ(processor.record_for(tuned->matrix, tuned->configuration).disturbance, "busy");
  EXPECT_EQ(processor.record_for(tuned->matrix, {.grid = {.columns = 7, .rows = 1}}).date, some.measured.date)
      << "settings of other cases: the date of the curve";
}

TEST(TuningProfileTest, SettingsOfTheNearestSize) {
  auto processor = example().at("Some processor, L1d 32 KiB");
  processor.put(case_of(*find_class("C"), {.columns = 1, .rows = 2}, "sell", 4096));
  const double s_nonzeros = expected_nonzero_count(*find_class("S")) / 2;
  EXPECT_EQ(processor.nearest_tuning("sell", s_nonzeros)->prefetch_distance, 512);
  EXPECT_EQ(processor.nearest_tuning("sell", expected_nonzero_count(*find_class("B")) / 2)->prefetch_distance,
            4096);
  EXPECT_EQ(processor.nearest_tuning("symmetric", s_nonzeros)->prefetch_distance, 2048)
      << "the only case that has it";
  EXPECT_FALSE(processor.nearest_tuning("csr-simd", s_nonzeros).has_value());
}

SpeedCase timed_speeds(const comm::ProcessGrid& grid, double speed, const std::string& place = "host 0-1") {
  SpeedCase timed{.matrix = npb_matrix_key("S", 1400, 7),
                  .configuration = {.grid = grid, .kernel = "sell", .thread_count = 2}};
  for (int rank = 0; rank < grid.rank_count(); ++rank)
    timed.ranks.push_back(
        {.place = place, .nonzeros_per_s = speed, .share = 1.0 / grid.rank_count(), .rank_here = rank});
  return timed;
}

/// Records of every kind, on a processor with kernels and on one without, where the later ones replace those of the same conditions.
TEST(TuningProfileTest, MeasurementsAreThereOnceForTheirConditions) {
  auto profile = example();
  profile["Some processor, L1d 32 KiB"].put(timed_transports({.columns = 1, .rows = 6}, 1e-5));
  auto& processor = profile["Never tuned"];
  processor.put(timed_transports({.columns = 2, .rows = 3}, 1e-5));
  processor.put(timed_transports({.columns = 1, .rows = 6}, 1e-5));
  processor.put(timed_transports({.columns = 2, .rows = 3}, 3e-5));
  processor.put(timed_speeds({.columns = 1, .rows = 2}, 1e9));
  processor.put(timed_speeds({.columns = 1, .rows = 2}, 2e9, "host 0"));
  processor.put(timed_speeds({.columns = 2, .rows = 1}, 3e9));
  processor.put(timed_speeds({.columns = 1, .rows = 2}, 4e9));
  const auto text = format_profile(profile);
  auto read = parse_profile(text);
  EXPECT_EQ(format_profile(read), text);
  const auto& tuned = read.at("Some processor, L1d 32 KiB");
  EXPECT_TRUE(tuned.knows_kernels());
  ASSERT_EQ(tuned.transports.size(), 1U);
  EXPECT_TRUE(tuned.transports[0].is_like(timed_transports({.columns = 1, .rows = 6}, 0.0)));
  const auto& never = read.at("Never tuned");
  EXPECT_FALSE(never.knows_kernels());
  ASSERT_EQ(never.transports.size(), 2U);
  EXPECT_EQ(never.transports[0].transports[0].step_s, 3e-5);
  const auto& speeds = never.speeds;
  ASSERT_EQ(speeds.size(), 3U);
  EXPECT_EQ(speeds[0].ranks[1].nonzeros_per_s, 4e9);
  for (auto change : std::vector<void (*)(SpeedCase&)>{
           [](auto& other) { other.matrix = npb_matrix_key("U", 1401, 7); },
           [](auto& other) { other.configuration.thread_count = 1; },
           [](auto& other) { other.configuration.kernel = "symmetric"; },
           [](auto& other) { other.configuration.grid = {.columns = 2, .rows = 1}; },
           [](auto& other) { other.ranks.back().place = "another 0-1"; }}) {
    auto other = speeds[0];
    change(other);
    EXPECT_FALSE(speeds[0].is_like(other));
  }
  EXPECT_EQ(remove_measurements(read, "no such name"), 0);
  EXPECT_EQ(remove_measurements(read, "S"), 7) << "three of speeds and of transports, one of kernels";
  EXPECT_EQ(remove_measurements(read, "Some processor, L1d 32 KiB"), 2) << "the curve and class B";
  processor.speeds.front().ranks.pop_back();
  EXPECT_THROW(parse_profile(format_profile(profile)), InputError) << "of another number of ranks";
}

/// A file as programs wrote it before cases went by their matrix: it stays good.
TEST(TuningProfileTest, CasesOfEarlierProgramsAreFound) {
  const auto profile = parse_profile(R"({"schema_version": 1, "processors": {"P": {
    "critical_vector_length": 4, "row_lengths": [],
    "cases": [{"class": "U", "n": 1400, "nonzer": 7, "grid": {"columns": 1, "rows": 2}, "threads": 1,
               "nonzeros_per_rank": 39000.0,
               "kernels": [{"name": "sell", "critical_vector_length": null, "prefetch_distance": 64,
                            "block_width": 4096, "step_s": 1e-4}]}]}}})");
  EXPECT_NE(find(profile.at("P"), "S", {.columns = 1, .rows = 2}, 1), nullptr) << "the same n and nonzer";
  EXPECT_EQ(profile.at("P").measured.date, "");
}

/// Nothing reads it any more; what stands beside it stays.
TEST(TuningProfileTest, StorageThatEarlierProgramsMeasuredIsReadPast) {
  auto text = format_profile(example());
  const std::string name = "\"critical_vector_length\"";
  text.insert(text.find(name), R"("storage": [{"panel_bytes": 1}], )");
  EXPECT_EQ(format_profile(parse_profile(text)), format_profile(example()));
  const auto alone =
      parse_profile(R"({"schema_version": 1, "processors": {"P": {"storage": [{"panel_bytes": 1}]}}})");
  EXPECT_EQ(format_profile(alone), format_profile({}));
}

TEST(TuningProfileTest, AMatrixThatIsNotOfTheBenchmarkIsKnownByItsHash) {
  auto tuned = case_of(*find_class("S"), {.columns = 1, .rows = 2}, "sell", 512);
  tuned.matrix = {.name = "bridge.mtx", .order = 1400, .pattern_hash = hash_of_text("bridge")};
  TuningProfile profile;
  profile["P"].critical_vector_length = 4;
  profile["P"].put(tuned);
  const auto read = parse_profile(format_profile(profile));
  EXPECT_EQ(format_profile(read), format_profile(profile));
  EXPECT_EQ(read.at("P").cases.front().matrix.pattern_hash, hash_of_text("bridge"));
  EXPECT_EQ(find(read.at("P"), "S", {.columns = 1, .rows = 2}, 1), nullptr) << "as large, but not the same";
  auto text = format_profile(profile);
  const std::string key = "\"pattern_hash\": \"";
  text.replace(text.find(key) + key.size(), 1, "?");
  EXPECT_THROW(static_cast<void>(parse_profile(text)), InputError);
}

TEST(TuningProfileTest, WhatIsNoProfileIsRefused) {
  auto changed = [](const std::string& from, const std::string& to) {
    auto text = format_profile(example());
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const auto& text :
       {std::string(), std::string("{"), std::string("{}"),
        changed("\"schema_version\": 1", "\"schema_version\": 2"), changed("\"cases\"", "\"boxes\""),
        changed("\"critical_vector_length\": 6", "\"critical_vector_length\": -6"),
        changed("\"block_width\": 4096", "\"block_width\": 4095"),
        changed("\"step_s\": 0.001", "\"step_s\": 0.0"), changed("\"columns\": 1", "\"columns\": 0")}) {
    EXPECT_THROW(static_cast<void>(parse_profile(text)), InputError) << text;
  }
  const auto message = test::message_of(
      [&] { static_cast<void>(parse_profile(changed("\"threads\": 1", "\"threads\": 0"))); });
  EXPECT_NE(message.find(".cases[0].threads\" is 0: it must be at least 1"), std::string::npos) << message;
}

TEST(DefaultProfilePathTest, FollowsTheBaseDirectorySpecification) {
  const auto value_of = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const auto home = value_of("HOME");
  const auto cache = value_of("XDG_CACHE_HOME");
  setenv("HOME", "/home/user", 1);
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_profile_path(), "/somewhere/cg2d/profile.json");
  for (const char* ignored : {"relative", ""}) {
    setenv("XDG_CACHE_HOME", ignored, 1);
    EXPECT_EQ(default_profile_path(), "/home/user/.cache/cg2d/profile.json");
  }
  unsetenv("HOME");
  EXPECT_EQ(default_profile_path(), std::nullopt);
  setenv("HOME", home.c_str(), 1);
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);  // empty is as good as none
}

TEST(UnphysicalCurveTest, PoisonedCurvesAreNamed) {
  // Vectors win from 16 on, and the last point was disturbed: the critical vector length would be "none".
  const std::vector<RowLengthPoint> disturbed{
      {8, 1.1, 1.5}, {16, 1.1, 0.9}, {32, 1.0, 0.7}, {91, 1.1, 0.7}, {183, 1.0, 4.1}};
  EXPECT_EQ(critical_vector_length_of(disturbed), never_in_vectors);
  EXPECT_NE(why_unphysical(disturbed, 1).find("slower on rows of 183"), std::string::npos);
  EXPECT_NE(why_unphysical({{8, 0.0, 1.5}}, 1), "");
  EXPECT_NE(why_unphysical({{8, 1.0, 5000.0}}, 1), "");
  EXPECT_EQ(why_unphysical({{8, 1.1, 1.5}, {16, 1.1, 1.4}, {183, 1.0, 1.2}}, 1), "") << "vectors never pay";
  EXPECT_EQ(why_unphysical({{8, 1.1, 0.9}, {11, 1.1, 1.2}, {16, 1.1, 0.8}}, 1), "") << "11 fills 8 + 3 lanes";
}

TEST(UnphysicalCaseTest, AStepTakesAtLeastItsArithmetic) {
  auto tuned = case_of(*find_class("S"), {.columns = 1, .rows = 2}, "sell", 512);
  EXPECT_EQ(why_unphysical_steps(tuned.kernels, tuned.nonzeros_per_rank), "");
  tuned.kernels.front().step_s = 1e-9;
  EXPECT_NE(why_unphysical_steps(tuned.kernels, tuned.nonzeros_per_rank).find("sell"), std::string::npos);
}

}  // namespace
}  // namespace cg2d::tuning_profile_test
