#include "cg/tuning/grid_solver.hpp"

#include <utility>

#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

std::unique_ptr<GridSolver> GridSolver::make(comm::RankGroup& group, const MatrixSource& source,
                                             const Configuration& configuration, const ChosenKernel& chosen,
                                             bool times_phases) {
  const auto layout = make_layout(source.facts(), configuration);
  auto block = source.build(layout, group, configuration.thread_count).block;
  const auto nonzero_count = block.nonzero_count();
  auto plan = assembly_plan(group, layout, configuration, chosen);
  plan.sums_reproducibly = false;  // trials time the usual sums
  auto assembled =
      assemble(std::move(block), *comm::find_transport(configuration.transport), plan, times_phases);
  return std::unique_ptr<GridSolver>(new GridSolver(nonzero_count, std::move(assembled)));
}

}  // namespace cg2d
