// Counts as MPI takes them. No MPI is needed to narrow one.

#include "comm/mpi_handles.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace cg2d::comm::mpi_handles_test {
namespace {

constexpr int largest = std::numeric_limits<int>::max();

TEST(IntCountTest, CountsThatFitAreTheSame) {
  EXPECT_EQ(int_count(size_t{0}), 0);
  EXPECT_EQ(int_count(int64_t{largest}), largest);
  EXPECT_EQ(int_count(size_t{largest}), largest);
}

TEST(IntCountTest, OthersThrowAndNameTheCount) {
  for (const auto count : {int64_t{largest} + 1, int64_t{1} << 32, int64_t{-1}})
    EXPECT_THROW(static_cast<void>(int_count(count)), std::overflow_error) << count;
  EXPECT_THROW(static_cast<void>(int_count(std::numeric_limits<size_t>::max())), std::overflow_error);
  try {
    static_cast<void>(int_count(int64_t{3'000'000'000}));
    FAIL() << "a count beyond an int was narrowed";
  } catch (const std::overflow_error& error) {
    EXPECT_NE(std::string(error.what()).find("3000000000"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(std::to_string(largest)), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cg2d::comm::mpi_handles_test
