// The transport "shared" with threads instead of ranks: here the thread sanitizer sees both sides of every
// exchange. Every value is compared, while threads are late at random.

#include "comm/shared_memory.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/shared_counter.hpp"
#include "support/late_threads.hpp"
#include "support/layouts.hpp"
#include "support/product_check.hpp"

namespace cg2d::comm::shared_memory_test {
namespace {

/// Messages between threads.
class Mailboxes {
 public:
  void send(int from, int to, std::vector<double> values) {
    const std::lock_guard lock(mutex_);
    boxes_[{from, to}].push_back(std::move(values));
    has_news_.notify_all();
  }
  std::vector<double> receive(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    has_news_.wait(lock, [&] { return !box.empty(); });
    auto values = std::move(box.front());
    box.pop_front();
    return values;
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_news_;
  std::map<std::pair<int, int>, std::deque<std::vector<double>>> boxes_;
};

class ThreadMessages final : public NodeMessages {
 public:
  ThreadMessages(Mailboxes& boxes, int rank, const std::vector<NodeMessage>& sends,
                 const std::vector<NodeMessage>& receives)
      : boxes_(boxes), rank_(rank), sends_(sends), receives_(receives) {}

  /// Messages can arrive from now on, as with MPI.
  void start_receives() override {
    for (const auto& message : receives_) {
      for (const auto& range : message.ranges) std::ranges::fill(part(message, range), -1.0);
    }
  }
  void start_send(size_t which) override {
    std::vector<double> values;
    for (const auto& range : sends_[which].ranges) {
      const auto source = part(sends_[which], range);
      values.insert(values.end(), source.begin(), source.end());
    }
    boxes_.send(rank_, sends_[which].partner, std::move(values));
  }
  void wait_for_receive(size_t which) override {
    const auto values = boxes_.receive(receives_[which].partner, rank_);
    auto next = values.begin();
    for (const auto& range : receives_[which].ranges) {
      std::copy_n(next, range.size(), part(receives_[which], range).begin());
      next += range.size();
    }
  }
  void wait_for_send(size_t /*which*/) override {}

 private:
  static std::span<double> part(const NodeMessage& message, const IndexRange& range) {
    return message.buffer.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  }

  Mailboxes& boxes_;
  int rank_;
  std::vector<NodeMessage> sends_;
  std::vector<NodeMessage> receives_;
};

/// The first one adds up.
class ThreadSum final : public PreparedOperation {
 public:
  ThreadSum(Mailboxes& boxes, int rank, std::span<double> values, const std::vector<int>& ranks)
      : boxes_(boxes), rank_(rank), values_(values), ranks_(ranks) {}

  void run() override {
    const int first = ranks_.front();
    if (rank_ != first) {
      boxes_.send(rank_, first, {values_.begin(), values_.end()});
      std::ranges::copy(boxes_.receive(first, rank_), values_.begin());
      return;
    }
    for (const int rank : ranks_) {
      if (rank == first) continue;
      const auto theirs = boxes_.receive(rank, first);
      for (size_t k = 0; k < values_.size(); ++k) values_[k] += theirs[k];
    }
    for (const int rank : ranks_) {
      if (rank != first) boxes_.send(first, rank, {values_.begin(), values_.end()});
    }
  }

 private:
  Mailboxes& boxes_;
  int rank_;
  std::span<double> values_;
  std::vector<int> ranks_;
};

class ThreadLink final : public NodeLink {
 public:
  ThreadLink(Mailboxes& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  std::unique_ptr<NodeMessages> prepare(Operation /*operation*/, const std::vector<NodeMessage>& sends,
                                        const std::vector<NodeMessage>& receives) override {
    return std::make_unique<ThreadMessages>(boxes_, rank_, sends, receives);
  }
  std::unique_ptr<PreparedOperation> prepare_sum(std::span<double> values,
                                                 const std::vector<int>& ranks) override {
    return std::make_unique<ThreadSum>(boxes_, rank_, values, ranks);
  }

 private:
  Mailboxes& boxes_;
  int rank_;
};

/// Number of ranks per node; 0: one node.
NodeMap nodes_of(int rank_count, int ranks_per_node) {
  std::vector<int> node_of;
  for (int rank = 0; rank < rank_count; ++rank)
    node_of.push_back(ranks_per_node == 0 ? 0 : rank / ranks_per_node);
  return NodeMap(node_of);
}

/// Runs work(communicator, rank) in a thread for each rank of the layout's grid.
template <typename Work>
void run_threads(const BlockLayout& layout, WaitMode mode, int ranks_per_node, const Work& work) {
  const CommunicatorOptions options{.mirrored = true};
  const int rank_count = layout.grid().rank_count();
  const auto nodes = nodes_of(rank_count, ranks_per_node);
  std::vector<test::Pages> parts;
  for (int rank = 0; rank < rank_count; ++rank)
    parts.push_back(test::zeroed_pages(shared_part_byte_count(layout, nodes, rank, options)));
  Mailboxes boxes;
  test::run_ranks(rank_count, [&](int rank) {
    Waiter waiter(mode);
    NodePlace place{.rank = rank, .nodes = nodes, .parts = {}, .memory = nullptr, .waiter = waiter};
    for (const int other : nodes.ranks_of(nodes.node_of(rank)))
      place.parts.push_back(parts[static_cast<size_t>(other)].get());
    const SharedPeers peers{
        .ranks_sleep = mode == WaitMode::yield,
        .make_link = [&](TrafficCounts& /*sent*/) { return std::make_unique<ThreadLink>(boxes, rank); }};
    const auto communicator = make_shared_communicator(std::move(place), peers, layout, options);
    work(*communicator, rank);
  });
}

constexpr ProcessGrid square_of_four{.columns = 2, .rows = 2};

void expect_products_of_late_threads(const ProcessGrid& grid, WaitMode mode, int ranks_per_node, int rounds) {
  const auto layout = BlockLayout::even(37, grid);
  run_threads(layout, mode, ranks_per_node, [&](Communicator& communicator, int rank) {
    test::ProductCheck check(communicator, layout, rank);
    test::Delays delays(rank);
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      check.expect_collection(round);
      delays.maybe();
      check.expect_sum_and_shuffle(round);
      delays.maybe();
      check.expect_scalar_sum(2, round);
    }
  });
}

TEST(SharedMemoryTest, ProductsOfThreadsThatAreLateAtRandom) {
  // Seven exchanges per round and thread: more than a million together.
  expect_products_of_late_threads(square_of_four, WaitMode::yield, 0, test::stress_rounds(40'000));
}

TEST(SharedMemoryTest, ProductsOfThreadsThatSpin) {
  const int rounds = test::stress_rounds(40'000);
  expect_products_of_late_threads({.columns = 1, .rows = 2}, WaitMode::spin, 0, rounds);
  expect_products_of_late_threads({.columns = 2, .rows = 1}, WaitMode::spin, 0, rounds);
  expect_products_of_late_threads({.columns = 2, .rows = 1}, WaitMode::spin, 1, rounds / 10);
}

TEST(SharedMemoryTest, ProductsOverSeveralNodes) {
  for (const int ranks_per_node : {1, 2, 3}) {
    SCOPED_TRACE(ranks_per_node);
    expect_products_of_late_threads(square_of_four, WaitMode::yield, ranks_per_node,
                                    test::stress_rounds(4'000));
  }
}

TEST(SharedMemoryTest, WithoutASumOfScalarsInBetweenWritersWaitForReaders) {
  for (const auto& grid : factorizations(6)) {
    for (const auto& named : test::layouts_of(101, grid)) {
      for (const int ranks_per_node : {0, 2, 4}) {
        SCOPED_TRACE(test::describe(named) + ", nodes of " + std::to_string(ranks_per_node));
        run_threads(named.layout, WaitMode::yield, ranks_per_node, [&](Communicator& communicator, int rank) {
          test::ProductCheck check(communicator, named.layout, rank);
          test::Delays delays(rank);
          for (int round = 0; round < 30; ++round) {
            check.expect_collection(round);
            if (round % 3 == 0) continue;  // collections in a row
            delays.maybe();
            check.expect_sum_and_shuffle(round);
            if (round % 3 == 1) check.expect_sum_and_shuffle(round + 1000);  // sums in a row
          }
        });
      }
    }
  }
}

/// Data written before a counter is raised are visible to threads that poll it and to threads that sleep on
/// it.
TEST(SharedCounterTest, WhatWasWrittenBeforeIsSeenBehind) {
  for (const auto mode : {WaitMode::spin, WaitMode::yield}) {
    constexpr int rounds = 2'000;
    SharedCounter written{};
    SharedCounter read{};
    int value = 0;
    std::thread reader([&] {
      Waiter waiter(mode);
      for (int round = 1; round <= rounds; ++round) {
        written.wait_for(static_cast<uint64_t>(round), waiter);
        EXPECT_EQ(value, round);
        read.add_one(1);
      }
    });
    Waiter waiter(mode);
    for (int round = 1; round <= rounds; ++round) {
      value = round;
      written.add_one(1);
      read.wait_for(static_cast<uint64_t>(round), waiter);
    }
    reader.join();
  }
}

}  // namespace
}  // namespace cg2d::comm::shared_memory_test
