// Collective operations of a group of ranks.

#include "comm/rank_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/mpi_test.hpp"

namespace cg2d::comm::rank_group_test {
namespace {

using test::group;

/// The group of the test program, waiting as ranks do that yield, and as ranks with a core of their own.
class RankGroupTest : public testing::TestWithParam<WaitMode> {
 protected:
  RankGroup group_{group().handle(), GetParam()};
  const int rank_ = group_.rank();
  const int size_ = group_.size();
};

INSTANTIATE_TEST_SUITE_P(WaitModes, RankGroupTest,
                         testing::Values(WaitMode::yield, WaitMode::spin, WaitMode::sleep, WaitMode::block),
                         [](const auto& mode) {
                           switch (mode.param) {
                             case WaitMode::yield:
                               return "yield";
                             case WaitMode::spin:
                               return "spin";
                             case WaitMode::sleep:
                               return "sleep";
                             case WaitMode::block:
                               break;
                           }
                           return "block";
                         });

TEST_P(RankGroupTest, HasACommunicatorOfItsOwn) {
  int comparison = MPI_UNEQUAL;
  MPI_Comm_compare(group_.handle(), group().handle(), &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
  int rank = -1;
  MPI_Comm_rank(group().handle(), &rank);
  EXPECT_EQ(rank_, rank);
  EXPECT_EQ(group_.waiter().mode(), GetParam());
}

TEST_P(RankGroupTest, ReducesIntegers) {
  EXPECT_EQ(group_.sum(int64_t{rank_} + 1), int64_t{size_} * (size_ + 1) / 2);
  EXPECT_EQ(group_.maximum(int64_t{-rank_}), 0);
  EXPECT_EQ(group_.minimum(int64_t{-rank_}), 1 - size_);
  // Beyond 32 bits: counts of nonzeros are.
  constexpr int64_t large = int64_t{1} << 40;
  EXPECT_EQ(group_.sum(large), large * size_);
  EXPECT_EQ(group_.minimum(std::numeric_limits<int64_t>::min() + rank_), std::numeric_limits<int64_t>::min());
}

TEST_P(RankGroupTest, ReducesDoubles) {
  EXPECT_EQ(group_.maximum(0.5 - rank_), 0.5);
  EXPECT_EQ(group_.maximum(-1.0 - rank_), -1.0);  // not 0, where a reduction might start
}

TEST_P(RankGroupTest, SumsTheLowerRanks) {
  EXPECT_EQ(group_.sum_of_lower_ranks(int64_t{rank_} + 1), int64_t{rank_} * (rank_ + 1) / 2);
}

TEST_P(RankGroupTest, GathersRaggedAndEmptyParts) {
  // Rank r gives r % 3 numbers: nothing from every third.
  const std::vector<int64_t> mine(static_cast<size_t>(rank_ % 3), 100 + rank_);
  const auto all = group_.gather_all(std::span<const int64_t>(mine));
  EXPECT_EQ(all.size(), static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(all[static_cast<size_t>(r)], std::vector<int64_t>(static_cast<size_t>(r % 3), 100 + r));
  }
}

TEST_P(RankGroupTest, GathersNothingFromAll) {
  const auto all = group_.gather_all(std::span<const double>());
  EXPECT_EQ(all, std::vector<std::vector<double>>(static_cast<size_t>(size_)));
}

TEST_P(RankGroupTest, GathersTexts) {
  const auto texts = group_.gather_all(rank_ % 2 == 0 ? "rank " + std::to_string(rank_) : std::string());
  EXPECT_EQ(texts.size(), static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(texts[static_cast<size_t>(r)], r % 2 == 0 ? "rank " + std::to_string(r) : std::string());
  }
}

TEST_P(RankGroupTest, BroadcastsTheTextOfRankZero) {
  EXPECT_EQ(group_.broadcast(rank_ == 0 ? "from rank 0" : "a longer text that nobody gets"), "from rank 0");
  EXPECT_EQ(group_.broadcast(rank_ == 0 ? "" : "something"), "");
  const std::string long_text(300'001, 'x');
  EXPECT_EQ(group_.broadcast(rank_ == 0 ? long_text : ""), long_text);
}

/// Message from `source` to `destination`: empty for some pairs, beyond MPI's eager limit for one.
std::vector<uint64_t> words_between(int source, int destination) {
  const int count = source == 0 && destination == 0 ? 0 : (source * 7 + destination * 3) % 5;
  const size_t length = source == 0 && destination == 1 ? 100'003 : static_cast<size_t>(count);
  return std::vector<uint64_t>(length, static_cast<uint64_t>(source * 1000 + destination));
}

TEST_P(RankGroupTest, ExchangesRaggedAndEmptyParts) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::vector<uint64_t>> outgoing;
    for (int r = 0; r < size_; ++r) outgoing.push_back(words_between(rank_, r));
    const auto incoming = group_.exchange(std::move(outgoing));
    EXPECT_EQ(incoming.size(), static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      EXPECT_EQ(incoming[static_cast<size_t>(r)], words_between(r, rank_)) << "from rank " << r;
    }
  }
}

TEST_P(RankGroupTest, ExchangeMovesWhatGoesToTheRankItself) {
  std::vector<std::vector<uint64_t>> outgoing(static_cast<size_t>(size_));
  auto& own = outgoing[static_cast<size_t>(rank_)];
  own.assign(1000, 7);
  const auto* const data = own.data();
  const auto incoming = group_.exchange(std::move(outgoing));
  EXPECT_EQ(incoming[static_cast<size_t>(rank_)].data(), data);
}

TEST_P(RankGroupTest, TheFirstRanksAreAGroupOfTheirOwn) {
  for (int count = 1; count <= size_; ++count) {
    if (rank_ < count) {
      auto first = group_.first_ranks(count, GetParam());
      EXPECT_EQ(first.size(), count);
      EXPECT_EQ(first.rank(), rank_);
      EXPECT_EQ(first.waiter().mode(), GetParam());
      EXPECT_EQ(first.sum(int64_t{1}), count);
      EXPECT_EQ(first.broadcast(rank_ == 0 ? "from rank 0" : ""), "from rank 0");
    }
    group_.barrier();  // the others wait here
  }
}

TEST_P(RankGroupTest, TextsArriveInOrder) {
  const std::string long_text(3'000'017, static_cast<char>('a' + rank_));
  if (rank_ != 0) {
    for (const auto& text : {std::string("first"), long_text, std::string()}) group_.send_text(text, 0);
  }
  for (int source = 1; rank_ == 0 && source < size_; ++source) {
    EXPECT_EQ(group_.receive_text(source), "first");
    EXPECT_TRUE(group_.receive_text(source) == std::string(3'000'017, static_cast<char>('a' + source)));
    EXPECT_EQ(group_.receive_text(source), "");
  }
  group_.barrier();
}

/// A tick source that counts how often it is read.
uint64_t counted_ticks = 0;
uint64_t count_ticks() noexcept { return ++counted_ticks; }

TEST_P(RankGroupTest, WaitingIsMeasuredOnlyWithATickSource) {
  group_.barrier();
  EXPECT_EQ(group_.waiter().wait_count(), 0U);
  EXPECT_EQ(group_.waiter().waited_ticks(), 0U);
  group_.waiter().set_tick_source(&count_ticks);
  const auto before = counted_ticks;
  group_.barrier();
  group_.barrier();
  EXPECT_EQ(group_.waiter().wait_count(), 2U);
  EXPECT_EQ(group_.waiter().waited_ticks(), 2U);  // read before and after each wait
  EXPECT_EQ(counted_ticks, before + 4);
  group_.waiter().wait_all({});  // nothing to wait for: nothing is read
  EXPECT_EQ(group_.waiter().wait_count(), 2U);
}

TEST(MpiErrorTest, NamesTheCallAndTheReason) {
  EXPECT_NO_THROW(check(MPI_SUCCESS, "MPI_Send"));
  try {
    check(MPI_ERR_RANK, "MPI_Send");
    ADD_FAILURE() << "no exception";
  } catch (const MpiError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("MPI_Send: ", 0), 0U) << error.what();
    EXPECT_GT(std::string(error.what()).size(), std::string("MPI_Send: ").size());
  }
}

TEST(MpiErrorTest, AFailedCallOfAGroupThrows) {
  // To a rank that does not exist: MPI must return the error (MPI_ERRORS_RETURN), not end the program.
  EXPECT_THROW(group().send_text("lost", group().size()), MpiError);
}

}  // namespace
}  // namespace cg2d::comm::rank_group_test
