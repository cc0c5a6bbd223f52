#pragma once

// Memory that ranks of one node share.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/mapped_part.hpp"
#include "comm/node_map.hpp"
#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// There is no room for memory that ranks share, or the system does not let them share it.
class SharedMemoryError : public std::runtime_error {
 public:
  /// `needed_bytes`: of all ranks together.
  explicit SharedMemoryError(int64_t needed_bytes);
  int64_t needed_bytes() const { return needed_bytes_; }

 private:
  int64_t needed_bytes_;
};

/// One part of each of some ranks, zeroed, mapped by all of them. The memory has no name, so nothing is left
/// of it however the program ends: each rank makes its part as an anonymous file (memfd) and the others map
/// it by way of /proc, after a check that it is that file (map_part). Each rank gives its own part its pages,
/// so that they are near it.
///
/// Not MPI_Win_allocate_shared: that blocks without giving the processor away, and where there is no room it
/// lets the program die at the first touch.
class SharedSegment {
 public:
  /// Collective over the whole group. `ranks`: those that share with this rank, itself included; each of them
  /// names the same. `byte_count`: of my part.
  SharedSegment(RankGroup& group, std::span<const int> ranks, size_t byte_count);
  ~SharedSegment() = default;
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  /// Whether all of these ranks have all parts; if not, none has any.
  bool is_there() const { return !parts_.empty(); }
  /// Why not; the same on all of these ranks.
  PartFault fault() const { return fault_; }
  /// The part of ranks[index], on a border of pages.
  std::byte* part(size_t index) const { return parts_[index].get(); }

 private:
  std::vector<PartMemory> parts_;
  PartFault fault_ = PartFault::none;
};

/// One rank's access to the memory of its node.
struct NodePlace {
  int rank = 0;
  NodeMap nodes;
  /// The part of each rank of this node, zeroed, on borders of pages, as long as the protocol in it says.
  std::vector<std::byte*> parts;
  std::shared_ptr<const void> memory;  ///< kept as long as it is used
  Waiter& waiter;
};

/// Makes such memory, byte_count(nodes) bytes of it this rank's. `ranks_per_node`: as in CommunicatorOptions. Collective. Throws MpiError,
/// SharedMemoryError.
NodePlace make_node_place(RankGroup& group, int ranks_per_node,
                          const std::function<size_t(const NodeMap& nodes)>& byte_count);

/// Why the ranks of a node cannot share memory on this machine; empty where they can. Collective.
std::string why_not_mapped(RankGroup& group);

}  // namespace cg2d::comm
