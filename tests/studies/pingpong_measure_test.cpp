// A measured transfer is half a round trip, on every rank. (What is measured: tests/program/pingpong_program_test.py.)

#include "cg/studies/pingpong.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <thread>

#include "support/mpi_test.hpp"

namespace cg2d::pingpong_measure_test {
namespace {

/// So much longer takes each MPI_Isend of this program.
std::chrono::milliseconds send_delay{0};

TEST(PingPongMeasureTest, ATransferIsHalfARoundTrip) {
  constexpr double delay_s = 0.006;
  send_delay = std::chrono::milliseconds(6);
  const auto result = measure_pair(
      test::group(), {0, 1}, {.methods = {"nonblocking"}, .byte_counts = {8}, .variable_counts = {1}}, {});
  send_delay = {};
  EXPECT_EQ(result.times.size(), 1U);
  for (const auto& time : result.times) {
    EXPECT_GE(time.seconds.minimum, delay_s);
    EXPECT_LT(time.seconds.minimum, 1.5 * delay_s);
  }
}

}  // namespace
}  // namespace cg2d::pingpong_measure_test

/// In place of the library's, by the profiling interface.
extern "C" int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int destination, int tag,
                         MPI_Comm communicator, MPI_Request* request) {
  std::this_thread::sleep_for(cg2d::pingpong_measure_test::send_delay);
  return PMPI_Isend(buffer, count, type, destination, tag, communicator, request);
}
