#pragma once

// Threads in place of ranks that write each other's memory: a port of the transport "put".

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include "comm/put_operations.hpp"
#include "support/late_threads.hpp"

namespace cg2d::test {

using comm::PutPort;
using comm::PutSlot;

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
  void wait_for(int64_t flag, uint64_t number) override {
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

}  // namespace cg2d::test
