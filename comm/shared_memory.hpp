#pragma once

// The protocol of the transport "shared", without MPI: ranks, or threads, that work in memory which they
// share.

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/node_link.hpp"
#include "comm/node_map.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

/// One rank's access to the memory of its node, and to the other nodes.
struct SharedPlace {
  int rank = 0;
  NodeMap nodes;
  /// The part of each rank of this node, zeroed, on borders of pages; of shared_part_byte_count() bytes.
  std::vector<std::byte*> parts;
  std::shared_ptr<const void> memory;  ///< kept as long as it is used
  Waiter& waiter;
  bool ranks_sleep = true;   ///< some rank waits in yield mode; all ranks say the same
  MakeNodeLink make_link{};  ///< needed where there are several nodes
};

/// Bytes of the part of that rank.
size_t shared_part_byte_count(const BlockLayout& layout, const NodeMap& nodes, int rank,
                              const CommunicatorOptions& options);

/// All ranks of a node must have theirs before the first operation of any.
std::unique_ptr<Communicator> make_shared_communicator(SharedPlace place, const BlockLayout& layout,
                                                       const CommunicatorOptions& options);

}  // namespace cg2d::comm
