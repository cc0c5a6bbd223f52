// The transport "shared" between ranks of MPI: what gets them their memory.

#include <memory>
#include <string>
#include <utility>

#include "comm/shared_memory.hpp"
#include "comm/shared_segment.hpp"
#include "comm/transports.hpp"

namespace cg2d::comm {
namespace {

std::string why_not_one_node(RankGroup& group) {
  const auto here = ranks_of_my_node(group).size();
  if (here == static_cast<std::size_t>(group.size())) return {};
  return "the ranks are on several nodes: " + std::to_string(here) + " of " + std::to_string(group.size()) +
         " are on the first one";
}

std::unique_ptr<Communicator> make_shared(RankGroup& group, const BlockLayout& layout,
                                          const CommunicatorOptions& options) {
  const auto byte_count = shared_part_byte_count(layout, group.rank(), options);
  const auto segment = std::make_shared<const SharedSegment>(group, ranks_of_my_node(group), byte_count);
  if (!segment->is_there()) {
    const auto needed = group.sum(static_cast<std::int64_t>(byte_count));
    throw SharedMemoryError(needed);
  }
  SharedPlace place{.rank = group.rank(), .parts = {}, .memory = segment, .waiter = group.waiter()};
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(group.size()); ++rank)
    place.parts.push_back(segment->part(rank));
  return make_shared_communicator(std::move(place), layout, options);
}

}  // namespace

TransportRow shared_transport() {
  return {
      .name = "shared",
      .description = "vectors in the node's shared memory, read in place",
      .counts = CountedTraffic::between_nodes,
      .why_unavailable = &why_not_one_node,
      .make = &make_shared,
  };
}

}  // namespace cg2d::comm
