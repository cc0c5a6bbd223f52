// Pairs of ranks, phases and sums are measured: every rank knows every figure.

#include "cg/studies/pingpong.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "comm/communicator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::pingpong_measure_test {
namespace {

using test::group;

/// So much longer takes each MPI_Isend of this program.
std::chrono::milliseconds send_delay{0};

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

TEST(PingPongMeasureTest, ATransferIsHalfARoundTrip) {
  constexpr double delay_s = 0.006;
  send_delay = std::chrono::milliseconds(6);
  const auto result = measure_pair(
      group(), {0, 1}, {.methods = {"nonblocking"}, .byte_counts = {8}, .variable_counts = {1}}, {});
  send_delay = {};
  EXPECT_EQ(result.times.size(), 1U);
  for (const auto& time : result.times) {
    EXPECT_GE(time.seconds.minimum, delay_s);
    EXPECT_LT(time.seconds.minimum, 1.5 * delay_s);
  }
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

/// In place of the library's, by the profiling interface.
extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                         MPI_Comm communicator, MPI_Request* request) {
  std::this_thread::sleep_for(cg2d::pingpong_measure_test::send_delay);
  return PMPI_Isend(buffer, count, type, destination, tag, communicator, request);
}
