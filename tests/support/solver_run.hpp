#pragma once

// The benchmark's iteration on the ranks of a test, with every part chosen by the test.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/values.hpp"
#include "cg/library/built_in_choice.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_facts.hpp"

namespace cg2d::test {

/// Names of the transports that can serve here. Collective.
inline std::vector<std::string> usable_transports() {
  return names_where(comm::transport_table(),
                     [](const auto& row) { return row.why_unavailable(group()).empty(); });
}

/// Collective over the ranks.
inline std::unique_ptr<AssembledOperator> assembled(kernels::CsrBlock block, const comm::BlockLayout& layout,
                                                    const Configuration& configuration,
                                                    comm::RankGroup& ranks = group(),
                                                    bool times_phases = false) {
  return assemble(std::move(block), *comm::find_transport(configuration.transport),
                  {.group = ranks,
                   .layout = layout,
                   .configuration = configuration,
                   .kernel = planned_kernel(configuration),
                   .sums_reproducibly = configuration.is_reproducible},
                  times_phases);
}

/// All outer steps of the problem after the untimed first one. Collective over the ranks.
inline std::vector<OuterStep> solve(const Problem& problem, const comm::BlockLayout& layout,
                                    const Configuration& configuration, comm::RankGroup& ranks = group()) {
  auto block = default_source().make(problem)->build(layout, ranks, configuration.thread_count).block;
  const auto matrix = assembled(std::move(block), layout, configuration, ranks);
  NpbIteration solver(*matrix, problem.shift);
  static_cast<void>(solver.outer_step());
  solver.reset();
  return solver.outer_steps(problem.niter, {});
}

/// A class with so many outer steps.
inline Problem short_problem(const char* class_name, int niter) {
  auto problem = *find_class(class_name);
  problem.niter = niter;
  return problem;
}

/// zeta and residual of every step.
inline std::vector<double> figures_of(const std::vector<OuterStep>& steps) {
  std::vector<double> figures;
  for (const auto& step : steps) figures.insert(figures.end(), {step.zeta, step.residual_norm});
  return figures;
}

/// figures_of() a solve by rank 0 alone; the other ranks get them.
inline std::vector<double> figures_of_one_rank(const Problem& problem, const Configuration& configuration) {
  std::string bytes;
  if (group().rank() == 0) {
    comm::RankGroup alone(MPI_COMM_SELF);
    const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
    const auto figures = figures_of(solve(problem, layout, configuration, alone));
    bytes.assign(reinterpret_cast<const char*>(figures.data()), figures.size() * sizeof(double));
  }
  bytes = group().broadcast(std::move(bytes));
  std::vector<double> figures(bytes.size() / sizeof(double));
  std::memcpy(figures.data(), bytes.data(), bytes.size());
  return figures;
}

/// The steps' zetas are the first official ones, of class S.
inline void expect_official_zetas(const std::vector<OuterStep>& steps,
                                  std::span<const double> zetas = class_s_zetas) {
  ASSERT_LE(steps.size(), zetas.size());
  for (size_t k = 0; k < steps.size(); ++k) {
    // Another order of additions moves zeta by rounding errors only; the printed figures are good to 1e-14.
    EXPECT_NEAR(steps[k].zeta, zetas[k], relative_tolerance * zetas[k]) << "outer step " << k + 1;
  }
}

}  // namespace cg2d::test
