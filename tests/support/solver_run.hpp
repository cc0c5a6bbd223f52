#pragma once

// The benchmark's iteration on the ranks of a test, with every part chosen by the test.

#include <memory>
#include <utility>
#include <vector>

#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/npb_iteration.hpp"
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

/// Collective over the ranks.
inline std::unique_ptr<AssembledOperator> assembled(kernels::CsrBlock block, const comm::BlockLayout& layout,
                                                    const SolverConfig& config,
                                                    comm::RankGroup& ranks = group()) {
  Configuration configuration;
  configuration.sum_form = config.sum_form;
  configuration.thread_count = config.thread_count;
  configuration.overlaps = config.overlaps;
  return assemble(std::move(block), *config.transport,
                  {.group = ranks,
                   .layout = layout,
                   .configuration = configuration,
                   .kernel = *config.kernel,
                   .sums_reproducibly = config.is_reproducible});
}

/// All outer steps of the problem after the untimed first one. Collective over the ranks.
inline std::vector<OuterStep> solve(const Problem& problem, const comm::BlockLayout& layout,
                                    const SolverConfig& config, comm::RankGroup& ranks = group()) {
  auto block = default_source().make(problem)->build(layout, ranks, config.thread_count).block;
  const auto matrix = assembled(std::move(block), layout, config, ranks);
  NpbIteration solver(*matrix, problem.shift);
  static_cast<void>(solver.outer_step());
  solver.reset();
  return solver.outer_steps(problem.niter, {});
}

}  // namespace cg2d::test
