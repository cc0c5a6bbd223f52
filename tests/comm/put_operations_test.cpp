// The protocol of the transport "put" with threads that write each other's memory.

#include "comm/put_operations.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "support/late_threads.hpp"
#include "support/thread_port.hpp"

namespace cg2d::comm::put_operations_test {
namespace {

using test::ThreadGroup;
using test::ThreadPort;

/// A collection and a sum over all ranks, a ring of single pieces, and a sum of scalars.
class PutRank {
 public:
  PutRank(ThreadGroup& group, const BlockLayout& layout, int rank, SumForm form)
      : layout_(layout), rank_(rank), rank_count_(layout.grid().rank_count()), port_(group, rank) {
    const GroupPieces pieces(layout, 0, rank_count_);
    const auto block_size = static_cast<size_t>(pieces.size());
    operand_ = operations_.allocate(block_size);
    partial_ = operations_.allocate(block_size);
    ring_ = operations_.allocate(index(piece_of(rank_).size()));
    scalar_ = operations_.allocate(1);
    const auto collective = [&](Operation operation, Schedule schedule, std::span<double> block) {
      return BlockCollective{.operation = operation,
                             .form = form,
                             .schedule = std::move(schedule),
                             .pieces = pieces,
                             .ranks = all_ranks(),
                             .member = rank,
                             .block = block};
    };
    collect_ =
        operations_.gather(collective(Operation::collect, all_gather_schedule(rank_count_, rank), operand_));
    sum_ =
        operations_.sum(collective(Operation::sum,
                                   form == SumForm::whole_block ? all_reduce_schedule(rank_count_, rank)
                                                                : reduce_scatter_schedule(rank_count_, rank),
                                   partial_));
    const int next = (rank + 1) % rank_count_;
    const int previous = (rank + rank_count_ - 1) % rank_count_;
    // Each rank's own piece, which is as long as that of the rank that it goes to.
    move_ = operations_.move({.operation = Operation::shuffle,
                              .sent = part_of(operand_, piece_of(rank_)),
                              .destination = next,
                              .received = ring_,
                              .source = previous});
    dot_ = operations_.sum({.operation = Operation::dot,
                            .form = SumForm::whole_block,
                            .schedule = all_reduce_schedule(rank_count_, rank),
                            .pieces = GroupPieces::of_scalars(rank_count_, 1),
                            .ranks = all_ranks(),
                            .member = rank,
                            .block = scalar_});
  }

  /// Every value is an integer, so every order of additions gives the same sum.
  void expect_product(int round) {
    for (auto i = mine().begin; i < mine().end; ++i) operand_[index(i)] = operand(i, round);
    collect_->run();
    for (int64_t i = 0; i < layout_.size(); ++i) ASSERT_EQ(operand_[index(i)], operand(i, round));
    move_->run();
    const auto previous = piece_of((rank_ + rank_count_ - 1) % rank_count_);
    for (int64_t i = 0; i < previous.size(); ++i)
      ASSERT_EQ(ring_[index(i)], operand(previous.begin + i, round));
    for (int64_t i = 0; i < layout_.size(); ++i) partial_[index(i)] = partial(i, rank_, round);
    sum_->run();
    for (auto i = mine().begin; i < mine().end; ++i) {
      double expected = 0.0;
      for (int rank = 0; rank < rank_count_; ++rank) expected += partial(i, rank, round);
      ASSERT_EQ(partial_[index(i)], expected);
    }
  }
  void expect_dot(int round) {
    scalar_[0] = partial(7, rank_, round);
    dot_->run();
    double expected = 0.0;
    for (int rank = 0; rank < rank_count_; ++rank) expected += partial(7, rank, round);
    ASSERT_EQ(scalar_[0], expected);
  }
  const TrafficCounts& sent() const { return sent_; }

 private:
  static double operand(int64_t index, int round) { return static_cast<double>(index + 1000 * round); }
  static double partial(int64_t index, int rank, int round) {
    return static_cast<double>((rank + 1) * (index + 3) + 7 * round);
  }
  static size_t index(int64_t i) { return static_cast<size_t>(i); }
  static std::span<double> part_of(std::span<double> block, const IndexRange& range) {
    return block.subspan(index(range.begin), index(range.size()));
  }
  IndexRange piece_of(int rank) const { return layout_.piece(rank); }
  IndexRange mine() const { return piece_of(rank_); }
  std::vector<int> all_ranks() const {
    std::vector<int> ranks(static_cast<size_t>(rank_count_));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  BlockLayout layout_;
  int rank_;
  int rank_count_;
  ThreadPort port_;
  TrafficCounts sent_;
  PutOperations operations_{port_, rank_, sent_};
  std::span<double> operand_;
  std::span<double> partial_;
  std::span<double> ring_;
  std::span<double> scalar_;
  std::unique_ptr<PreparedOperation> collect_;
  std::unique_ptr<PreparedOperation> sum_;
  std::unique_ptr<PreparedOperation> move_;
  std::unique_ptr<PreparedOperation> dot_;
};

template <typename Work>
int barriers_of(int rank_count, SumForm form, const Work& work) {
  const auto layout = BlockLayout::even(5 * rank_count, {.columns = rank_count, .rows = 1});
  constexpr size_t memory_size = 4096;
  ThreadGroup group(rank_count, memory_size);
  test::run_ranks(rank_count, [&](int rank) {
    PutRank put(group, layout, rank, form);
    work(put);
  });
  return group.barrier_count;
}

TEST(PutOperationsTest, ProductsOfThreadsThatAreLateAtRandom) {
  // With 3 and 4 threads together 34 messages per round: more than a million.
  for (const int rank_count : {3, 4}) {
    for (const auto form : {SumForm::reduce_scatter, SumForm::whole_block}) {
      SCOPED_TRACE(rank_count);
      const int barriers = barriers_of(rank_count, form, [&](PutRank& put) {
        const int rounds = test::stress_rounds(10'000);
        for (int round = 0; round < rounds && !testing::Test::HasFatalFailure(); ++round) {
          put.expect_product(round);
          put.expect_dot(round);
        }
        EXPECT_GT(put.sent().of(Operation::collect).message_count, rounds);
      });
      EXPECT_EQ(barriers, 0);  // a sum of scalars is between any two runs of an operation
    }
  }
}

TEST(PutOperationsTest, WithoutASumOfScalarsInBetweenThereIsABarrier) {
  for (const int rank_count : {2, 3, 5}) {
    const int barriers = barriers_of(rank_count, SumForm::reduce_scatter, [](PutRank& put) {
      for (int round = 0; round < 50; ++round) put.expect_product(round);
    });
    EXPECT_GT(barriers, 0);
  }
}

TEST(PutOperationsTest, ManySumsOfScalarsInARow) {
  for (const int rank_count : {1, 2, 3, 6}) {
    const int barriers = barriers_of(rank_count, SumForm::reduce_scatter, [](PutRank& put) {
      for (int round = 0; round < test::stress_rounds(2'000); ++round) put.expect_dot(round);
    });
    EXPECT_EQ(barriers, 0);
  }
}

}  // namespace
}  // namespace cg2d::comm::put_operations_test
