#pragma once

// The layout of the memory that the ranks of a node share.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_counter.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

/// The number of sums of scalars so far. One that is under way is begun and not finished; what this rank read
/// after it began, others may be reading when it is finished.
struct ScalarSumCounts {
  uint64_t begun = 0;
  uint64_t finished = 0;
};

/// The numbers of one sum_scalars, and the number of that sum in the same cache line, unless there are more than
/// seven: a rank that finds it has the first numbers, too. Each rank has two slots, in turns, so that a fast rank's next numbers do not land in
/// these.
struct alignas(64) ScalarSlot {
  std::atomic<uint64_t> sum_number;
  std::array<double, Communicator::largest_scalar_count> values;
};

/// The progress that one rank announces, in cache lines of its own: how many operations it is done with.
struct alignas(64) RankControl {
  std::array<std::atomic<uint64_t>, 3> done;  ///< what it has read: sums by Line, and operands
  std::array<ScalarSlot, 2> scalars;
};

inline constexpr size_t operands_read = 2;  ///< in RankControl::done: collections whose operand was read

/// The counters of the whole node.
struct NodeControl {
  SharedCounter scalars_ready;    ///< ranks whose numbers are there; counted where ranks may sleep
  SharedCounter scalars_summed;   ///< sums over all nodes
  SharedCounter operand_arrived;  ///< messages of collections
  std::array<ScalarSlot, 2> scalar_sums;
  struct Sums {
    SharedCounter outgoing_ready;  ///< ranks whose share of what is sent is there
    SharedCounter incoming_ready;  ///< messages that have come
  };
  std::array<Sums, 2> sums;  ///< by Line
};

/// Every rank of the node has a part of the memory, which all of them read and write:
///
///     part of          holds
///     every rank       its control
///                      its partial sums of its row block, and of its column block when mirrored
///     the first rank   the same, and
///                      the node's control
///                      counters of pieces that are there, by process column, and of partial sums, by process
///                      row and column
///                      all of p, piece after piece: column and row blocks are parts of it
///                      sums on their way to other nodes, and from there
class SharedAreas {
 public:
  SharedAreas(const BlockLayout& layout, const NodeMap& nodes, int node, bool mirrored);

  /// The size of the part of the node's rank at that place.
  size_t byte_count(int place) const { return plan_of(place).byte_count; }
  /// The addresses of the parts, by place: zeroed, on borders of pages.
  void set_parts(std::vector<std::byte*> parts) { parts_ = std::move(parts); }

  RankControl& control(int place) const { return at<RankControl>(place, 0); }
  NodeControl& node_control() const { return at<NodeControl>(0, plans_.front().node_control); }
  /// Counts the ranks of a process column on this node that have written their pieces of p.
  SharedCounter& operand_ready(int column) const {
    return (&at<SharedCounter>(0, plans_.front().operand_ready))[column];
  }
  /// Counts the ranks of a process row (column) on this node that have written their partial sums.
  SharedCounter& partial_ready(Line over, int group) const {
    return (&at<SharedCounter>(0, plans_.front().partial_ready[index_of(over)]))[group];
  }
  std::span<double> operand() const { return vector_at(0, plans_.front().operand); }
  /// One rank's partial sums; empty if there are none.
  std::span<double> partial(Line over, int rank) const {
    const int place = nodes_.place_of(rank);
    return vector_at(place, plan_of(place).partial[index_of(over)]);
  }
  /// Sums for the other nodes, node after node; and sums from them.
  std::span<double> outgoing(Line over) const {
    return vector_at(0, plans_.front().outgoing[index_of(over)]);
  }
  std::span<double> incoming(Line over) const {
    return vector_at(0, plans_.front().incoming[index_of(over)]);
  }

 private:
  struct Area {
    size_t offset = 0;
    size_t element_count = 0;
  };
  struct PartPlan {
    size_t byte_count = 0;
    std::array<Area, 2> partial{};  // by Line
    // Members of the first part only:
    size_t node_control = 0;
    size_t operand_ready = 0;
    std::array<size_t, 2> partial_ready{};
    Area operand{};
    std::array<Area, 2> outgoing{};
    std::array<Area, 2> incoming{};

    size_t add(size_t size, size_t border);
    Area add_vector(int64_t element_count);
  };

  static size_t index_of(Line over) { return static_cast<size_t>(over); }
  const PartPlan& plan_of(int place) const { return plans_[static_cast<size_t>(place)]; }
  template <typename T>
  T& at(int place, size_t offset) const {
    return *reinterpret_cast<T*>(parts_[static_cast<size_t>(place)] + offset);
  }
  std::span<double> vector_at(int place, const Area& area) const {
    return {&at<double>(place, area.offset), area.element_count};
  }

  NodeMap nodes_;
  std::vector<PartPlan> plans_;  // by place
  std::vector<std::byte*> parts_;
};

/// One rank's place in the layout and in the shared memory.
struct SharedStand {
  const BlockLayout& layout;
  const NodeMap& nodes;
  const SharedAreas& areas;
  int rank = 0;
  Waiter& waiter;

  int node() const { return nodes.node_of(rank); }
  int place() const { return nodes.place_of(rank); }
  const std::vector<int>& local_ranks() const { return nodes.ranks_of(node()); }

  /// Announces that this rank is done with that many operations. kind: as in RankControl::done.
  void announce_done(size_t kind, uint64_t number) const {
    areas.control(place()).done[kind].store(number, std::memory_order_release);
  }
  /// Returns when every rank of this node has announced that.
  void wait_until_all_are_done(size_t kind, uint64_t number) const {
    for (const int other : local_ranks()) {
      const auto& done = areas.control(nodes.place_of(other)).done[kind];
      waiter.expect(other);
      waiter.wait_until([&] { return done.load(std::memory_order_acquire) >= number; });
    }
  }
};

}  // namespace cg2d::comm
