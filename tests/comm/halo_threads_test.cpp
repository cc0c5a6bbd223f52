// The protocols of halos with threads instead of ranks, late at random: here the thread sanitizer sees both sides
// of every exchange.

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <memory>
#include <vector>

#include "comm/put_halo.hpp"
#include "comm/shared_halo.hpp"
#include "support/halo_check.hpp"
#include "support/late_threads.hpp"
#include "support/thread_port.hpp"

namespace cg2d::comm::halo_threads_test {
namespace {

using test::HaloCheck;

constexpr HaloShape with_corners{.width = 1, .has_corners = true};

std::vector<DomainLayout> layouts() {
  return {DomainLayout({6, 1, 1}, {.parts = {3, 1, 1}}), DomainLayout({5, 4, 1}, {.parts = {2, 2, 1}}),
          DomainLayout({2, 7, 3}, {.parts = {1, 2, 2}}), DomainLayout({2, 3, 1}, {.parts = {4, 1, 1}})};
}

/// Exchanges in a row, waiting for the readers each time but where all threads have met.
void exchange(HaloExchange& halo, const DomainLayout& layout, int rank, std::barrier<>& everybody) {
  const HaloCheck check(halo, layout, rank, with_corners);
  test::Delays delays(rank);
  auto operand = halo.operand();
  const int rounds = test::stress_rounds(20'000);
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
    test::ThreadGroup group(rank_count, memory_size);
    std::barrier<> everybody(rank_count);
    test::run_ranks(rank_count, [&](int rank) {
      EXPECT_LE(put_halo_memory_size(layout, rank, with_corners), static_cast<int64_t>(memory_size));
      const auto halo = make_put_halo(std::make_unique<test::ThreadPort>(group, rank), rank, layout,
                                      {.shape = with_corners});
      exchange(*halo, layout, rank, everybody);
    });
    EXPECT_EQ(group.barrier_count, 0);
  }
}

TEST(HaloThreadsTest, ReadersInPlaceThatAreLateAtRandom) {
  for (const auto mode : {WaitMode::spin, WaitMode::yield}) {
    for (const auto& layout : layouts()) {
      const int rank_count = layout.grid().rank_count();
      std::vector<test::Pages> memory;
      std::vector<std::byte*> parts;
      for (int rank = 0; rank < rank_count; ++rank) {
        memory.push_back(test::zeroed_pages(shared_halo_byte_count(layout, rank)));
        parts.push_back(memory.back().get());
      }
      std::barrier<> everybody(rank_count);
      test::run_ranks(rank_count, [&](int rank) {
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
}  // namespace cg2d::comm::halo_threads_test
