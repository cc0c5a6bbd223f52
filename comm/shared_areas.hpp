#pragma once

// What lies where in the memory that the ranks of a node share.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/node_map.hpp"
#include "comm/node_plan.hpp"
#include "comm/shared_counter.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

/// The numbers of one sum_scalars; two in turns, so that a fast rank's next ones do not land in these. Which
/// sum they belong to lies beside them: who finds that has them in the same cache line.
struct alignas(64) ScalarSlot {
  std::atomic<std::uint64_t> sum_number;
  std::array<double, Communicator::largest_scalar_count> values;
};
static_assert(sizeof(ScalarSlot) == 64);

/// What a rank says for itself: how many of the operations it is done with, in cache lines of its own.
struct alignas(64) RankControl {
  std::atomic<std::uint64_t> operands_done;             ///< products whose operand it has read
  std::array<std::atomic<std::uint64_t>, 2> sums_done;  ///< by SummedOver: whose partial sums it has read
  std::array<ScalarSlot, 2> scalars;
};

/// What the node's ranks count together.
struct NodeControl {
  SharedCounter scalars_ready;    ///< ranks whose numbers are there; counted where ranks may sleep
  SharedCounter scalars_summed;   ///< sums over all nodes
  SharedCounter operand_arrived;  ///< messages of collections
  std::array<ScalarSlot, 2> scalar_sums;
  struct Sums {
    SharedCounter outgoing_ready;  ///< ranks whose share of what is sent is there
    SharedCounter incoming_ready;  ///< messages that have come
  };
  std::array<Sums, 2> sums;  ///< by SummedOver
};

/// The parts of one node's ranks and what they hold:
///
///     of every rank    its control; its partial sums of its row block, and of its column block when mirrored
///     of the first     the node's control; a counter for each process column (row): pieces and partial sums
///                      that are there; all of p, piece after piece, of which column and row blocks are
///                      parts; sums on their way to other nodes, and from there
class SharedAreas {
 public:
  SharedAreas(const BlockLayout& layout, const NodeMap& nodes, int node, bool mirrored);

  /// Of the part of the node's rank at that place.
  [[nodiscard]] std::size_t byte_count(int place) const { return plan_of(place).byte_count; }
  /// Where the parts are, by place: zeroed, on borders of pages.
  void set_parts(std::vector<std::byte*> parts) { parts_ = std::move(parts); }

  [[nodiscard]] RankControl& control(int place) const { return at<RankControl>(place, 0); }
  [[nodiscard]] NodeControl& node_control() const { return at<NodeControl>(0, plans_.front().node_control); }
  /// Of a process column: its ranks here that have written their pieces of p.
  [[nodiscard]] SharedCounter& operand_ready(int column) const {
    return (&at<SharedCounter>(0, plans_.front().operand_ready))[column];
  }
  /// Of a process row (column): its ranks here that have written their partial sums.
  [[nodiscard]] SharedCounter& partial_ready(SummedOver over, int group) const {
    return (&at<SharedCounter>(0, plans_.front().partial_ready[index_of(over)]))[group];
  }
  [[nodiscard]] std::span<double> operand() const;
  /// One rank's partial sums; empty if there are none.
  [[nodiscard]] std::span<double> partial(SummedOver over, int rank) const;
  /// Sums for the other nodes, node after node; and from them.
  [[nodiscard]] std::span<double> outgoing(SummedOver over) const;
  [[nodiscard]] std::span<double> incoming(SummedOver over) const;

 private:
  struct Area {
    std::size_t offset = 0;
    std::size_t element_count = 0;
  };
  struct PartPlan {
    std::size_t byte_count = 0;
    std::array<Area, 2> partial{};  // by SummedOver
    // Of the first part only:
    std::size_t node_control = 0;
    std::size_t operand_ready = 0;
    std::array<std::size_t, 2> partial_ready{};
    Area operand{};
    std::array<Area, 2> outgoing{};
    std::array<Area, 2> incoming{};

    std::size_t add(std::size_t size, std::size_t border);
    Area add_vector(std::int64_t element_count);
  };

  static std::size_t index_of(SummedOver over) { return static_cast<std::size_t>(over); }
  [[nodiscard]] const PartPlan& plan_of(int place) const { return plans_[static_cast<std::size_t>(place)]; }
  template <typename T>
  [[nodiscard]] T& at(int place, std::size_t offset) const {
    return *reinterpret_cast<T*>(parts_[static_cast<std::size_t>(place)] + offset);
  }
  [[nodiscard]] std::span<double> vector_at(int place, const Area& area) const;

  NodeMap nodes_;
  std::vector<PartPlan> plans_;  // by place
  std::vector<std::byte*> parts_;
};

/// Where one rank stands.
struct SharedStand {
  const BlockLayout& layout;
  const NodeMap& nodes;
  const SharedAreas& areas;
  int rank = 0;
  Waiter& waiter;

  [[nodiscard]] int node() const { return nodes.node_of(rank); }
  [[nodiscard]] int place() const { return nodes.place_of(rank); }
  [[nodiscard]] const std::vector<int>& local_ranks() const { return nodes.ranks_of(node()); }
};

/// Returns when every rank of this node says that it is done with so many operations. done_of(control):
/// which.
template <typename DoneOf>
void wait_until_all_are_done(const SharedStand& stand, std::uint64_t number, const DoneOf& done_of) {
  for (int place = 0; place < static_cast<int>(stand.local_ranks().size()); ++place) {
    const std::atomic<std::uint64_t>& done = done_of(stand.areas.control(place));
    stand.waiter.wait_until([&] { return done.load(std::memory_order_acquire) >= number; });
  }
}

}  // namespace cg2d::comm
