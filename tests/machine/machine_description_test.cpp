// Machine descriptions: reading them, and the messages for files that are invalid; remarks on old and poor measurements.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/performance_model.hpp"
#include "support/error_of.hpp"

namespace cg2d::machine_description_test {
namespace {

/// The shipped description with one text replaced.
std::string changed(const std::string& from, const std::string& to) {
  std::string text(std::ranges::find(shipped_machines(), "cp-pacs", &ShippedMachine::name)->text);
  const auto place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

std::string message_of(const std::string& text) {
  return test::message_of([&] { static_cast<void>(parse_machine(text)); });
}

MachineDescription condition_of(int ranks, double start_up_s) {
  return {.name = "here",
          .sources = {"calibration"},
          .clock_hz = 0.0,
          .network = {.start_up_s = start_up_s, .bytes_per_s = 1e9, .add_s_per_element = 1e-9},
          .vectors = {.dot_s_per_element = 1e-10, .dot_call_s = 1e-8, .update_s_per_element = 2e-10},
          .kernels = {{.name = "sell",
                       .is_symmetric = true,
                       .loop = {},
                       .shapes = {{.rows = 10,
                                   .columns = 20,
                                   .nonzeros = 50,
                                   .seconds_per_nonzero = 1e-9,
                                   .dot_s_per_element = 2e-10,
                                   .update_s_per_element = 3e-10}},
                       .row_lengths = {{.row_length = 1, .seconds_per_nonzero = 4e-9},
                                       {.row_length = 4, .seconds_per_nonzero = 2e-9},
                                       {.row_length = 64, .seconds_per_nonzero = 1e-9}}}},
          .calibrated_ranks = ranks,
          .calibrated_threads = 1};
}

TEST(MachineDescriptionTest, ErrorsSayWhatAndWhere) {
  const auto expect = [](const std::string& text, const std::string& part) {
    test::expect_in(message_of(text), part);
  };
  expect("", "parse error");
  expect("{}", "\"schema_version\" must be 1");
  expect(changed("start_up_clocks", "start_up"),
         "\"network.start_up_s\" or \"network.start_up_clocks\" is needed");
  expect(changed("\"bytes_per_clock\": 2", "\"bytes_per_clock\": 0"),
         "\"network.bytes_per_clock\" is 0: it must be greater than 0");
  expect(changed("whole-block", "all"), "it must be reduce-scatter or whole-block");
  expect(changed("\"clock_hz\": 150000000,", ""), "\"clock_hz\" is needed for keys in clocks");
  expect(changed("\"default_kernel\": \"hand-made\"", "\"default_kernel\": \"x\""),
         "has no kernel \"x\"; it describes hand-made, compiled");
  const auto with = [](const std::string& members) {
    return changed(R"("vectors")", members + R"(, "vectors")");
  };
  expect(with(R"("transports": [{"name": "x", "bytes_per_s": 1, "add_seconds_per_element": 0}])"),
         "\"transports[0].start_up_s\"");
  const std::string one =
      R"({"name": "x", "start_up_clocks": 1, "bytes_per_clock": 2, "add_clocks_per_element": 0})";
  expect(with(R"("transports": [)" + one + "]"), "no error");
  expect(with(R"("transports": [)" + one + ", " + one + "]"), "a second time");
  const auto calibrated = [&](const std::string& measured) {
    return with(
        R"("calibrated": {"ranks": 2, "threads": 1, "measured": {"attempts": 1, "switches_per_s": 0, "steal_share": 0, )" +
        measured + "}}");
  };
  expect(calibrated(R"("date": "2026-11-22T12:30:00Z", "spread": 0)"), "no error");
  expect(calibrated(R"("date": "22 November", "spread": 0)"), "a date as 2026-11-22T12:30:00Z is needed");
  expect(calibrated(R"("date": "2026-11-22T12:30:00Z", "spread": -1)"), "spread\" is -1");
  auto falling = condition_of(2, 1e-6);
  std::swap(falling.kernels.front().row_lengths[0], falling.kernels.front().row_lengths[1]);
  expect(format_machine({.conditions = {falling}}), "row_lengths[1].row_length");
}

/// Predictions with such figures would overflow, or be nothing by nothing.
TEST(MachineDescriptionTest, FiguresThatOverflowAreBadDataAndNamed) {
  for (const std::string wrong : {"1e308", "1e31", "1e-31", "1e-320"}) {
    const auto message = test::error_of(ExitCode::bad_data, [&] {
      static_cast<void>(parse_machine(changed("\"bytes_per_clock\": 2", "\"bytes_per_s\": " + wrong)));
    });
    EXPECT_TRUE(message.starts_with("\"network.bytes_per_s\" is ")) << message;
  }
  // There are 150e6 clocks per second.
  test::expect_in(message_of(changed("\"bytes_per_clock\": 2", "\"bytes_per_clock\": 1e29")),
                  "\"network.bytes_per_clock\" cannot be told in seconds");
}

MeasurementRecord measured_at(const std::string& date, const std::string& disturbance = {}) {
  return {.date = date,
          .attempts = 2,
          .switches_per_s = 3.5,
          .steal_share = 0.01,
          .spread = 0.04,
          .disturbance = disturbance};
}

TEST(MachineDescriptionTest, WhatIsWrittenIsRead) {
  constexpr double none = std::numeric_limits<double>::infinity();
  auto whole = condition_of(4, 5e-6);
  whole.network.software_step_s = 2e-6;
  whole.network.software_s_per_byte = 3e-10;
  whole.node = {.ranks = 4,
                .link_bytes_per_s = 1e10,
                .network = NetworkCost{.start_up_s = 4e-7, .bytes_per_s = 5e9, .add_s_per_element = 6e-10}};
  whole.outside_s_per_nonzero = 7e-9;
  whole.measured = measured_at("2026-11-22T12:30:00Z", "busy");
  whole.transports = {
      {.name = "shared", .network = {.start_up_s = 5e-7, .bytes_per_s = none, .add_s_per_element = 1e-10}}};
  Machine machine;
  machine.put(condition_of(2, 1e-6));
  machine.put(whole);
  machine.put(condition_of(2, 3e-6));
  const auto text = format_machine(machine);
  EXPECT_EQ(text.find("null"), std::string::npos) << text;
  const auto read = parse_machine(text);
  EXPECT_EQ(format_machine(read), text);
  ASSERT_EQ(read.conditions.size(), 2U);
  EXPECT_DOUBLE_EQ(read.for_ranks(2).network.start_up_s, 3e-6);
  EXPECT_EQ(read.for_ranks(1).calibrated_ranks, 2);
  const auto& found = read.for_ranks(64);
  EXPECT_EQ(found.calibrated_ranks, 4);
  EXPECT_DOUBLE_EQ(found.kernel("sell").shapes.front().update_s_per_element, 3e-10);
  EXPECT_DOUBLE_EQ(found.node.network.value_or(NetworkCost()).start_up_s, 4e-7);
  EXPECT_DOUBLE_EQ(found.outside_s_per_nonzero, 7e-9);
  EXPECT_EQ(found.measured.disturbance, "busy");
  EXPECT_DOUBLE_EQ(found.measured.spread, 0.04);
  EXPECT_EQ(read.for_ranks(2).measured.date, "") << "a file of an earlier program";
  EXPECT_EQ(found.transports.front().network.bytes_per_s, none);
  const auto measured = find_machine("cp-pacs-measured").conditions.front();
  EXPECT_DOUBLE_EQ(measured.network.software_step_s, 3200 / 150e6);
  EXPECT_DOUBLE_EQ(measured.outside_s_per_nonzero, 2210 / 150e6);
}

TEST(MachineDescriptionTest, RowLengthsAreInterpolatedInTheLogarithm) {
  const auto kernel = condition_of(2, 1e-6).kernels.front();
  EXPECT_DOUBLE_EQ(kernel.at_row_length(0.5), 4e-9);
  EXPECT_DOUBLE_EQ(kernel.at_row_length(1), 4e-9);
  EXPECT_DOUBLE_EQ(kernel.at_row_length(2), 3e-9);
  EXPECT_DOUBLE_EQ(kernel.at_row_length(16), 1.5e-9);
  EXPECT_DOUBLE_EQ(kernel.at_row_length(500), 1e-9);
  EXPECT_DOUBLE_EQ(KernelCost().at_row_length(7), 1.0);
}

/// Between the measured shapes only the curve's cost of shorter rows makes a difference.
TEST(MachineDescriptionTest, ShorterRowsFollowTheCurve) {
  const auto machine = condition_of(2, 1e-6);
  RowLengthDistribution short_rows;
  short_rows.share = {0.0, 1.0};
  const auto costs = block_costs(machine, machine.kernels.front(), 1000.0, 2000.0, short_rows);
  const double measured_at_five_per_row = machine.kernels.front().at_row_length(5.0);
  EXPECT_DOUBLE_EQ(costs.multiply_s, 1000.0 * 1e-9 * 4e-9 / measured_at_five_per_row);
  EXPECT_DOUBLE_EQ(costs.dot_s_per_element, 2e-10);
  EXPECT_DOUBLE_EQ(costs.update_s_per_element, 3e-10);
}

/// A description without transports is good for all of them.
TEST(MachineDescriptionTest, EachTransportMayHaveItsNetwork) {
  auto condition = condition_of(2, 1e-6);
  EXPECT_DOUBLE_EQ(condition.through("shared").network.start_up_s, 1e-6);
  condition.transports = {
      {.name = "native", .network = {.start_up_s = 3e-6, .bytes_per_s = 2e9, .add_s_per_element = 0.0}},
      {.name = "shared", .network = {.start_up_s = 1e-7, .bytes_per_s = 5e9, .add_s_per_element = 2e-9}}};
  const auto shared = condition.through("shared");
  EXPECT_DOUBLE_EQ(shared.network.start_up_s, 1e-7);
  EXPECT_DOUBLE_EQ(shared.network.bytes_per_s, 5e9);
  EXPECT_EQ(shared.sum_form, condition.sum_form);
  EXPECT_DOUBLE_EQ(condition.through("two-sided").network.start_up_s, 1e-6);
}

TEST(RemarkTest, IsMadeOnOldAndPoorMeasurements) {
  const std::string now = "2026-11-22T12:30:00Z";
  EXPECT_EQ(remark_on(measured_at("2026-11-22T12:00:00Z"), now), "");
  EXPECT_EQ(remark_on(measured_at("2026-05-27T12:30:00Z"), now), "") << "179 days";
  EXPECT_EQ(remark_on(measured_at("2026-05-22T12:30:00Z"), now), "measured 2026-05-22, 184 days ago");
  EXPECT_EQ(remark_on(measured_at(now, "busy"), now), "measured 2026-11-22, disturbed: busy");
  EXPECT_EQ(remark_on({}, now), "") << "nothing is known of it";
  EXPECT_EQ(remark_on(measured_at(date_now()), date_now()), "");
}

// ---------------------------------------------------------------- descriptions that a calibration beside other load once saved, and one of a quiet machine

MachineDescription quiet_machine() {
  auto machine = condition_of(2, 0.7e-6);
  machine.transports = {
      {.name = "put", .network = {.start_up_s = 1e-6, .bytes_per_s = 8e9, .add_s_per_element = 1.5e-9}}};
  return machine;
}

TEST(PhysicalBoundsTest, FitsThatHitTheirBoundAreNamed) {
  struct Case {
    std::string words;  ///< of the fault; empty: within the bounds
    void (*change)(MachineDescription& machine);
  };
  const std::vector<Case> cases{
      {"", [](auto& /*quiet*/) {}},
      {"two-sided: the rate", [](auto& machine) { machine.network.bytes_per_s = 1e12; }},
      {"an addition", [](auto& machine) { machine.network.add_s_per_element = 0.0; }},
      {"start-up", [](auto& machine) { machine.network.start_up_s = 0.0; }},
      {"start-up",
       [](auto& machine) { machine.network.start_up_s = std::numeric_limits<double>::quiet_NaN(); }},
      {"put: the rate", [](auto& machine) { machine.transports.front().network.bytes_per_s = 1e12; }},
      // It reads in place: there are no bytes to move.
      {"",
       [](auto& machine) {
         machine.transports = {
             {.name = "shared",
              .network = {.start_up_s = 1e-6, .bytes_per_s = 1e12, .add_s_per_element = 2e-10}}};
       }},
      {"dot product", [](auto& machine) { machine.vectors.dot_s_per_element = 0.0; }},
      {"vector update", [](auto& machine) { machine.vectors.update_s_per_element = -1e-9; }},
      {"dot product",
       [](auto& machine) { machine.vectors.dot_s_per_element = PhysicalBounds::least_element_s / 4.0; }},
      // Threads divide the times.
      {"",
       [](auto& machine) {
         machine.calibrated_threads = 8;
         machine.vectors.dot_s_per_element = PhysicalBounds::least_element_s / 4.0;
       }},
      {"sell: the time per nonzero",
       [](auto& machine) { machine.kernels.front().shapes.front().seconds_per_nonzero = 0.0; }},
      {"on rows of 1",
       [](auto& machine) { machine.kernels.front().row_lengths.front().seconds_per_nonzero = 1.0; }},
      {"sell: waiting for other ranks",
       [](auto& machine) { machine.kernels.front().shapes.front().waiting_share = 1.185; }},
      {"", [](auto& machine) { machine.kernels.front().shapes.front().waiting_share = 0.9; }}};
  for (const auto& [words, change] : cases) {
    auto machine = quiet_machine();
    change(machine);
    const auto fault = why_unphysical(machine);
    EXPECT_EQ(fault.empty(), words.empty()) << fault;
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
  auto machine = quiet_machine();
  machine.kernels.front().shapes.front().waiting_share = 1.185;
  EXPECT_EQ(why_unphysical(machine, true), "") << "ranks that share cores wait for each other's work";
}

}  // namespace
}  // namespace cg2d::machine_description_test
