// The transport "shared" with threads instead of ranks: here the thread sanitizer sees both sides of every
// exchange. Every value is compared, while threads are late at random.

#include "comm/shared_memory.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "comm/shared_counter.hpp"
#include "layouts.hpp"
#include "product_check.hpp"

namespace cg2d::comm {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr int rounds_in_stress = 3'000;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int rounds_in_stress = 3'000;
#else
constexpr int rounds_in_stress = 60'000;
#endif
#else
constexpr int rounds_in_stress = 60'000;
#endif

/// Zeroed memory on a border of pages.
class Part {
 public:
  explicit Part(std::size_t byte_count) : bytes_(static_cast<std::byte*>(::operator new(byte_count, page))) {
    std::fill_n(bytes_, byte_count, std::byte{0});
  }
  ~Part() { ::operator delete(bytes_, page); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  Part(Part&&) = delete;
  Part& operator=(Part&&) = delete;

  [[nodiscard]] std::byte* data() const { return bytes_; }

 private:
  static constexpr std::align_val_t page{4096};
  std::byte* bytes_;
};

/// Runs work(communicator, rank) in a thread for each rank of the layout's grid.
template <typename Work>
void run_threads(const BlockLayout& layout, WaitMode mode, const Work& work) {
  const CommunicatorOptions options{.mirrored = true};
  const int rank_count = layout.grid().rank_count();
  const NodeMap nodes(std::vector<int>(static_cast<std::size_t>(rank_count), 0));
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<std::byte*> addresses;
  for (int rank = 0; rank < rank_count; ++rank) {
    parts.push_back(std::make_unique<Part>(shared_part_byte_count(layout, nodes, rank, options)));
    addresses.push_back(parts.back()->data());
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < rank_count; ++rank) {
    threads.emplace_back([&, rank] {
      Waiter waiter(mode);
      const auto communicator = make_shared_communicator(
          {.rank = rank, .nodes = nodes, .parts = addresses, .memory = nullptr, .waiter = waiter}, layout,
          options);
      work(*communicator, rank);
    });
  }
  for (auto& thread : threads) thread.join();
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

double scalar_of(int rank, int round) { return static_cast<double>((rank + 1) * 1000 + round % 1000); }

void expect_scalar_sum(Communicator& communicator, int rank, int rank_count, int round) {
  std::array<double, 2> values{scalar_of(rank, round), 1.0};
  communicator.sum_scalars(values);
  double expected = 0.0;
  for (int other = 0; other < rank_count; ++other) expected += scalar_of(other, round);
  EXPECT_EQ(values[0], expected);
  EXPECT_EQ(values[1], rank_count);
}

TEST(SharedMemoryTest, ProductsOfThreadsThatAreLateAtRandom) {
  // Seven exchanges per round and thread: more than a million together.
  const auto layout = BlockLayout::even(37, {.columns = 2, .rows = 2});
  run_threads(layout, WaitMode::yield, [&](Communicator& communicator, int rank) {
    test::ProductCheck check(communicator, layout, rank);
    Delays delays(rank);
    for (int round = 0; round < rounds_in_stress && !testing::Test::HasFailure(); ++round) {
      if (round % 2 == 0) check.expect_collection(round);
      if (round % 2 == 1) check.expect_collection_in_parts(round);
      delays.maybe();
      check.expect_sum_and_shuffle(round);
      delays.maybe();
      expect_scalar_sum(communicator, rank, 4, round);
    }
  });
}

TEST(SharedMemoryTest, WithoutASumOfScalarsInBetweenWritersWaitForReaders) {
  for (const auto& grid : factorizations(6)) {
    for (const auto& named : test::layouts_of(101, grid)) {
      SCOPED_TRACE(test::describe(named));
      run_threads(named.layout, WaitMode::yield, [&](Communicator& communicator, int rank) {
        test::ProductCheck check(communicator, named.layout, rank);
        Delays delays(rank);
        for (int round = 0; round < 60; ++round) {
          check.expect_collection(round);
          if (round % 5 == 0) check.expect_collection_in_parts(round + 500);
          if (round % 3 == 0) continue;  // collections in a row
          delays.maybe();
          check.expect_sum_and_shuffle(round);
          if (round % 3 == 1) check.expect_sum_and_shuffle(round + 1000);  // and sums
        }
      });
    }
  }
}

TEST(SharedMemoryTest, WorksWhereThreadsSpin) {
  const auto layout = BlockLayout::even(1000, {.columns = 1, .rows = 2});
  run_threads(layout, WaitMode::spin, [&](Communicator& communicator, int rank) {
    test::ProductCheck check(communicator, layout, rank);
    for (int round = 0; round < 100; ++round) {
      check.expect_collection(round);
      check.expect_sum_and_shuffle(round);
      expect_scalar_sum(communicator, rank, 2, round);
    }
  });
}

/// A counter hands over what was written in front of it, to those that poll and those that sleep.
TEST(SharedCounterTest, WhatWasWrittenBeforeIsSeenBehind) {
  for (const auto mode : {WaitMode::spin, WaitMode::yield}) {
    constexpr int rounds = 2'000;
    SharedCounter written{};
    SharedCounter read{};
    int value = 0;
    std::thread reader([&] {
      Waiter waiter(mode);
      for (int round = 1; round <= rounds; ++round) {
        written.wait_for(static_cast<std::uint64_t>(round), waiter);
        EXPECT_EQ(value, round);
        read.add(1);
      }
    });
    Waiter waiter(mode);
    for (int round = 1; round <= rounds; ++round) {
      value = round;
      written.add(1);
      read.wait_for(static_cast<std::uint64_t>(round), waiter);
    }
    reader.join();
  }
}

}  // namespace
}  // namespace cg2d::comm
