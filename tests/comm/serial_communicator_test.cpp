// One rank without MPI, and the misuse of collections. (The contract of all communicators is tested in
// communicator_contract_test.cpp.)

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <stdexcept>

#include "comm/communicator.hpp"
#include "support/product_check.hpp"

namespace cg2d::comm::serial_communicator_test {
namespace {

constexpr ProcessGrid one_rank{.columns = 1, .rows = 1};

TEST(SerialCommunicatorTest, WorksWhereMpiWasNotInitialized) {
  const auto layout = BlockLayout::even(101, one_rank);
  const auto communicator = make_serial_communicator(layout, {.mirrored = true});
  test::ProductCheck check(*communicator, layout, 0);
  for (int round = 0; round < 3; ++round) {
    check.expect_collection(round);
    check.expect_sum_and_shuffle(round);
    check.expect_collection_in_parts(round);
    check.expect_sum_and_shuffle(round);
  }
  std::array<double, 2> values{1.5, -2.0};
  communicator->sum_scalars(values);
  EXPECT_EQ(values, (std::array<double, 2>{1.5, -2.0}));
  int is_initialized = 1;
  MPI_Initialized(&is_initialized);
  EXPECT_EQ(is_initialized, 0) << "the test says nothing where MPI was initialized";
}

TEST(SerialCommunicatorTest, IsOfOneRankOnly) {
  const auto layout = BlockLayout::even(101, {.columns = 2, .rows = 1});
  EXPECT_THROW(static_cast<void>(make_serial_communicator(layout, {})), std::invalid_argument);
}

/// The calls in the wrong order. Without assertions the serial communicator survives them.
TEST(CollectionTest, MisuseIsAsserted) {
  const auto layout = BlockLayout::even(10, one_rank);
  EXPECT_DEBUG_DEATH(
      {
        const auto communicator = make_serial_communicator(layout, {});
        const auto collection = communicator->begin_collect();
      },
      "without finish");
  EXPECT_DEBUG_DEATH(
      {
        const auto communicator = make_serial_communicator(layout, {});
        auto first = communicator->begin_collect();
        auto second = communicator->begin_collect();
        second.finish();
        first.finish();
      },
      "not finished");
  EXPECT_DEBUG_DEATH(
      {
        const auto communicator = make_serial_communicator(layout, {});
        auto collection = communicator->begin_collect();
        collection.finish();
        collection.wait_for_part(0);
      },
      "is_finished_");
}

TEST(CollectionTest, AnExceptionOnItsWayMayLeaveItUnfinished) {
  const auto communicator = make_serial_communicator(BlockLayout::even(10, one_rank), {});
  EXPECT_THROW(
      {
        const auto collection = communicator->begin_collect();
        throw std::runtime_error("as MpiError from a product between two parts");
      },
      std::runtime_error);
}

TEST(CollectionTest, AMovedOneIsFinishedByItsOwnerOnly) {
  const auto communicator = make_serial_communicator(BlockLayout::even(10, one_rank), {});
  auto first = communicator->begin_collect();
  auto second = std::move(first);
  second.wait_for_part(0);
  second.finish();
  communicator->begin_collect().finish();
}

}  // namespace
}  // namespace cg2d::comm::serial_communicator_test
