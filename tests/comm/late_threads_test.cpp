// The protocols of transports with threads in place of ranks, late at random: here the thread sanitizer sees both sides of every exchange. Every
// value is compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/halo.hpp"
#include "comm/put_link.hpp"
#include "comm/shared_memory.hpp"
#include "support/halo_check.hpp"
#include "support/layouts.hpp"
#include "support/product_check.hpp"
#include "support/sanitizers.hpp"
#include "support/test_extent.hpp"

namespace cg2d::comm::late_threads_test {
namespace {

/// Number of rounds of a stress test: fewer where the thread sanitizer makes each one long, and by default.
int stress_rounds(int count) {
  constexpr int sanitized_part = 20;
  constexpr int usual_part = 4;
  return test::has_thread_sanitizer ? count / sanitized_part : test::by_extent(count / usual_part, count);
}

/// Late now and then, by nothing, a moment, or the time slice.
class Delays {
 public:
  explicit Delays(int rank) : random_(static_cast<unsigned>(rank) + 1) {}
  void maybe() {
    const auto drawn = random_() % 256;
    if (drawn == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (drawn < 16) std::this_thread::yield();
  }

 private:
  std::minstd_rand random_;
};

/// Zeroed memory on a border of pages.
struct alignas(4096) Page {
  std::array<std::byte, 4096> bytes{};
};
std::vector<Page> zeroed_pages(size_t byte_count) { return std::vector<Page>(byte_count / sizeof(Page) + 1); }

/// Runs work(rank) in a thread for each rank.
void run_ranks(int rank_count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) threads.emplace_back(work, rank);
  for (auto& thread : threads) thread.join();
}

// ---------------------------------------------------------------- put

/// Data that the threads of one test share.
struct ThreadGroup {
  explicit ThreadGroup(int rank_count, size_t memory_size)
      : memory(static_cast<size_t>(rank_count), std::vector<double>(memory_size)),
        slots(static_cast<size_t>(rank_count)),
        everybody(rank_count) {}

  std::vector<std::vector<double>> memory;  // by rank
  std::vector<std::vector<PutSlot>> slots;
  std::barrier<> everybody;
  std::atomic<int> barrier_count{0};
};

/// Writes as late as it may: complete() writes all puts, the first one last.
class ThreadPort final : public PutPort {
 public:
  ThreadPort(ThreadGroup& group, int rank) : group_(group), rank_(rank), delays_(rank) {}

  [[nodiscard]] std::span<double> memory() override { return memory_of(rank_); }
  void put(int rank, int64_t offset, std::span<const double> values) override {
    pending_.push_back({.rank = rank, .offset = offset, .values = values});
  }
  void complete(int rank) override {
    for (auto put = pending_.rbegin(); put != pending_.rend(); ++put) {
      EXPECT_EQ(put->rank, rank);
      std::ranges::copy(put->values, memory_of(rank).begin() + put->offset);
      delays_.maybe();
    }
    pending_.clear();
  }
  void notify(int rank, int64_t flag, uint64_t number) override {
    EXPECT_TRUE(pending_.empty());
    word(rank, flag).store(number, std::memory_order_release);
  }
  void wait_for(int /*sender*/, int64_t flag, uint64_t number) override {
    delays_.maybe();
    while (word(rank_, flag).load(std::memory_order_acquire) != number) {
      EXPECT_LT(word(rank_, flag).load(std::memory_order_relaxed), number + 1) << "a sender ran ahead";
      std::this_thread::yield();
    }
  }
  [[nodiscard]] bool has(int64_t flag, uint64_t number) override {
    return word(rank_, flag).load(std::memory_order_acquire) == number;
  }
  void wait_for_all() override {
    group_.everybody.arrive_and_wait();
    ++group_.barrier_count;
  }
  std::vector<std::vector<PutSlot>> gather(const std::vector<PutSlot>& mine) override {
    group_.slots[static_cast<size_t>(rank_)] = mine;
    group_.everybody.arrive_and_wait();
    auto all = group_.slots;
    group_.everybody.arrive_and_wait();
    return all;
  }

 private:
  struct Pending {
    int rank;
    int64_t offset;
    std::span<const double> values;
  };
  std::span<double> memory_of(int rank) { return group_.memory[static_cast<size_t>(rank)]; }
  std::atomic_ref<uint64_t> word(int rank, int64_t flag) {
    return std::atomic_ref<uint64_t>(reinterpret_cast<uint64_t&>(memory_of(rank)[static_cast<size_t>(flag)]));
  }

  ThreadGroup& group_;
  int rank_;
  Delays delays_;
  std::vector<Pending> pending_;
};

MakeLink put_link(ThreadGroup& group, int rank) {
  return [&group, rank](TrafficCounts& sent) {
    return std::make_unique<PutLink>(std::make_unique<ThreadPort>(group, rank), rank, sent);
  };
}

TEST(PutLinkTest, ProductsOfThreadsThatAreLateAtRandom) {
  constexpr int64_t memory_size = 4096;
  // With 3 and 4 threads together 44 messages per round, in each form, and more for the sums in a row: about a million.
  for (const auto grid : {ProcessGrid{.columns = 3, .rows = 1}, ProcessGrid{.columns = 2, .rows = 2}}) {
    for (const auto form : all_sum_forms) {
      SCOPED_TRACE(grid.name());
      const auto layout = BlockLayout::even(5 * grid.rank_count(), grid);
      const CommunicatorOptions options{.sum_form = form, .mirrored = true};
      ThreadGroup group(grid.rank_count(), memory_size);
      run_ranks(grid.rank_count(), [&](int rank) {
        EXPECT_LE(put_memory_size(layout, rank, options), memory_size);
        Waiter waiter(WaitMode::yield);
        const auto communicator =
            make_buffered_communicator("put", {rank, waiter}, layout, options, put_link(group, rank));
        test::ProductCheck check(*communicator, layout, rank);
        const int rounds = stress_rounds(10'000);
        for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
          check.expect_collection(round);
          check.expect_sum_and_shuffle(round);
          for (int sum = 0; sum <= round % 4; ++sum) check.expect_scalar_sum(1, round + sum);
        }
        EXPECT_GT(communicator->sent(Operation::collect).message_count, rounds);
        EXPECT_EQ(group.barrier_count, 0);  // a sum of scalars was between any two runs of an operation
        for (int round = 0; round < 50; ++round) {
          std::vector<double> values{1.0};
          ScalarSum sum(*communicator, values);
          check.expect_collection(round);
          sum.finish();
          EXPECT_EQ(values.front(), grid.rank_count());
          check.expect_collection(round + 100);  // the sum began before the last one: a barrier
          check.expect_scalar_sum(1, round);
        }
      });
      EXPECT_GT(group.barrier_count, 0);
    }
  }
}

// ---------------------------------------------------------------- shared

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

class ThreadMessages final : public Messages {
 public:
  ThreadMessages(Mailboxes& boxes, int rank, const std::vector<Message>& sends,
                 const std::vector<Message>& receives)
      : boxes_(boxes), rank_(rank), sends_(sends), receives_(receives), own_(receives.size()) {
    for (size_t which = 0; which < receives_.size(); ++which) {
      if (!receives_[which].buffer.empty()) continue;
      own_[which].resize(static_cast<size_t>(receives_[which].element_count()));
      receives_[which].buffer = own_[which];
    }
  }

  /// The message can arrive from now on, as with MPI.
  void start_receive(size_t which) override {
    for (const auto& range : receives_[which].ranges) std::ranges::fill(part(receives_[which], range), -1.0);
  }
  void start_send(size_t which) override {
    if (sends_[which].ranges.empty()) return;
    std::vector<double> values;
    for (const auto& range : sends_[which].ranges) {
      const auto source = part(sends_[which], range);
      values.insert(values.end(), source.begin(), source.end());
    }
    boxes_.send(rank_, sends_[which].partner, std::move(values));
  }
  bool has_arrived(size_t which) override {
    wait_for_receive(which);
    return true;
  }
  void wait_for_receive(size_t which) override {
    if (receives_[which].ranges.empty()) return;
    const auto values = boxes_.receive(receives_[which].partner, rank_);
    auto next = values.begin();
    for (const auto& range : receives_[which].ranges) {
      std::copy_n(next, range.size(), part(receives_[which], range).begin());
      next += range.size();
    }
  }
  void wait_for_send(size_t /*which*/) override {}
  std::span<const double> received(size_t which) const override { return receives_[which].buffer; }

 private:
  static std::span<double> part(const Message& message, const IndexRange& range) {
    return message.buffer.subspan(static_cast<size_t>(range.begin), static_cast<size_t>(range.size()));
  }

  Mailboxes& boxes_;
  int rank_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<std::vector<double>> own_;
};

class ThreadLink final : public MessageLink {
 public:
  ThreadLink(Mailboxes& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  std::span<double> allocate(size_t /*count*/) override { return {}; }
  std::unique_ptr<Messages> prepare(Operation /*operation*/, const std::vector<Message>& sends,
                                    const std::vector<Message>& receives) override {
    return std::make_unique<ThreadMessages>(boxes_, rank_, sends, receives);
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

/// Products on a grid, each rank in a thread. Where no sum of scalars is between them, writers wait for readers.
void expect_products(const BlockLayout& layout, WaitMode mode, int ranks_per_node, int rounds) {
  const CommunicatorOptions options{.mirrored = true};
  const int rank_count = layout.grid().rank_count();
  const auto nodes = nodes_of(rank_count, ranks_per_node);
  std::vector<std::vector<Page>> parts;
  for (int rank = 0; rank < rank_count; ++rank)
    parts.push_back(zeroed_pages(shared_part_byte_count(layout, nodes, rank, options)));
  Mailboxes boxes;
  run_ranks(rank_count, [&](int rank) {
    Waiter waiter(mode);
    NodePlace place{.rank = rank, .nodes = nodes, .parts = {}, .memory = nullptr, .waiter = waiter};
    for (const int other : nodes.ranks_of(nodes.node_of(rank)))
      place.parts.push_back(reinterpret_cast<std::byte*>(parts[static_cast<size_t>(other)].data()));
    const SharedPeers peers{
        .ranks_sleep = mode == WaitMode::yield,
        .make_link = [&](TrafficCounts& /*sent*/) { return std::make_unique<ThreadLink>(boxes, rank); }};
    const auto communicator = make_shared_communicator(std::move(place), peers, layout, options);
    test::ProductCheck check(*communicator, layout, rank);
    Delays delays(rank);
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
      check.expect_collection(round);
      if (round % 5 == 0) continue;  // collections in a row
      delays.maybe();
      check.expect_sum_and_shuffle(round);
      if (round % 3 == 1) check.expect_sum_and_shuffle(round + 1000);  // sums in a row
      delays.maybe();
      if (round % 7 < 3) check.expect_scalar_sum(2, round);
    }
  });
}

TEST(SharedMemoryTest, ProductsOfThreadsThatAreLateAtRandom) {
  struct Case {
    ProcessGrid grid;
    WaitMode mode;
    int ranks_per_node;
    int rounds;
  };
  constexpr ProcessGrid square_of_four{.columns = 2, .rows = 2};
  // Some seven exchanges per round and thread: more than a million together on one node.
  for (const auto& [grid, mode, ranks_per_node, rounds] :
       {Case{square_of_four, WaitMode::yield, 0, 40'000},
        Case{{.columns = 1, .rows = 2}, WaitMode::spin, 0, 40'000},
        Case{{.columns = 2, .rows = 1}, WaitMode::spin, 0, 40'000},
        Case{{.columns = 2, .rows = 1}, WaitMode::spin, 1, 4'000},
        Case{square_of_four, WaitMode::yield, 1, 4'000}, Case{square_of_four, WaitMode::yield, 2, 4'000},
        Case{square_of_four, WaitMode::yield, 3, 4'000}}) {
    SCOPED_TRACE(grid.name() + ", nodes of " + std::to_string(ranks_per_node));
    expect_products(BlockLayout::even(37, grid), mode, ranks_per_node, stress_rounds(rounds));
  }
  for (const auto& grid : factorizations(6)) {
    for (const auto& named : test::layouts_of(101, grid)) {
      for (const int ranks_per_node : {0, 2, 4}) {
        SCOPED_TRACE(test::describe(named) + ", nodes of " + std::to_string(ranks_per_node));
        expect_products(named.layout, WaitMode::yield, ranks_per_node, 30);
      }
    }
  }
}

// ---------------------------------------------------------------- halos

constexpr HaloShape with_corners{.width = 1, .has_corners = true};

std::vector<DomainLayout> layouts() {
  return {DomainLayout({6, 1, 1}, {.parts = {3, 1, 1}}), DomainLayout({5, 4, 1}, {.parts = {2, 2, 1}}),
          DomainLayout({2, 7, 3}, {.parts = {1, 2, 2}}), DomainLayout({2, 3, 1}, {.parts = {4, 1, 1}})};
}

/// Exchanges in a row, waiting for the readers each time but where all threads have met.
void exchange(HaloExchange& halo, const DomainLayout& layout, int rank, std::barrier<>& everybody) {
  const test::HaloCheck check(halo, layout, rank, with_corners);
  Delays delays(rank);
  auto operand = halo.operand();
  const int rounds = stress_rounds(20'000);
  for (int round = 0; round < rounds; ++round) {
    if (round % 8 == 7) {
      everybody.arrive_and_wait();
    } else {
      operand = halo.operand();
    }
    check.write(operand, round);
    delays.maybe();
    check.expect_exchange(operand, round);
  }
}

TEST(HaloThreadsTest, PutsOfThreadsThatAreLateAtRandom) {
  for (const auto& layout : layouts()) {
    const int rank_count = layout.grid().rank_count();
    constexpr size_t memory_size = 1024;
    ThreadGroup group(rank_count, memory_size);
    std::barrier<> everybody(rank_count);
    run_ranks(rank_count, [&](int rank) {
      EXPECT_LE(put_halo_memory_size(layout, rank, with_corners), static_cast<int64_t>(memory_size));
      const auto halo = make_message_halo(put_link(group, rank), rank, layout, {.shape = with_corners});
      exchange(*halo, layout, rank, everybody);
    });
    EXPECT_EQ(group.barrier_count, 0);
  }
}

TEST(HaloThreadsTest, ReadersInPlaceThatAreLateAtRandom) {
  for (const auto mode : {WaitMode::spin, WaitMode::yield}) {
    for (const auto& layout : layouts()) {
      const int rank_count = layout.grid().rank_count();
      std::vector<std::vector<Page>> memory;
      std::vector<std::byte*> parts;
      for (int rank = 0; rank < rank_count; ++rank) {
        memory.push_back(zeroed_pages(shared_halo_byte_count(layout, rank)));
        parts.push_back(reinterpret_cast<std::byte*>(memory.back().data()));
      }
      std::barrier<> everybody(rank_count);
      run_ranks(rank_count, [&](int rank) {
        Waiter waiter(mode);
        NodePlace place{.rank = rank,
                        .nodes = NodeMap(std::vector<int>(static_cast<size_t>(rank_count), 0)),
                        .parts = parts,
                        .memory = nullptr,
                        .waiter = waiter};
        const auto halo = make_shared_halo(std::move(place), {}, layout, {.shape = with_corners});
        exchange(*halo, layout, rank, everybody);
      });
    }
  }
}

}  // namespace
}  // namespace cg2d::comm::late_threads_test
