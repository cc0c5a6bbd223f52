#pragma once

// The benchmark's iteration with a guard, or with faults on purpose, on the ranks of a test.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cg/guard/solve_guard.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "support/mpi_test.hpp"
#include "support/solver_run.hpp"

namespace cg2d::test {

struct GuardedRun {
  std::vector<OuterStep> steps;
  GuardReport report;
  std::string reason;  ///< of a refusal

  [[nodiscard]] bool is_refused() const { return !steps.empty() && steps.back().is_refused; }
  [[nodiscard]] double zeta() const { return steps.back().zeta; }
};

/// A problem on a grid, generated once, for many runs.
class GuardedProblem {
 public:
  GuardedProblem(const Problem& problem, const comm::ProcessGrid& grid)
      : problem_(problem),
        layout_(comm::BlockLayout::even(problem.n, grid)),
        block_(default_source().make(problem)->build(layout_, group(), 1).block) {}

  /// All outer steps of the problem after the untimed first one. damage(product): a change of the matrix between these,
  /// called on all ranks. Collective.
  GuardedRun run(const SolverConfig& config, const GuardOptions& options,
                 const std::function<void(BlockProduct&)>& damage = {}) const {
    const ProductChecksums checksums(block_, config.kernel->storage, layout_, group().rank());
    const auto product = product_maker(config.overlaps)(
        *config.kernel, block_.copy(), layout_, group().rank(), {.thread_count = config.thread_count});
    const auto communicator = config.transport->make(
        group(), layout_, {.sum_form = config.sum_form, .mirrored = config.kernel->stores_half()});
    SolveGuard guard(options, {group(), layout_, *communicator, *product, config.thread_count}, &checksums);
    SteppedSolver solver(*communicator, *product, config.thread_count, problem_.shift, false, nullptr,
                         &guard);
    static_cast<void>(solver.outer_step());
    if (damage) damage(*product);
    solver.reset();
    guard.begin_repetition(problem_.niter);
    GuardedRun run;
    run.steps = solver.outer_steps(problem_.niter, {});
    run.report = guard.report(0.0);
    run.reason = guard.reason();
    return run;
  }

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const comm::BlockLayout& layout() const { return layout_; }

 private:
  Problem problem_;
  comm::BlockLayout layout_;
  kernels::CsrBlock block_;
};

/// The transports and kernels that can serve here. Collective.
inline std::vector<const comm::TransportRow*> usable_transports() {
  std::vector<const comm::TransportRow*> all;
  for (const auto& row : comm::transport_table()) {
    if (row.why_unavailable(group()).empty()) all.push_back(&row);
  }
  return all;
}
inline std::vector<const kernels::KernelRow*> usable_kernels() {
  std::vector<const kernels::KernelRow*> all;
  for (const auto& row : kernels::kernel_table()) {
    if (row.why_unavailable().empty()) all.push_back(&row);
  }
  return all;
}

/// Configurations that differ in everything, by turns.
inline SolverConfig config_number(std::size_t number,
                                  const std::vector<const kernels::KernelRow*>& all_kernels,
                                  const std::vector<const comm::TransportRow*>& transports) {
  const auto* const transport = transports[number % transports.size()];
  const auto forms = transport->sum_forms;
  return {.sum_form = forms[number / 3 % forms.size()],
          .kernel = all_kernels[number % all_kernels.size()],
          .transport = transport,
          .thread_count = number % 11 == 10 ? 2 : 1,
          .overlaps = number / 2 % 2 == 1};
}

inline std::string describe(const SolverConfig& config) {
  return "kernel " + std::string(config.kernel->name) + ", transport " + std::string(config.transport->name) +
         ", threads " + std::to_string(config.thread_count) + (config.overlaps ? ", overlap" : "");
}

}  // namespace cg2d::test
