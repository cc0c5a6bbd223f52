#include "comm/shared_segment.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace cg2d::comm {

SharedMemoryError::SharedMemoryError(int64_t needed_bytes)
    : std::runtime_error("the ranks of a node cannot share " + std::to_string(needed_bytes) +
                         " bytes of memory"),
      needed_bytes_(needed_bytes) {}

SharedSegment::SharedSegment(RankGroup& group, std::span<const int> ranks, size_t byte_count) {
  const OwnedPart mine(std::max<size_t>(byte_count, 1));
  const auto notices = group.gather_all(std::span<const PartNotice>(&mine.notice(), 1));
  PartFault my_fault = PartFault::none;
  for (const int rank : ranks) {
    auto part = map_part(notices[static_cast<size_t>(rank)].front());
    my_fault = std::max(my_fault, part.fault);
    parts_.push_back(std::move(part.memory));
  }
  // All or none: a rank without a part would wait for ever. After this gather every part has been mapped, and
  // the descriptors may go.
  const auto faults = group.gather_all(std::span<const PartFault>(&my_fault, 1));
  for (const int rank : ranks) fault_ = std::max(fault_, faults[static_cast<size_t>(rank)].front());
  if (fault_ != PartFault::none) parts_.clear();
}

NodePlace make_node_place(RankGroup& group, int ranks_per_node,
                          const std::function<size_t(const NodeMap& nodes)>& byte_count) {
  NodePlace place{.rank = group.rank(),
                  .nodes = make_node_map(group, ranks_per_node),
                  .parts = {},
                  .memory = {},
                  .waiter = group.waiter()};
  const auto& local_ranks = place.nodes.ranks_of(place.nodes.node_of(place.rank));
  const size_t own_bytes = byte_count(place.nodes);
  const auto segment = std::make_shared<const SharedSegment>(group, local_ranks, own_bytes);
  if (group.minimum(segment->is_there() ? 1 : 0) == 0)
    throw SharedMemoryError(group.sum(static_cast<int64_t>(own_bytes)));
  for (size_t index = 0; index < local_ranks.size(); ++index) place.parts.push_back(segment->part(index));
  place.memory = segment;
  return place;
}

std::string why_not_mapped(RankGroup& group) {
  const SharedSegment probe(group, ranks_of_my_host(group), 1);
  return describe(static_cast<PartFault>(group.maximum(static_cast<int64_t>(probe.fault()))));
}

}  // namespace cg2d::comm
