#include "cg/solver/solve.hpp"

#include <fmt/format.h>

#include <array>

#include "cg/base/errors.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {
namespace {

void require_pieces(LinearOperator& matrix, std::span<const double> b, std::span<const double> x) {
  const bool fit = b.size() == matrix.local_size() && x.size() == matrix.local_size();
  std::array<double, 1> misfits{fit ? 0.0 : 1.0};
  matrix.sum_over_ranks(misfits);
  if (misfits[0] > 0.0) {
    throw InputError(
        fmt::format("solve: b or x has another length than the operator's pieces on {} ranks", misfits[0]));
  }
}

}  // namespace

SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options) {
  require_pieces(matrix, b, x);
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, options.thread_count);
  ConjugateGradient conjugate_gradient(matrix, options.preconditioner, vectors);
  for (auto* observer : options.observers) conjugate_gradient.add(*observer);
  const auto [end, last] = conjugate_gradient.solve(b, x, options.stop);
  return {.end = end,
          .step_count = last.number,
          .first_residual_norm = last.first_residual_norm(),
          .residual_norm = last.residual_norm(),
          .true_residual_norm = conjugate_gradient.residual_norm(b, x)};
}

}  // namespace cg2d
