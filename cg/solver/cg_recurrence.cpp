#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {

void CgRecurrence::recompute_residual(std::span<const double> b, std::span<const double> x) {
  const auto operand = matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(x, operand); });
  matrix_.apply();
  vectors_.update([&](VectorOps& local) {
    local.copy(b, r_);
    local.add_scaled(-1.0, matrix_.result(), r_);
  });
}

}  // namespace cg2d
