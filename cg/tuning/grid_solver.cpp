#include "cg/tuning/grid_solver.hpp"

#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {

std::unique_ptr<GridSolver> GridSolver::make(comm::RankGroup& group, const MatrixSource& source,
                                             const Configuration& configuration, const ChosenKernel& chosen,
                                             bool times_phases) {
  const int thread_count = configuration.thread_count;
  const auto layout = make_layout(source.facts(), configuration);
  auto block = source.build(layout, group, thread_count).block;
  const auto nonzero_count = block.nonzero_count();
  std::unique_ptr<BlockProduct> product;
  agree_on(group, [&] {
    product = product_maker(configuration.overlaps)(
        *chosen.kernel, std::move(block), layout, group.rank(),
        {.thread_count = thread_count, .tuning = chosen.tuning, .vector_count = chosen.vector_count});
  });
  auto communicator = make_communicator(*comm::find_transport(configuration.transport), group,
                                        layout.with_elements_times(chosen.vector_count),
                                        communicator_options(configuration, product->is_symmetric()));
  return std::unique_ptr<GridSolver>(
      new GridSolver(nonzero_count, std::move(product), std::move(communicator), thread_count, times_phases));
}

GridSolver::GridSolver(std::int64_t nonzero_count, std::unique_ptr<BlockProduct> product,
                       std::unique_ptr<comm::Communicator> communicator, int thread_count, bool times_phases)
    : nonzero_count_(nonzero_count),
      product_(std::move(product)),
      communicator_(std::move(communicator)),
      solver_(*communicator_, *product_, thread_count, 0.0, times_phases) {}

}  // namespace cg2d
