// --transport auto: its measurements, the entries of the profile, and that all ranks take the same transport.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"

namespace cg2d::transport_choice_test {
namespace {

using test::group;

std::vector<std::string> available_names() {
  auto names = test::usable_transports();
  std::ranges::sort(names);
  return names;
}

void expect_same_on_all_ranks(const std::string& text) {
  for (const auto& other : group().gather_all(text)) EXPECT_EQ(other, text);
}

TransportTrial measure(std::string_view kernel, bool has_room_for_all,
                       comm::SumForm form = comm::SumForm::reduce_scatter) {
  const auto problem = test::custom_problem(1000, 4);
  const auto layout = comm::BlockLayout::even(problem.n, comm::factorizations(group().size()).front());
  const std::shared_ptr product = make_block_product(
      kernels::kernel_named(kernel), default_source().make(problem)->build(layout, group(), 1).block, layout,
      group().rank(), {.thread_count = 1});
  const Configuration configuration{.grid = layout.grid(), .sum_form = form};
  auto trial = block_trial(group(), layout, configuration, product, problem.shift);
  trial.has_room_for_all = has_room_for_all;
  return try_transports(group(), trial);
}

TEST(TryTransportsTest, AllThatCanServeAreMeasuredAndTheVerdictsCandidateIsTaken) {
  for (const auto* kernel : {"sell", "symmetric"}) {
    for (const bool has_room_for_all : {true, false}) {
      SCOPED_TRACE(std::string(kernel) + (has_room_for_all ? ", in turns" : ", one at a time"));
      const auto trial = measure(kernel, has_room_for_all);
      ASSERT_FALSE(trial.tried.empty());
      auto names = names_of(trial.tried);
      expect_same_on_all_ranks(json_line(trial));
      EXPECT_EQ(trial.best, names.front());
      EXPECT_FALSE(trial.from_profile);
      EXPECT_GT(trial.duration_s, 0.0);
      EXPECT_EQ(trial.verdict.candidate, has_room_for_all ? trial.best : "") << "none was measured in turns";
      for (size_t k = 0; k < trial.tried.size(); ++k) {
        EXPECT_GT(trial.tried[k].step_s, 0.0);
        if (k > 1 || (k > 0 && !has_room_for_all)) {
          EXPECT_GE(trial.tried[k].step_s, trial.tried[k - 1].step_s);
        }
      }
      std::ranges::sort(names);
      EXPECT_EQ(names, available_names());
    }
  }
}

TEST(TryTransportsTest, ASystemIsTriedWithoutAComparisonOfZetaAndWithoutATransportThatLacksMemory) {
  // The 25 steps of an outer iteration would go far past the solution of this system, to a zeta of rounding errors.
  const comm::ProcessGrid grid{.columns = 1, .rows = group().size()};
  const auto layout = comm::BlockLayout::even(64, grid);
  const auto source = source_from("laplace2d:8x8");
  const std::shared_ptr product =
      make_block_product(kernels::kernel_for_any_pattern(), source->build(layout, group(), 1).block, layout,
                         group().rank(), {.thread_count = 1});
  const Configuration configuration{.grid = grid};
  auto config = block_trial(group(), layout, configuration, product, {});
  EXPECT_LT(config.step_count, cg_steps_per_solve);
  EXPECT_TRUE(std::isnan(config.make(comm::default_transport())()));
  auto names = names_of(try_transports(group(), config).tried);
  std::ranges::sort(names);
  EXPECT_EQ(names, available_names());
  config.make = [make = config.make](const comm::TransportRow& transport) {
    if (transport.name == "two-sided") throw RunError(ExitCode::memory, "too little");
    return make(transport);
  };
  const auto trial = try_transports(group(), config);
  ASSERT_FALSE(trial.skipped.empty());
  EXPECT_EQ(trial.skipped.back(), (std::pair<std::string, std::string>("two-sided", "too little")));
  EXPECT_EQ(trial.tried.size(), names.size() - 1);
}

TEST(TryTransportsTest, TransportsWithoutTheFormOfTheSumAreLeftOut) {
  const auto trial = measure("sell", true, comm::SumForm::whole_block);
  for (const auto& transport : comm::transport_table()) {
    const bool has_form = transport.has(comm::SumForm::whole_block);
    const bool is_available = transport.why_unavailable(group()).empty();
    const auto skipped =
        std::ranges::find_if(trial.skipped, [&](const auto& one) { return one.first == transport.name; });
    ASSERT_EQ(skipped != trial.skipped.end(), !has_form || !is_available) << transport.name;
    if (is_available && !has_form) {
      EXPECT_NE(skipped->second.find("whole-block"), std::string::npos) << skipped->second;
    }
  }
}

TEST(KnownTransportsTest, OtherConditionsOrAMissingTransportIsNotKnown) {
  const TransportCase conditions{.matrix = npb_matrix_key("S", 1400, 7),
                                 .configuration = {.grid = {.columns = 1, .rows = group().size()},
                                                   .kernel = "sell",
                                                   .transport = std::string(automatic_choice)}};
  auto timed = conditions;
  timed.transports = {{.name = "of another machine", .step_s = 1e-9}};
  for (const auto& name : available_names()) timed.transports.push_back({.name = name, .step_s = 1e-3});
  timed.measured = {.date = "2026-11-22T12:30:00Z", .disturbance = "a busy day"};
  LoadedProfile profile{.processor = {.transports = {timed}}, .path = "p", .absence = ""};
  const auto known = known_transports(group(), profile, conditions);
  ASSERT_TRUE(known.has_value());
  EXPECT_TRUE(known->from_profile);
  EXPECT_EQ(known->kept_in, "p");
  EXPECT_EQ(known->measured.disturbance, "a busy day");
  EXPECT_EQ(names_of(known->tried), available_names());
  EXPECT_EQ(known->best, available_names().front()) << "the one that was taken stands first";
  EXPECT_FALSE(known_transports(group(), {}, conditions).has_value());
  for (auto change : std::vector<void (*)(TransportCase&)>{
           [](auto& other) { other.node_count = 2; },
           [](auto& other) { other.matrix = npb_matrix_key("U", 1400, 8); },
           [](auto& other) { other.configuration.sum_form = comm::SumForm::whole_block; },
           [](auto& other) { other.configuration.kernel = "symmetric"; },
           [](auto& other) { other.configuration.cut = "nonzeros"; },
           [](auto& other) { other.wait_mode = comm::WaitMode::yield; }}) {
    auto other = conditions;
    change(other);
    EXPECT_FALSE(known_transports(group(), profile, other).has_value());
  }
  profile.processor.transports[0].transports.pop_back();
  EXPECT_FALSE(known_transports(group(), profile, conditions).has_value());
}

}  // namespace
}  // namespace cg2d::transport_choice_test
