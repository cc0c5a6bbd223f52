#pragma once

// The benchmark's iteration on the ranks of a test, with every part chosen by the test.

#include <memory>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/reproducible_sums.hpp"
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
  bool is_reproducible = false;
};

/// All outer steps of the problem after the untimed first one. Collective over the ranks.
inline std::vector<OuterStep> solve(const Problem& problem, const comm::BlockLayout& layout,
                                    const SolverConfig& config, comm::RankGroup& ranks = group()) {
  auto block = default_source().make(problem)->build(layout, ranks, config.thread_count).block;
  ReproducibleSums sums;
  if (config.is_reproducible) sums = agree_on_sums(block, layout, ranks);
  const auto product = product_maker(config.overlaps)(
      *config.kernel, std::move(block), layout, ranks.rank(),
      {.thread_count = config.thread_count, .row_bounds = sums.row_bounds, .most_terms = sums.most_terms});
  const auto communicator = config.transport->make(
      ranks, layout, {.sum_form = config.sum_form, .mirrored = config.kernel->stores_half()});
  SteppedSolver solver(*communicator, *product, config.thread_count, problem.shift, false, &ranks);
  static_cast<void>(solver.outer_step());
  solver.reset();
  return solver.outer_steps(problem.niter, {});
}

}  // namespace cg2d::test
