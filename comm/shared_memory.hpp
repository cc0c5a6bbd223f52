#pragma once

// The protocols of the transport "shared", without MPI: ranks, or threads, that work in memory which they
// share.

#include <cstddef>
#include <memory>

#include "comm/halo.hpp"
#include "comm/messages.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

/// Words that the ranks know of each other beside their memory.
struct SharedPeers {
  bool ranks_sleep = true;  ///< some rank waits in yield mode; all ranks say the same
  /// Needed where there are several nodes; prepare() of such a link is local, and its messages need no begin() and end(), as those of Endpoint.
  MakeLink make_link{};
};

/// Bytes of the part of that rank (NodePlace::parts).
size_t shared_part_byte_count(const BlockLayout& layout, const NodeMap& nodes, int rank,
                              const CommunicatorOptions& options);

/// All ranks of a node must have theirs before the first operation of any.
std::unique_ptr<Communicator> make_shared_communicator(NodePlace place, const SharedPeers& peers,
                                                       const BlockLayout& layout,
                                                       const CommunicatorOptions& options);

/// Halos: ranks of a node, or threads, read each other's points where they are. Bytes of the part of that rank: its numbers, and its box of points.
size_t shared_halo_byte_count(const DomainLayout& layout, int rank);

/// All ranks of a node must have theirs before the first exchange of any. make_link: needed where there are several nodes;
/// its messages come to the same place in each exchange, as those of Endpoint.
std::unique_ptr<HaloExchange> make_shared_halo(NodePlace place, const MakeLink& make_link,
                                               const DomainLayout& layout, const HaloOptions& options);

}  // namespace cg2d::comm
