#pragma once

// The protocol of halos in the transport "shared": ranks of a node, or threads, read each other's points where
// they are.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "comm/halo.hpp"
#include "comm/node_map.hpp"
#include "comm/transfer.hpp"
#include "comm/waiter.hpp"

namespace cg2d::comm {

/// One rank's access to the memory of its node, and to the other nodes.
struct SharedHaloPlace {
  int rank = 0;
  NodeMap nodes;
  /// The part of each rank of this node, zeroed, on borders of pages; of shared_halo_byte_count() bytes.
  std::vector<std::byte*> parts;
  std::shared_ptr<const void> memory;  ///< kept as long as it is used
  Waiter& waiter;
  /// Makes the endpoint for messages to other nodes; needed where there are several.
  std::function<std::unique_ptr<Endpoint>(TrafficCounts& sent)> make_endpoint{};
};

/// Bytes of the part of that rank: its numbers, and its box of points.
size_t shared_halo_byte_count(const DomainLayout& layout, int rank);

/// All ranks of a node must have theirs before the first exchange of any.
std::unique_ptr<HaloExchange> make_shared_halo(SharedHaloPlace place, const DomainLayout& layout,
                                               const HaloOptions& options);

}  // namespace cg2d::comm
