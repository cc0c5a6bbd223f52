#include "cg/solver/solve.hpp"

#include "cg/base/errors.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/timing/phase_timer.hpp"

namespace cg2d {
namespace {

void require_pieces(LinearOperator& matrix, std::span<const double> b, std::span<const double> x) {
  const bool fit = b.size() == matrix.local_size() && x.size() == matrix.local_size();
  if (const double misfits = matrix.sum_of_ranks(fit ? 0.0 : 1.0); misfits > 0.0)
    throw InputError("solve: b or x has another length than the operator's pieces on {} ranks", misfits);
}

}  // namespace

SystemSolveResult solve(LinearOperator& matrix, std::span<const double> b, std::span<double> x,
                        const SolveOptions& options) {
  require_pieces(matrix, b, x);
  PhaseTimer no_timer;
  DistributedVectors vectors(matrix, no_timer, options.thread_count);
  ConjugateGradient conjugate_gradient(matrix, options.preconditioner, vectors, options.variant);
  for (auto* observer : options.observers) conjugate_gradient.observers().add(*observer);
  return conjugate_gradient.solve({.b = b, .x = x, .starts_from_x = options.starts_from_x}, options.stop)
      .front();
}

}  // namespace cg2d
