// The contract of every transport's halo: every cut in 1, 2 and 3 dimensions of the ranks, wide and narrow, with
// and without corners, thin and empty boxes.

#include "comm/halo.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"
#include "support/halo_check.hpp"
#include "support/mpi_test.hpp"
#include "support/test_extent.hpp"

namespace cg2d::comm::halo_contract_test {
namespace {

using test::group;
using test::HaloCheck;

/// One node, and pretended ones, where the transport tells nodes apart.
std::vector<int> node_sizes_of(const TransportRow& transport) {
  if (!transport.shares_memory || group().size() == 1) return {0};
  // Waiting inside of MPI takes a time slice where ranks outnumber cores (rma_window.hpp).
  if (transport.needs_calls_of_target && group().size() > 2) return {0};
  return {0, 1, 2};
}

/// By default, one halo of so many has its turn: fewer where ranks outnumber cores, since each exchange then waits for time
/// slices, and where nodes are pretended. Odd, so that every cut and every shape has its turn.
int halos_per_turn(int ranks_per_node) {
  if (test::is_thorough()) return 1;
  if (ranks_per_node > 0) return group().size() > 4 ? 11 : 5;
  return group().size() > 4 ? 7 : 3;
}

/// Calls visit(transport, options, layout) for all transports of this machine.
template <typename Visit>
void for_every_case(const Visit& visit) {
  for (const auto& transport : transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    for (const int ranks_per_node : node_sizes_of(transport)) {
      int number = 0;
      test::for_every_halo(group().size(), [&](const DomainLayout& layout, const HaloShape& shape) {
        if (++number % halos_per_turn(ranks_per_node) != 0) return;
        SCOPED_TRACE(std::string(transport.name) + ", " + std::to_string(ranks_per_node) +
                     " ranks per node, " + test::describe(layout, shape));
        visit(transport, HaloOptions{.shape = shape, .ranks_per_node = ranks_per_node}, layout);
      });
    }
  }
}

/// The parts whose points are sent: inside a node some transports read in place.
std::vector<HaloPart> parts_that_are_sent(const TransportRow& transport, const HaloOptions& options,
                                          const DomainLayout& layout) {
  const auto nodes = make_node_map(group(), options.ranks_per_node);
  auto parts = halo_parts(layout, group().rank(), options.shape);
  if (transport.reads_in_place) {
    std::erase_if(parts, [&](const HaloPart& part) {
      return nodes.node_of(part.partner) == nodes.node_of(group().rank());
    });
  }
  return parts;
}

/// The traffic that one exchange of this rank counts as sent.
Traffic expected_traffic(const TransportRow& transport, const HaloOptions& options,
                         const DomainLayout& layout) {
  auto traffic = test::halo_traffic(parts_that_are_sent(transport, options, layout));
  // A collective counts as one call.
  if (transport.uses_collectives) traffic.message_count = std::min<int64_t>(traffic.message_count, 1);
  return traffic;
}

TEST(HaloContractTest, EveryPointArrivesInEveryRoundAndIsCounted) {
  for_every_case([](const TransportRow& transport, const HaloOptions& options, const DomainLayout& layout) {
    const auto halo = transport.make_halo(group(), layout, options);
    const HaloCheck check(*halo, layout, group().rank(), options.shape);
    const auto once = expected_traffic(transport, options, layout);
    Traffic expected;
    auto operand = halo->operand();
    for (int round = 0; round < 6; ++round) {
      // Either the exchange waits for the readers, or all ranks have come through a sum.
      if (round % 3 == 2) {
        static_cast<void>(group().sum(1));
      } else {
        operand = halo->operand();
      }
      check.write(operand, round);
      check.expect_exchange(operand, round);
      expected += once;
      EXPECT_EQ(halo->sent(), expected) << "round " << round;
    }
  });
}

TEST(HaloContractTest, SeveralExchangesDoNotMixUp) {
  for (const auto& transport : transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    SCOPED_TRACE(transport.name);
    const DomainLayout wide({9, 8, 7}, best_domain_grid({9, 8, 7}, group().size()));
    const DomainLayout thin({2, 30, 1}, best_domain_grid({2, 30, 1}, group().size()));
    const HaloOptions corners{.shape = {.width = 1, .has_corners = true}};
    const auto first = transport.make_halo(group(), wide, corners);
    const auto second = transport.make_halo(group(), thin, corners);
    const HaloCheck check_first(*first, wide, group().rank(), corners.shape);
    const HaloCheck check_second(*second, thin, group().rank(), corners.shape);
    for (int round = 0; round < 4; ++round) {
      const auto operand = first->operand();
      const auto other = second->operand();
      check_first.write(operand, round);
      check_second.write(other, round + 100);
      second->start();
      check_first.expect_exchange(operand, round);
      second->finish();
      second->done();
      check_second.write(second->operand(), round + 200);
      check_second.expect_exchange(other, round + 200);
    }
  }
}

}  // namespace
}  // namespace cg2d::comm::halo_contract_test
