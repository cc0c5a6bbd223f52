#pragma once

// The protocol of halos in the transport "shared": ranks of a node, or threads, read each other's points where
// they are.

#include <cstddef>
#include <memory>

#include "comm/halo.hpp"
#include "comm/messages.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d::comm {

/// Bytes of the part of that rank (NodePlace::parts): its numbers, and its box of points.
size_t shared_halo_byte_count(const DomainLayout& layout, int rank);

/// All ranks of a node must have theirs before the first exchange of any. make_link: needed where there are several nodes;
/// its messages come to the same place in each exchange, as those of Endpoint.
std::unique_ptr<HaloExchange> make_shared_halo(NodePlace place, const MakeLink& make_link,
                                               const DomainLayout& layout, const HaloOptions& options);

}  // namespace cg2d::comm
