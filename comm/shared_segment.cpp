#include "comm/shared_segment.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "comm/node_map.hpp"

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

std::string why_not_mapped(RankGroup& group) {
  const auto hosts = make_node_map(group, 0);
  const SharedSegment probe(group, hosts.ranks_of(hosts.node_of(group.rank())), 1);
  return describe(static_cast<PartFault>(group.maximum(static_cast<int64_t>(probe.fault()))));
}

}  // namespace cg2d::comm
