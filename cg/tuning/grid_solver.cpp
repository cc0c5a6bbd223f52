#include "cg/tuning/grid_solver.hpp"

#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

std::unique_ptr<GridSolver> GridSolver::make(comm::RankGroup& group, const GridSolverSetting& setting) {
  const auto layout = comm::BlockLayout::even(setting.problem.n, setting.grid);
  auto block = setting.source.build(setting.problem, layout, group, setting.thread_count).block;
  const auto nonzero_count = block.nonzero_count();
  std::unique_ptr<BlockProduct> product;
  agree_on(group, [&] {
    const auto make_product = setting.overlaps ? &make_overlapped_product : &make_block_product;
    product = make_product(*setting.choice.kernel, std::move(block), layout, group.rank(),
                           {.thread_count = setting.thread_count, .tuning = setting.choice.tuning});
  });
  auto communicator = make_communicator(setting.transport, group, layout,
                                        {.sum_form = setting.sum_form,
                                         .mirrored = product->is_symmetric(),
                                         .ranks_per_node = setting.ranks_per_node});
  return std::unique_ptr<GridSolver>(
      new GridSolver(nonzero_count, std::move(product), std::move(communicator), setting));
}

GridSolver::GridSolver(std::int64_t nonzero_count, std::unique_ptr<BlockProduct> product,
                       std::unique_ptr<comm::Communicator> communicator, const GridSolverSetting& setting)
    : nonzero_count_(nonzero_count),
      product_(std::move(product)),
      communicator_(std::move(communicator)),
      solver_(*communicator_, *product_, setting.thread_count, setting.problem.shift, setting.times_phases) {}

}  // namespace cg2d
