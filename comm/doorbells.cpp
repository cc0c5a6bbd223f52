#include "comm/doorbells.hpp"

#include "comm/node_map.hpp"

namespace cg2d::comm {

Doorbells::Doorbells(RankGroup& group)
    : node_ranks_(ranks_of_my_host(group)),
      segment_(group, node_ranks_, sizeof(Bells)),
      bells_(static_cast<size_t>(group.size()), nullptr) {
  if (!segment_.is_there()) return;
  for (size_t index = 0; index < node_ranks_.size(); ++index) {
    // Zero bytes are bells that have not rung.
    bells_[static_cast<size_t>(node_ranks_[index])] = reinterpret_cast<Bells*>(segment_.part(index));
  }
  my_rank_ = group.rank();
}

}  // namespace cg2d::comm
