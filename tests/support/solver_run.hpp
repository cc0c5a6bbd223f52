#pragma once

// The benchmark's iteration on the ranks of a test, with every part chosen by the test.

#include <memory>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

struct SolverConfig {
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  const kernels::KernelRow* kernel = &kernels::default_kernel();
  const comm::TransportRow* transport = &comm::transport_table().front();
  int thread_count = 1;
  bool overlaps = false;
};

/// All outer steps of the problem after the untimed first one. Collective.
inline std::vector<OuterStep> solve(const Problem& problem, const comm::BlockLayout& layout,
                                    const SolverConfig& config) {
  auto block = default_source().make(problem)->build(layout, group(), config.thread_count).block;
  const auto product = product_maker(config.overlaps)(*config.kernel, std::move(block), layout,
                                                      group().rank(), {.thread_count = config.thread_count});
  const auto communicator = config.transport->make(
      group(), layout, {.sum_form = config.sum_form, .mirrored = config.kernel->stores_half()});
  SteppedSolver solver(*communicator, *product, config.thread_count, problem.shift);
  static_cast<void>(solver.outer_step());
  solver.reset();
  return solver.outer_steps(problem.niter, {});
}

}  // namespace cg2d::test
