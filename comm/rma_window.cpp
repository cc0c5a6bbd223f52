#include "comm/rma_window.hpp"

#include "comm/rank_group.hpp"

namespace cg2d::comm {

RmaWindow::RmaWindow(RankGroup& group, int64_t element_count, int ranks_per_node)
    : ranks_per_node_(ranks_per_node),
      place_(make_node_place(
          group, ranks_per_node,
          [&](const NodeMap& /*nodes*/) { return static_cast<size_t>(element_count) * sizeof(double); })),
      reachable_(static_cast<size_t>(group.size())) {
  const auto& local_ranks = place_.nodes.ranks_of(place_.nodes.node_of(group.rank()));
  for (size_t index = 0; index < local_ranks.size(); ++index) {
    reachable_[static_cast<size_t>(local_ranks[index])] = {reinterpret_cast<double*>(place_.parts[index]),
                                                           static_cast<size_t>(element_count)};
  }
  memory_ = reachable(group.rank());
  if (place_.nodes.node_count() == 1) return;
  MPI_Win window = MPI_WIN_NULL;
  check(MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(memory_.size_bytes()), sizeof(double),
                       MPI_INFO_NULL, group.handle(), &window),
        "MPI_Win_create");
  window_.emplace(window);
}

}  // namespace cg2d::comm
