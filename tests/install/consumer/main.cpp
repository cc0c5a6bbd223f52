// Builds the class S matrix on all ranks and prints how many nonzeros it has.

#include <cstdio>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"

int main(int argument_count, char** arguments) {
  const cg2d::comm::MpiSession session(argument_count, arguments);
  cg2d::comm::RankGroup group(MPI_COMM_WORLD);
  const auto& problem = *cg2d::find_class("S");
  const cg2d::comm::ProcessGrid grid{.columns = 1, .rows = group.size()};
  const auto layout = cg2d::comm::BlockLayout::even(problem.n, grid);
  constexpr int thread_count = 1;
  const auto sourced = cg2d::default_source().make(problem)->build(layout, group, thread_count);
  const auto nonzero_count = group.sum(sourced.block.nonzero_count());
  if (group.rank() == 0) std::printf("%lld\n", static_cast<long long>(nonzero_count));
  return 0;
}
