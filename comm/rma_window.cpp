#include "comm/rma_window.hpp"

#include "comm/rank_group.hpp"

namespace cg2d::comm {
namespace {

std::span<double> elements(std::byte* bytes, int64_t count) {
  return {reinterpret_cast<double*>(bytes), static_cast<size_t>(count)};
}

}  // namespace

RmaWindow::RmaWindow(RankGroup& group, int64_t element_count, int ranks_per_node)
    : ranks_per_node_(ranks_per_node),
      nodes_(make_node_map(group, ranks_per_node)),
      segment_(group, nodes_.ranks_of(nodes_.node_of(group.rank())),
               static_cast<size_t>(element_count) * sizeof(double)),
      reachable_(static_cast<size_t>(group.size())) {
  const auto& local_ranks = nodes_.ranks_of(nodes_.node_of(group.rank()));
  if (group.minimum(segment_.is_there() ? 1 : 0) == 0) {
    throw SharedMemoryError(element_count * group.size() * static_cast<int64_t>(sizeof(double)));
  }
  for (size_t place = 0; place < local_ranks.size(); ++place) {
    reachable_[static_cast<size_t>(local_ranks[place])] = elements(segment_.part(place), element_count);
  }
  memory_ = reachable(group.rank());
  if (nodes_.node_count() == 1) return;
  MPI_Win window = MPI_WIN_NULL;
  check(MPI_Win_create(memory_.data(), static_cast<MPI_Aint>(memory_.size_bytes()), sizeof(double),
                       MPI_INFO_NULL, group.handle(), &window),
        "MPI_Win_create");
  window_.emplace(window);
}

}  // namespace cg2d::comm
