#pragma once

// The benchmark's iteration on the ranks of a test, with every part chosen by the test.

#include <memory>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/overlapped_product.hpp"
#include "cg/solver/solver.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::test {

struct SolverChoice {
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  KernelInfo kernel = kernel_info(kernels::default_kernel().name);
  const comm::TransportRow* transport = &comm::transport_table().front();
  int thread_count = 1;
  bool overlaps = false;
};

/// All outer steps of the problem behind the untimed first one. Collective.
inline std::vector<OuterStep> solve(const Problem& problem, const comm::BlockLayout& layout,
                                    const SolverChoice& choice) {
  auto block = default_source().make(problem)->build(layout, group(), choice.thread_count).block;
  const auto make_product = choice.overlaps ? &make_overlapped_product : &make_block_product;
  const auto product = make_product(choice.kernel, std::move(block), layout, group().rank(),
                                    {.thread_count = choice.thread_count});
  const auto communicator = choice.transport->make(
      group(), layout, {.sum_form = choice.sum_form, .mirrored = choice.kernel.is_symmetric});
  PhaseTimer timer(false, *communicator);
  BlockOperator matrix(*communicator, *product, timer, choice.thread_count);
  Solver solver(matrix, *communicator, timer, choice.thread_count);
  static_cast<void>(solver.outer_step(problem.shift, false));
  solver.reset();
  std::vector<OuterStep> steps;
  for (int k = 0; k < problem.niter; ++k) steps.push_back(solver.outer_step(problem.shift, false));
  return steps;
}

}  // namespace cg2d::test
