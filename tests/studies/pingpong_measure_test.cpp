// Pairs of ranks, phases and sums are measured: every rank knows every figure.

#include "cg/studies/pingpong.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "comm/communicator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::pingpong_measure_test {
namespace {

using test::group;

TEST(PingPongMeasureTest, EveryRankKnowsEveryTime) {
  const int last = group().size() - 1;
  const TransferOptions transfers{
      .methods = {"put-delayed", "shared"}, .byte_counts = {8, 24}, .variable_counts = {1, 3}};
  const auto result = measure_pair(group(), {last, 0}, transfers, {});
  EXPECT_TRUE(result.same_node);
  EXPECT_TRUE(result.left_out.empty());
  EXPECT_EQ(result.times.size(), 8U);
  for (const auto& method : transfers.methods) {
    for (const auto bytes : transfers.byte_counts) {
      for (const int variables : transfers.variable_counts) {
        const auto time = std::ranges::find_if(result.times, [&](const auto& one) {
          return one.method == method && one.variable_count == variables && one.byte_count == bytes;
        });
        ASSERT_NE(time, result.times.end()) << method;
        EXPECT_GT(time->seconds.minimum, 0.0);
        EXPECT_GE(time->seconds.count, 5U);
        EXPECT_DOUBLE_EQ(time->bytes_per_s(), static_cast<double>(bytes) / time->seconds.median);
      }
    }
  }
  EXPECT_EQ(std::ranges::count(result.times, "blocking", &TransferTime::method), 0);
  EXPECT_EQ(result.lines().size(), 2U);
}

TEST(PingPongMeasureTest, PhasesAndSumsOfEveryTransport) {
  const auto transports = transports_for(group());
  EXPECT_EQ(transports.available.size() + transports.left_out.size(), comm::transport_table().size());
  const auto* small = find_class("S");
  for (const auto& grid : comm::factorizations(group().size())) {
    const auto phases = measure_phases(group(), transports, *small, {.grid = grid});
    EXPECT_EQ(phases.size(), transports.available.size());
    for (const auto& [transport, seconds] : phases)
      EXPECT_EQ(seconds.size(), communication_phases().size()) << transport;
  }
  const auto sums = time_sums(group(), transports.available, false, {.fewest_rounds = 2, .most_rounds = 2});
  EXPECT_EQ(sums.size(), transports.available.size() + 1);
  EXPECT_EQ(sums.back().way, "MPI_Iallreduce");
}

}  // namespace
}  // namespace cg2d::pingpong_measure_test
