// The protocol of the transport "put" with threads that write each other's memory.

#include "comm/put_operations.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "support/late_threads.hpp"
#include "support/product_check.hpp"
#include "support/thread_port.hpp"

namespace cg2d::comm::put_operations_test {
namespace {

/// work(communicator, check) in a thread for each rank. Returns how often they have met at barriers.
template <typename Work>
int barriers_of(ProcessGrid grid, SumForm form, const Work& work) {
  const auto layout = BlockLayout::even(5 * grid.rank_count(), grid);
  const CommunicatorOptions options{.sum_form = form, .mirrored = true};
  constexpr int64_t memory_size = 4096;
  test::ThreadGroup group(grid.rank_count(), memory_size);
  test::run_ranks(grid.rank_count(), [&](int rank) {
    EXPECT_LE(put_memory_size(layout, rank, options), memory_size);
    Waiter waiter(WaitMode::yield);
    test::ThreadPort port(group, rank);
    const auto communicator = make_buffered_communicator(
        "put", {rank, waiter}, layout, options,
        [&](TrafficCounts& sent) { return std::make_unique<PutOperations>(port, rank, sent); });
    test::ProductCheck check(*communicator, layout, rank);
    work(*communicator, check);
  });
  return group.barrier_count;
}

TEST(PutOperationsTest, ProductsOfThreadsThatAreLateAtRandom) {
  // With 3 and 4 threads together 44 messages per round, in each form: almost a million.
  for (const auto grid : {ProcessGrid{.columns = 3, .rows = 1}, ProcessGrid{.columns = 2, .rows = 2}}) {
    for (const auto form : all_sum_forms) {
      SCOPED_TRACE(grid.name());
      const int barriers =
          barriers_of(grid, form, [&](Communicator& communicator, test::ProductCheck& check) {
            const int rounds = test::stress_rounds(10'000);
            for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
              check.expect_collection(round);
              check.expect_sum_and_shuffle(round);
              check.expect_scalar_sum(1, round);
            }
            EXPECT_GT(communicator.sent(Operation::collect).message_count, rounds);
          });
      EXPECT_EQ(barriers, 0);  // a sum of scalars is between any two runs of an operation
    }
  }
}

TEST(PutOperationsTest, WithoutASumOfScalarsInBetweenThereIsABarrier) {
  for (const auto grid : {ProcessGrid{.columns = 2, .rows = 1}, ProcessGrid{.columns = 1, .rows = 3},
                          ProcessGrid{.columns = 5, .rows = 1}}) {
    const int barriers =
        barriers_of(grid, SumForm::reduce_scatter, [](Communicator& /*all*/, test::ProductCheck& check) {
          for (int round = 0; round < 50; ++round) {
            check.expect_collection(round);
            check.expect_sum_and_shuffle(round);
            check.expect_collection_in_parts(round);
          }
        });
    EXPECT_GT(barriers, 0);
  }
}

TEST(PutOperationsTest, ManySumsOfScalarsInARow) {
  for (const int rank_count : {1, 2, 3, 6}) {
    const int barriers = barriers_of({.columns = rank_count, .rows = 1}, SumForm::reduce_scatter,
                                     [](Communicator& /*all*/, test::ProductCheck& check) {
                                       const int rounds = test::stress_rounds(2'000);
                                       for (int round = 0; round < rounds; ++round)
                                         check.expect_scalar_sum(1, round);
                                     });
    EXPECT_EQ(barriers, 0);
  }
}

}  // namespace
}  // namespace cg2d::comm::put_operations_test
