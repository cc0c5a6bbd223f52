// Descriptions that a calibration beside other load once saved, and one of a quiet machine.

#include "cg/machine/machine_description.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace cg2d::physical_bounds_test {
namespace {

/// A machine as measured on two quiet cores, 2026-11-22.
MachineDescription quiet_machine() {
  MachineDescription machine;
  machine.network = {.start_up_s = 0.7e-6, .bytes_per_s = 5e9, .add_s_per_element = 0.2e-9};
  machine.vectors = {.dot_s_per_element = 0.18e-9, .update_s_per_element = 0.27e-9};
  machine.kernels = {
      {.name = "sell",
       .shapes = {{.rows = 700, .columns = 1400, .nonzeros = 4e4, .seconds_per_nonzero = 0.3e-9}},
       .row_lengths = {{.row_length = 16.0, .seconds_per_nonzero = 0.4e-9}}}};
  machine.calibrated_ranks = 2;
  machine.calibrated_threads = 1;
  machine.transports = {
      {.name = "put", .network = {.start_up_s = 1e-6, .bytes_per_s = 8e9, .add_s_per_element = 1.5e-9}}};
  return machine;
}

template <typename Change>
std::string fault_after(const Change& change) {
  auto machine = quiet_machine();
  change(machine);
  return why_unphysical(machine);
}

TEST(PhysicalBoundsTest, AQuietMachineIsWithin) { EXPECT_EQ(why_unphysical(quiet_machine()), ""); }

TEST(PhysicalBoundsTest, FitsThatHitTheirBoundAreNamed) {
  const auto expect = [](const std::string& fault, const char* words) {
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  };
  expect(fault_after([](auto& machine) { machine.network.bytes_per_s = 1e12; }), "two-sided: the rate");
  expect(fault_after([](auto& machine) { machine.network.add_s_per_element = 0.0; }), "an addition");
  expect(fault_after([](auto& machine) { machine.network.start_up_s = 0.0; }), "start-up");
  expect(fault_after(
             [](auto& machine) { machine.network.start_up_s = std::numeric_limits<double>::quiet_NaN(); }),
         "start-up");
  expect(fault_after([](auto& machine) { machine.transports.front().network.bytes_per_s = 1e12; }),
         "put: the rate");
  expect(fault_after([](auto& machine) { machine.vectors.dot_s_per_element = 0.0; }), "dot product");
  expect(fault_after([](auto& machine) { machine.vectors.update_s_per_element = -1e-9; }), "vector update");
  expect(fault_after([](auto& machine) { machine.kernels.front().shapes.front().seconds_per_nonzero = 0.0; }),
         "sell: the time per nonzero");
  expect(fault_after(
             [](auto& machine) { machine.kernels.front().row_lengths.front().seconds_per_nonzero = 1.0; }),
         "on rows of 16");
}

TEST(PhysicalBoundsTest, ATransportThatReadsInPlaceHasNoBytesToMove) {
  EXPECT_EQ(fault_after([](auto& machine) {
              machine.transports = {
                  {.name = "shared",
                   .network = {.start_up_s = 1e-6, .bytes_per_s = 1e12, .add_s_per_element = 2e-10}}};
            }),
            "");
}

TEST(PhysicalBoundsTest, RanksWithCoresOfTheirOwnDoNotWaitLongerThanTheyMultiply) {
  auto machine = quiet_machine();
  machine.kernels.front().shapes.front().waiting_share = 1.185;
  EXPECT_NE(why_unphysical(machine).find("sell: waiting for other ranks"), std::string::npos);
  EXPECT_EQ(why_unphysical(machine, true), "") << "ranks that share cores wait for each other's work";
  machine.kernels.front().shapes.front().waiting_share = 0.9;
  EXPECT_EQ(why_unphysical(machine), "");
}

TEST(PhysicalBoundsTest, ThreadsDivideTheTimes) {
  const auto with_threads = [](int thread_count) {
    return fault_after([&](auto& machine) {
      machine.calibrated_threads = thread_count;
      machine.vectors.dot_s_per_element = PhysicalBounds::least_element_s / 4.0;
    });
  };
  EXPECT_NE(with_threads(1), "");
  EXPECT_EQ(with_threads(8), "");
}

}  // namespace
}  // namespace cg2d::physical_bounds_test
