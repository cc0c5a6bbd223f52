// What ranks do in a simulated CG step: the messages of the program, and the times of the description.

#include "cg/simulation/simulate_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "comm/communicator.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

namespace cg2d::step_plan_test {
namespace {

MachineDescription machine_named(const std::string& name) { return find_machine(name).conditions.front(); }

PlacedRun placed(const MachineDescription& machine, const comm::ProcessGrid& grid,
                 const std::string& placement = "row-major", const std::string& shape = {}) {
  SimulateOptions options;
  options.placement = placement;
  options.interconnect = shape;
  return place_run(options, machine, facts_of(*find_class("S")), grid);
}

std::map<Phase, comm::Traffic> sent_in(const std::vector<RankOperation>& operations) {
  std::map<Phase, comm::Traffic> sent;
  for (const auto& operation : operations) {
    if (operation.to != RankOperation::nobody)
      sent[operation.phase] += {.message_count = 1, .byte_count = operation.byte_count};
  }
  return sent;
}

/// On all grids of 1 to 12 ranks, in both forms of the sum: as the program's communicators count them. Half storage collects and sums twice.
TEST(StepPlanTest, MessagesAndBytesAreThoseOfTheProgram) {
  for (const bool is_half : {false, true}) {
    for (const auto form : {comm::SumForm::whole_block, comm::SumForm::reduce_scatter}) {
      auto machine = machine_named("cp-pacs");
      machine.sum_form = form;
      machine.kernels.front().is_symmetric = is_half;
      for (int rank_count = 1; rank_count <= 12; ++rank_count) {
        for (const auto& grid : comm::factorizations(rank_count)) {
          SCOPED_TRACE(grid.name());
          const auto run = placed(machine, grid);
          for (int rank = 0; rank < rank_count; ++rank) {
            auto sent = sent_in(step_of_rank(run, rank));
            auto collection = comm::collection_traffic(run.layout, rank);
            auto summation = comm::summation_traffic(run.layout, rank, form);
            if (is_half) {
              collection += comm::mirrored_shuffle_traffic(run.layout, rank) +
                            comm::collection_traffic(run.layout, rank, comm::Line::process_row);
              summation += comm::summation_traffic(run.layout, rank, form, comm::Line::process_column);
            }
            const auto sum = comm::dot_traffic(rank_count, rank, 1);
            EXPECT_EQ(sent[Phase::collection], collection);
            EXPECT_EQ(sent[Phase::summation], summation);
            EXPECT_EQ(sent[Phase::shuffle], comm::shuffle_traffic(run.layout, rank));
            EXPECT_EQ(sent[Phase::dot], sum + sum);
          }
        }
      }
    }
  }
}

/// Each message that is sent is received, by the rank that it is for, in the same order.
TEST(StepPlanTest, MessagesMeet) {
  for (const auto& grid : comm::factorizations(24)) {
    const auto run = placed(machine_named("laptop"), grid);
    std::map<std::pair<int, int>, std::vector<Phase>> sent;
    std::map<std::pair<int, int>, std::vector<Phase>> received;
    for (int rank = 0; rank < 24; ++rank) {
      for (const auto& operation : step_of_rank(run, rank)) {
        if (operation.to != RankOperation::nobody) sent[{rank, operation.to}].push_back(operation.phase);
        if (operation.from != RankOperation::nobody)
          received[{operation.from, rank}].push_back(operation.phase);
      }
    }
    EXPECT_EQ(sent, received) << grid.name();
  }
}

/// On one rank nothing waits: the work is that of the model.
TEST(StepPlanTest, WorkIsThatOfTheModel) {
  const auto machine = machine_named("laptop");
  const auto matrix = facts_of(*find_class("S"));
  const auto run = placed(machine, {1, 1});
  std::map<Phase, double> seconds;
  for (const auto& operation : step_of_rank(run, 0))
    seconds[operation.phase] += operation.before_s + operation.after_s;
  const auto prediction = predict(machine, matrix, run.configuration, 1);
  EXPECT_DOUBLE_EQ(seconds[Phase::multiply] * OuterStepCalls::products, prediction.phase_s(Phase::multiply));
  EXPECT_NEAR(seconds[Phase::vector_updates] / StepCalls::updates * OuterStepCalls::updates(false),
              prediction.phase_s(Phase::vector_updates), 1e-12);
}

TEST(StepPlanTest, MessagesWithinANodeUseNoLink) {
  const auto machine = machine_named("ethernet-cluster");  // 8 ranks in a node
  const auto on_one = plan_step(placed(machine, {4, 2}), 1);
  for (const auto& phase : on_one.phases) EXPECT_EQ(phase.used_link_count, 0);
  // Two nodes: each has two process rows, so the summations stay within.
  const auto on_two = plan_step(placed(machine, {4, 4}), 1);
  EXPECT_EQ(on_two.phases[static_cast<size_t>(Phase::summation)].used_link_count, 0);
  const auto& collection = on_two.phases[static_cast<size_t>(Phase::collection)];
  EXPECT_EQ(collection.used_link_count, 4);
  EXPECT_EQ(collection.most_at_once, 8) << "all ranks of a node send to the other one";
}

TEST(StepPlanTest, LoadsOfLinksAreThoseOfTheirMessages) {
  const auto plan = plan_step(placed(machine_named("cp-pacs"), {1, 4}, "row-major", "crossbar"), 1);
  const auto& collection = plan.phases[static_cast<size_t>(Phase::collection)];
  // 1400 rows in four pieces: one, then two of them go out of each node, and as many in.
  EXPECT_EQ(collection.all_ranks, (comm::Traffic{.message_count = 8, .byte_count = 4 * 3 * 350 * 8}));
  EXPECT_EQ(collection.used_link_count, 8);
  EXPECT_EQ(collection.busiest, (comm::Traffic{.message_count = 2, .byte_count = 3 * 350 * 8}));
  EXPECT_EQ(collection.most_at_once, 1);
  EXPECT_DOUBLE_EQ(collection.mean_link_bytes, 3 * 350 * 8);
}

TEST(StepPlanTest, TooFewNodesAreRefused) {
  const auto fault = [](const comm::ProcessGrid& grid, const std::string& placement,
                        const std::string& shape) {
    return test::message_of(
        [&] { static_cast<void>(placed(machine_named("cp-pacs"), grid, placement, shape)); });
  };
  EXPECT_EQ(fault({3, 3}, "row-major", "torus:2x4"),
            "torus:2x4 has 8 nodes; 9 ranks of cp-pacs, placed row-major, need 9");
  EXPECT_NE(fault({1, 2}, "diagonal", "").find("--placement diagonal: unknown; valid: row-major, blocked"),
            std::string::npos);
}

// ---------------------------------------------------------------- places

TEST(PlacementTest, TilesAreTogether) {
  // 4 columns, 4 rows, in tiles of 2 x 2.
  EXPECT_EQ(places_from("blocked", {4, 4}, 4),
            (std::vector<int>{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(places_from("blocked", {1, 4}, 4), (std::vector<int>{0, 1, 2, 3}));
}

TEST(PlacementTest, EachPlaceOnce) {
  for (const auto* placement : {"row-major", "blocked", "random:1", "random:18446744073709551615"}) {
    auto places = places_from(placement, {6, 5}, 8);
    std::ranges::sort(places);
    std::vector<int> all(30);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(places, all) << placement;
  }
  EXPECT_EQ(places_from("random:1", {6, 5}, 8), places_from("random:1", {6, 5}, 8));
  EXPECT_NE(places_from("random:1", {6, 5}, 8), places_from("random:2", {6, 5}, 8));
}

TEST(PlacementTest, AFileHasANumberForEachRank) {
  const test::TemporaryFolder folder;
  const auto path = folder.path("places");
  const auto fault_of = [&](const std::string& text) {
    std::ofstream(path) << text;
    return test::message_of([&] { static_cast<void>(places_from("file:" + path, {3, 1}, 1)); });
  };
  EXPECT_EQ(fault_of("7 0\n3\n"), "no error");
  EXPECT_EQ(places_from("file:" + path, {3, 1}, 1), (std::vector<int>{7, 0, 3}));
  const auto begin = "--placement file:" + path + ": ";
  for (const auto* const text : {"7 0", "7 0 3 1", "7 0 3 x"})
    EXPECT_EQ(fault_of(text), begin + "must have a whole number for each of the 3 ranks");
  for (const auto* const text : {"7 0 7", "7 0 -1", "7 0 3x", "7 0 1048576", "7 0 9999999999"})
    EXPECT_EQ(fault_of(text), begin + "places must be whole numbers within 0 ... 1048575, each once");
}

}  // namespace
}  // namespace cg2d::step_plan_test
