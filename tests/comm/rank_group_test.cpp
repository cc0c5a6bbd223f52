// Collective operations of a group of ranks, and counts as MPI takes them.

#include "comm/rank_group.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/mpi_handles.hpp"
#include "comm/rma_window.hpp"
#include "comm/shared_segment.hpp"
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
                         testing::Values(WaitMode::yield, WaitMode::spin, WaitMode::sleep, WaitMode::block));

TEST_P(RankGroupTest, HasACommunicatorOfItsOwn) {
  int comparison = MPI_UNEQUAL;
  MPI_Comm_compare(group_.handle(), group().handle(), &comparison);
  EXPECT_EQ(comparison, MPI_CONGRUENT);
  int rank = -1;
  MPI_Comm_rank(group().handle(), &rank);
  EXPECT_EQ(rank_, rank);
  EXPECT_EQ(group_.waiter().mode(), GetParam());
}

TEST_P(RankGroupTest, ReducesNumbers) {
  EXPECT_EQ(group_.sum(int64_t{rank_} + 1), int64_t{size_} * (size_ + 1) / 2);
  EXPECT_EQ(group_.sum_of_lower_ranks(int64_t{rank_} + 1), int64_t{rank_} * (rank_ + 1) / 2);
  EXPECT_EQ(group_.maximum(int64_t{-rank_}), 0);
  EXPECT_EQ(group_.minimum(int64_t{-rank_}), 1 - size_);
  // Beyond 32 bits: counts of nonzeros are.
  constexpr int64_t large = int64_t{1} << 40;
  EXPECT_EQ(group_.sum(large), large * size_);
  EXPECT_EQ(group_.minimum(std::numeric_limits<int64_t>::min() + rank_), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(group_.maximum(0.5 - rank_), 0.5);
  EXPECT_EQ(group_.maximum(-1.0 - rank_), -1.0);  // not 0, where a reduction might start
}

TEST_P(RankGroupTest, GathersRaggedAndEmptyPartsAndTexts) {
  // Rank r gives r % 3 numbers: nothing from every third.
  const auto part_of = [](int rank) {
    return std::vector<int64_t>(static_cast<size_t>(rank % 3), 100 + rank);
  };
  const auto text_of = [](int rank) {
    return rank % 2 == 0 ? "rank " + std::to_string(rank) : std::string();
  };
  const auto mine = part_of(rank_);
  const auto parts = group_.gather_all(std::span<const int64_t>(mine));
  const auto texts = group_.gather_all(text_of(rank_));
  ASSERT_EQ(parts.size(), static_cast<size_t>(size_));
  ASSERT_EQ(texts.size(), static_cast<size_t>(size_));
  for (int r = 0; r < size_; ++r) {
    EXPECT_EQ(parts[static_cast<size_t>(r)], part_of(r));
    EXPECT_EQ(texts[static_cast<size_t>(r)], text_of(r));
  }
  EXPECT_EQ(group_.gather_all(std::span<const double>()),
            std::vector<std::vector<double>>(static_cast<size_t>(size_)));
}

TEST_P(RankGroupTest, BroadcastsTheTextOfRankZero) {
  const std::string long_text(300'001, 'x');
  for (const auto& text : {std::string("from rank 0"), std::string(), long_text})
    EXPECT_EQ(group_.broadcast(rank_ == 0 ? text : "a text that nobody gets"), text);
}

/// Message from `source` to `destination`: empty for some pairs, beyond MPI's eager limit for one.
std::vector<uint64_t> words_between(int source, int destination) {
  const int count = source == 0 && destination == 0 ? 0 : (source * 7 + destination * 3) % 5;
  const size_t length = source == 0 && destination == 1 ? 100'003 : static_cast<size_t>(count);
  return std::vector<uint64_t>(length, static_cast<uint64_t>(source * 1000 + destination));
}

TEST_P(RankGroupTest, ExchangesRaggedAndEmptyPartsAndMovesWhatGoesToTheRankItself) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::vector<uint64_t>> outgoing;
    for (int r = 0; r < size_; ++r) outgoing.push_back(words_between(rank_, r));
    const auto* const own = outgoing[static_cast<size_t>(rank_)].data();
    const auto incoming = group_.exchange(std::move(outgoing));
    ASSERT_EQ(incoming.size(), static_cast<size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      EXPECT_EQ(incoming[static_cast<size_t>(r)], words_between(r, rank_)) << "from rank " << r;
    }
    EXPECT_EQ(incoming[static_cast<size_t>(rank_)].data(), own);
  }
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

TEST_P(RankGroupTest, AWindowIsLittleLargerThanWasAskedForAndIsReusedOrFreed) {
  if (const auto why = why_not_mapped(group_); !why.empty()) GTEST_SKIP() << why;
  auto window = group_.borrow_window(1025, 0);
  EXPECT_LE(window->memory().size(), 1025U + 1025U / 8);
  EXPECT_EQ(window.use_count(), 2);
  const auto* const first = window.get();
  window.reset();
  window = group_.borrow_window(1000, 0);
  EXPECT_EQ(window.get(), first);
  const std::weak_ptr<RmaWindow> released = window;
  window.reset();
  window = group_.borrow_window(3000, 0);
  EXPECT_TRUE(released.expired());
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
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("MPI_Send: ") && text.size() > std::string("MPI_Send: ").size()) << text;
  }
  // To a rank that does not exist: MPI must return the error (MPI_ERRORS_RETURN), not end the program.
  EXPECT_THROW(group().send_text("lost", group().size()), MpiError);
}

/// Counts as MPI takes them.
TEST(IntCountTest, CountsThatFitAreTheSameAndOthersThrowAndNameTheCount) {
  constexpr int largest = std::numeric_limits<int>::max();
  EXPECT_EQ(int_count(size_t{0}), 0);
  EXPECT_EQ(int_count(int64_t{largest}), largest);
  EXPECT_EQ(int_count(size_t{largest}), largest);
  EXPECT_THROW(static_cast<void>(int_count(std::numeric_limits<size_t>::max())), std::overflow_error);
  for (const auto count : {int64_t{largest} + 1, int64_t{1} << 32, int64_t{-1}}) {
    try {
      static_cast<void>(int_count(count));
      ADD_FAILURE() << count << " was narrowed";
    } catch (const std::overflow_error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(count)), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(std::to_string(largest)), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cg2d::comm::rank_group_test
