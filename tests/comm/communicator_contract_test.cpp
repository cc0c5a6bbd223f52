// The contract of every transport, on every grid of the ranks, in both forms of the sum, on even, ragged and
// empty pieces.

#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"
#include "comm/shared_segment.hpp"
#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/mpi_test.hpp"
#include "support/product_check.hpp"
#include "support/test_extent.hpp"

namespace cg2d::comm::communicator_contract_test {
namespace {

using test::copy_of;
using test::group;
using test::ProductCheck;

struct Case {
  TransportRow transport;
  SumForm form;
  int ranks_per_node;
  const test::NamedLayout& named;

  const BlockLayout& layout() const { return named.layout; }
  std::unique_ptr<Communicator> make() const {
    return transport.make(group(), layout(),
                          {.sum_form = form, .mirrored = true, .ranks_per_node = ranks_per_node});
  }
  std::string text() const {
    return std::string(transport.name) +
           (form == SumForm::whole_block ? ", whole block" : ", reduce-scatter") + ", " +
           std::to_string(ranks_per_node) + " ranks per node, " + test::describe(named);
  }
};

/// One node, and pretended ones of one rank, of a few, of all but one: where the transport tells nodes apart.
std::set<int> node_sizes(const TransportRow& transport) {
  if (!transport.shares_memory || group().size() == 1) return {0};
  // Waiting inside of MPI takes a time slice where ranks outnumber cores (rma_window.hpp).
  constexpr int most_ranks_that_wait_in_mpi = 2;
  if (transport.needs_calls_of_target && group().size() > most_ranks_that_wait_in_mpi) return {0};
  return {0, 1, 2, group().size() - 1};
}

/// By default, one case of so many has its turn where ranks outnumber cores, since each operation then waits for time slices, and where nodes are
/// pretended. Odd, so that every cut and every form has its turn.
int cases_per_turn(int ranks_per_node) {
  if (test::is_thorough()) return 1;
  if (ranks_per_node > 0) return group().size() > 4 ? 11 : group().size() > 2 ? 7 : 3;
  return group().size() > 2 ? 3 : 1;
}

/// Every transport that can serve, every size of nodes, every grid of the ranks, every cut of every given size, every form of the sum.
template <typename Visit>
void for_every_case(const std::set<int64_t>& sizes, const Visit& visit) {
  for (const auto& transport : transport_table()) {
    if (!transport.why_unavailable(group()).empty()) continue;
    for (const int ranks_per_node : node_sizes(transport)) {
      int number = ranks_per_node;  // other cases for each size
      for (const int64_t n : sizes) {
        test::for_every_layout(n, group().size(), [&](const test::NamedLayout& named) {
          for (const auto form : transport.sum_forms) {
            if (number++ % cases_per_turn(ranks_per_node) != 0) continue;
            const Case current{
                .transport = transport, .form = form, .ranks_per_node = ranks_per_node, .named = named};
            SCOPED_TRACE(current.text());
            visit(current);
          }
        });
      }
    }
  }
}

/// Numbers whose sum depends on the order of the additions.
std::vector<double> awkward_scalars(int rank, size_t count, int round) {
  std::vector<double> values;
  for (size_t k = 0; k < count; ++k) {
    const double sign = (rank + round) % 3 == 0 ? -1.0 : 1.0;
    const int exponent = (rank * 29 + static_cast<int>(k) * 13 + round) % 70 - 35;
    values.push_back(sign * std::ldexp(1.0 + 1.0 / (rank + 3), exponent));
  }
  return values;
}

/// Whether the transport adds in the order of the butterfly. Nodes add up their ranks first: that is the same
/// order where they and the number of ranks are powers of two.
bool adds_as_butterfly(const Case& current) {
  const auto is_power_of_two = [](int number) { return std::has_single_bit(static_cast<unsigned>(number)); };
  if (current.transport.reads_in_place && current.ranks_per_node > 0)
    return is_power_of_two(current.ranks_per_node) && is_power_of_two(group().size());
  return !current.transport.uses_collectives;
}

/// Expects the bits of the butterfly, hence the same on every rank and on every run, where the
/// communicator adds in that order.
void expect_scalar_sum(const Case& current, Communicator& communicator, size_t count, int round) {
  auto values = awkward_scalars(group().rank(), count, round);
  communicator.sum_scalars(values);
  for (size_t k = 0; k < count; ++k) {
    std::vector<double> terms;  // of all ranks
    double magnitude = 0.0;     // the error of any order of additions is relative to it
    for (int rank = 0; rank < group().size(); ++rank) {
      terms.push_back(awkward_scalars(rank, count, round)[k]);
      magnitude += std::abs(terms.back());
    }
    const double expected = sum_as_all_reduce(terms);
    if (adds_as_butterfly(current)) {
      EXPECT_TRUE(test::same_bits(values[k], expected)) << values[k] << " instead of " << expected;
    } else {
      constexpr double rounding = 1e-15;
      EXPECT_NEAR(values[k], expected, rounding * group().size() * magnitude);
    }
  }
}

Traffic times(Traffic traffic, int factor) {
  return {.message_count = traffic.message_count * factor, .byte_count = traffic.byte_count * factor};
}

// ---------------------------------------------------------------- the contract

TEST(TransportTableTest, NamesAreFoundAndEveryTransportHasAFormOfTheSum) {
  EXPECT_FALSE(transport_table().empty());
  for (const auto& row : transport_table()) {
    EXPECT_EQ(find_transport(row.name)->description, row.description);
    EXPECT_FALSE(row.description.empty());
    ASSERT_FALSE(row.sum_forms.empty()) << row.name;
    for (const auto form : all_sum_forms)
      EXPECT_EQ(row.has(form), std::ranges::count(row.sum_forms, form) == 1) << row.name;
  }
  EXPECT_EQ(find_transport("no such transport"), nullptr);
  EXPECT_EQ(find_transport(""), nullptr);
}

TEST(TransportTableTest, TheDefaultServesEverywhereAndThatOfAGroupIsByItsNodes) {
  EXPECT_EQ(default_transport().why_unavailable(group()), "");
  EXPECT_EQ(std::ranges::count(transport_table(), true, &TransportRow::is_default_on_a_node), 1);
  const auto& here = default_transport(group(), 0);
  EXPECT_TRUE(here.is_default_on_a_node || !why_not_mapped(group()).empty()) << here.name;
  const bool has_several_nodes = group().size() > 2;
  EXPECT_EQ(&default_transport(group(), 2), has_several_nodes ? &default_transport() : &here);
}

/// Hands out memory of the heap, and counts it.
class CountingMemory final : public std::pmr::memory_resource {
 public:
  size_t taken_byte_count() const { return taken_byte_count_; }
  bool is_given_back() const { return blocks_.empty(); }
  /// Whether memory that is still allocated has not been written to.
  bool is_untouched() const {
    return std::ranges::all_of(blocks_, [](const auto& block) {
      return std::ranges::all_of(block, [](auto byte) { return byte == untouched_byte; });
    });
  }

 private:
  void* do_allocate(size_t byte_count, size_t alignment) override {
    taken_byte_count_ += byte_count;
    auto* const address = static_cast<std::byte*>(::operator new (byte_count, std::align_val_t{alignment}));
    std::fill_n(address, byte_count, untouched_byte);
    blocks_.emplace_back(address, byte_count);
    return address;
  }
  void do_deallocate(void* address, size_t byte_count, size_t alignment) override {
    std::erase_if(blocks_,
                  [&](const auto& block) { return block.data() == address && block.size() == byte_count; });
    ::operator delete (address, std::align_val_t{alignment});
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  static constexpr std::byte untouched_byte{0x5a};
  std::vector<std::span<const std::byte>> blocks_;
  size_t taken_byte_count_ = 0;
};

TEST(CommunicatorContractTest, BuffersComeFromTheMemoryThatItIsGivenAndAreNotTouchedAtSetUp) {
  for_every_case({1009}, [](const Case& current) {
    CountingMemory memory;
    {
      const auto communicator = current.transport.make(group(), current.layout(),
                                                       {.sum_form = current.form,
                                                        .mirrored = true,
                                                        .ranks_per_node = current.ranks_per_node,
                                                        .memory = &memory});
      EXPECT_TRUE(memory.is_untouched());
      ProductCheck check(*communicator, current.layout(), group().rank());
      check.expect_collection(0);
      const auto taken = memory.taken_byte_count();
      check.expect_sum_and_shuffle(0);
      check.expect_collection_in_parts(1);
      check.expect_sum_and_shuffle(1);
      EXPECT_EQ(memory.taken_byte_count(), taken) << "memory was taken in an operation";
      if (!current.transport.shares_memory) {
        EXPECT_GE(taken, communicator->column_block().size_bytes() + communicator->partial().size_bytes());
      }
    }
    EXPECT_TRUE(memory.is_given_back());
  });
}

/// Empty, one, fewer elements than ranks, more than ranks, and a prime that leaves most pieces uneven: its pieces and blocks are far beyond MPI's
/// eager limit, so that senders wait for receivers; but not on many ranks, which mostly wait for a core.
std::set<int64_t> contract_sizes() {
  constexpr int most_ranks = 6;
  const int64_t prime = group().size() <= most_ranks ? 80'021 : 1009;
  return {0, 1, group().size() - 1, group().size() + 1, prime};
}

/// Ranks that spin have a core of their own: with more ranks than cores each wait would take long, and the program would not choose it.
std::vector<WaitMode> wait_modes() {
  if (group().size() > 2) return {group().waiter().mode()};
  return {WaitMode::spin, WaitMode::yield};
}

TEST(CommunicatorContractTest, CollectsWholeAndInPartsSumsAndShufflesEveryLayout) {
  const auto usual_mode = group().waiter().mode();
  for (const auto mode : wait_modes()) {
    group().waiter().set_mode(mode);
    for_every_case(contract_sizes(), [](const Case& current) {
      const auto communicator = current.make();
      EXPECT_EQ(communicator->name(), current.transport.name);  // the forced transport, and no other
      ProductCheck check(*communicator, current.layout(), group().rank());
      for (int round = 0; round < 2; ++round) {
        check.expect_collection(round);
        check.expect_sum_and_shuffle(round);
      }
      for (int round = 4; round < 6; ++round) {
        check.expect_collection_in_parts(round);
        check.expect_sum_and_shuffle(round);
        expect_scalar_sum(current, *communicator, 1, round);
      }
    });
  }
  group().waiter().set_mode(usual_mode);
}

/// The counts of a sum of scalars take turns.
size_t count_in_turn(int round) {
  return Communicator::scalar_counts[static_cast<size_t>(round) % Communicator::scalar_counts.size()];
}

TEST(CommunicatorContractTest, StaleBuffersDoNotShowWhenOperationsAlternateOrFollowThemselves) {
  for_every_case({1009}, [](const Case& current) {
    const auto communicator = current.make();
    ProductCheck check(*communicator, current.layout(), group().rank());
    for (int round = 0; round < test::by_extent(8, 20); ++round) {
      check.expect_collection(round);
      check.expect_sum_and_shuffle(round);
      expect_scalar_sum(current, *communicator, count_in_turn(round), round);
    }
    // Fast ranks run ahead of slow ones: a message of the next round must not land in this one's buffer.
    for (int round = 0; round < 5; ++round) check.expect_collection(round);
    for (int round = 0; round < 5; ++round) check.expect_collection_in_parts(round);
    for (int round = 0; round < 5; ++round) check.expect_sum_and_shuffle(round);
    for (int round = 0; round < 5; ++round) expect_scalar_sum(current, *communicator, 2, round);
  });
}

/// Nothing else ends the reading of buffers here: piece() and partial() must know that a sum in two halves does
/// so for what was written before it began alone.
TEST(CommunicatorContractTest, ScalarSumsInTwoHalvesLetAllOtherOperationsRunInBetween) {
  for_every_case({97}, [](const Case& current) {
    const auto communicator = current.make();
    ProductCheck check(*communicator, current.layout(), group().rank());
    for (int round = 0; round < 12; ++round) {
      const size_t count = count_in_turn(round);
      auto whole = awkward_scalars(group().rank(), count, round);
      communicator->sum_scalars(whole);
      auto values = awkward_scalars(group().rank(), count, round);
      if (round % 3 == 0) check.expect_collection(round + 300);
      ScalarSum sum(*communicator, values);
      check.expect_collection(round);
      check.expect_sum_and_shuffle(round);
      if (round % 2 == 0) check.expect_collection_in_parts(round + 100);
      sum.finish();
      EXPECT_TRUE(test::same_bits(values, whole));
      check.expect_collection(round + 200);
      check.expect_sum_and_shuffle(round + 200);
    }
    const auto dots = times(dot_traffic(group().size(), group().rank(), 1), 24);
    if (current.transport.follows_schedules()) {
      EXPECT_EQ(communicator->sent(Operation::dot).message_count, dots.message_count);
    }
  });
}

TEST(CommunicatorContractTest, SumsHaveTheSameBitsEveryTimeAndThoseOfScalarsOnEveryRank) {
  for_every_case({101}, [](const Case& current) {
    const auto communicator = current.transport.make(
        group(), current.layout(), {.sum_form = current.form, .ranks_per_node = current.ranks_per_node});
    EXPECT_EQ(communicator->mirror(), nullptr) << "nothing is mirrored unless asked";
    std::vector<double> first;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto mine = communicator->partial();
      for (size_t k = 0; k < mine.size(); ++k) {
        mine[k] = awkward_scalars(group().rank() + static_cast<int>(k), 1, 0).front();
      }
      communicator->sum();
      communicator->shuffle();
      if (repeat == 0) first = copy_of(communicator->result());
      EXPECT_TRUE(test::same_bits(communicator->result(), first));
    }
    for (const auto count : Communicator::scalar_counts) {
      expect_scalar_sum(current, *communicator, count, 0);
      for (int repeat = 0; repeat < 2; ++repeat) {
        auto values = awkward_scalars(group().rank(), count, 1);
        communicator->sum_scalars(values);
        if (repeat == 0) first = values;
        for (const auto& others : group().gather_all(std::span<const double>(values)))
          EXPECT_TRUE(test::same_bits(others, first));
      }
    }
  });
}

TEST(CommunicatorContractTest, AnExceptionOnItsWayMayLeaveACollectionUnfinished) {
  if (group().size() > 1) return;
  const auto communicator =
      default_transport().make(group(), BlockLayout::even(10, {.columns = 1, .rows = 1}), {});
  EXPECT_THROW(
      {
        const Collection collection(*communicator);
        throw std::runtime_error("as MpiError from a product between two parts");
      },
      std::runtime_error);
}

/// A call of a collective of a group of more than one rank, and the bytes that this rank passes to it.
Traffic calls_of(int group_size, int64_t element_count) {
  if (group_size == 1) return {};
  return {.message_count = 1, .byte_count = element_count * static_cast<int64_t>(sizeof(double))};
}

/// The traffic of one product in both directions and a sum of three scalars, by operation.
std::array<Traffic, 4> traffic_of_a_product(const Case& current) {
  const int rank = group().rank();
  const auto& layout = current.layout();
  const auto shuffled = shuffle_traffic(layout, rank) + mirrored_shuffle_traffic(layout, rank);
  if (current.transport.follows_schedules()) {
    return {collection_traffic(layout, rank) + collection_traffic(layout, rank, Line::process_row),
            summation_traffic(layout, rank, current.form) +
                summation_traffic(layout, rank, current.form, Line::process_column),
            shuffled, dot_traffic(group().size(), rank, 3)};
  }
  const auto grid = layout.grid();
  return {calls_of(grid.rows, layout.own_piece(rank).size()) +
              calls_of(grid.columns, layout.piece(layout.row_piece_of(rank)).size()),
          calls_of(grid.columns, layout.rows_of(rank).size()) +
              calls_of(grid.rows, layout.columns_of(rank).size()),
          shuffled, calls_of(group().size(), 3)};
}

TEST(CommunicatorContractTest, CountsTheMessagesOrTheCallsOfCollectivesThatItMakes) {
  for_every_case({101}, [](const Case& current) {
    if (current.transport.reads_in_place) return;
    const auto communicator = current.make();
    for (int k = 0; k < operation_count; ++k) {
      EXPECT_EQ(communicator->sent(static_cast<Operation>(k)), Traffic{}) << "operation " << k;
    }
    constexpr int repeats = 3;
    ProductCheck check(*communicator, current.layout(), group().rank());
    for (int round = 0; round < repeats; ++round) {
      check.expect_collection(round);
      check.expect_collection_in_parts(round + 100);
      check.expect_sum_and_shuffle(round);
      expect_scalar_sum(current, *communicator, 3, round);
    }
    auto expected = traffic_of_a_product(current);
    auto& collected = expected[static_cast<size_t>(Operation::collect)];
    auto& shuffled = expected[static_cast<size_t>(Operation::shuffle)];
    collected = times(collected, 2);
    shuffled +=
        mirrored_shuffle_traffic(current.layout(), group().rank());  // a mirrored collection begins with one
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(communicator->sent(static_cast<Operation>(k)), times(expected[k], repeats))
          << "operation " << k;
  });
}

/// Sum over all ranks.
Traffic sent_by_all(const Communicator& communicator, Operation operation) {
  const auto mine = communicator.sent(operation);
  return {.message_count = group().sum(mine.message_count), .byte_count = group().sum(mine.byte_count)};
}

TEST(CommunicatorContractTest, BetweenNodesOneMessageForEachPairAndOperation) {
  for_every_case({101}, [](const Case& current) {
    if (!current.transport.reads_in_place) return;
    const auto& layout = current.layout();
    const auto nodes = make_node_map(group(), current.ranks_per_node);
    const auto communicator = current.transport.make(
        group(), layout, {.sum_form = current.form, .ranks_per_node = current.ranks_per_node});
    std::vector<double> values(1, 1.0);
    communicator->collect();
    communicator->sum();
    communicator->shuffle();
    communicator->sum_scalars(values);
    Traffic collected;
    Traffic summed;
    constexpr auto element_bytes = static_cast<int64_t>(sizeof(double));
    for (int from = 0; from < nodes.node_count(); ++from) {
      for (int to = 0; to < nodes.node_count(); ++to) {
        if (from == to) continue;
        int64_t elements = 0;
        for (const auto& range : collected_ranges(layout, nodes, false, from, to)) elements += range.size();
        if (elements > 0) collected += {.message_count = 1, .byte_count = elements * element_bytes};
        const auto sums = sums_between(layout, nodes, Line::process_row, from, to);
        if (layout.grid().columns > 1 && sums.element_count > 0)
          summed += {.message_count = 1, .byte_count = sums.element_count * element_bytes};
      }
    }
    EXPECT_EQ(sent_by_all(*communicator, Operation::collect), collected);
    EXPECT_EQ(sent_by_all(*communicator, Operation::sum), summed);
    EXPECT_EQ(sent_by_all(*communicator, Operation::shuffle), Traffic{});
    Traffic added;
    for (int node = 0; node < nodes.node_count(); ++node) added += dot_traffic(nodes.node_count(), node, 1);
    EXPECT_EQ(sent_by_all(*communicator, Operation::dot), added);
  });
}

TEST(CommunicatorContractTest, TwoCommunicatorsDoNotMixTheirMessages) {
  for_every_case({101}, [](const Case& current) {
    const auto first = current.make();
    const auto second = current.make();
    ProductCheck first_check(*first, current.layout(), group().rank());
    ProductCheck second_check(*second, current.layout(), group().rank());
    for (int round = 0; round < 3; ++round) {
      first_check.expect_collection(round);
      second_check.expect_collection(100 + round);
      second_check.expect_sum_and_shuffle(100 + round);
      first_check.expect_sum_and_shuffle(round);
    }
  });
}

}  // namespace
}  // namespace cg2d::comm::communicator_contract_test
