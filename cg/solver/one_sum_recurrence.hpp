#pragma once

// The part that the forms of CG with one sum per step have in common: p . A p by a recurrence of numbers.

#include <array>
#include <optional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {

/// In exact arithmetic p . A p = u . A u - beta rho / alpha with u = M^-1 r: so all products of a step are known
/// after the product A u, and are summed at once. Rounding makes the residual drift sooner than that of the
/// classic form; ConjugateGradient begins again where it has.
class OneSumRecurrence : public CgRecurrence {
 public:
  explicit OneSumRecurrence(const CgParts& parts)
      : CgRecurrence(parts), p_(parts.matrix.local_size()), s_(parts.matrix.local_size()) {}

 protected:
  /// r . u, u . A u, r . r
  using Products = std::array<double, 3>;

  [[nodiscard]] Products local_products(VectorOps& local, std::span<const double> u,
                                        std::span<const double> w) const {
    const double rho = local.dot(r_, u);
    return {rho, local.dot(u, w), preconditioner_.is_identity() ? rho : local.dot(r_, r_)};
  }

  /// The operator's result := A vector.
  void multiply(std::span<const double> vector);
  /// The numbers of a first step along u.
  void begin_with(CgState& state, const Products& products);
  /// beta, and the p . A p of the next step. x has taken the step, p is still its direction.
  void go_on_with(CgState& state, const Products& products, const LinearSystem& system);
  /// Notes p . A p. Where the rule ends the solve for it, by the recurrence, p . A p is computed anew, and the
  /// rule asked again: the end is that answer, or stagnated where it has none, since the recurrence has parted.
  [[nodiscard]] std::optional<SolveEnd> end_within_step(CgState& state, const StopRule& stop);
  static void set_alpha(CgState& state) {
    state.alpha = state.rho == 0.0 ? 0.0 : state.rho / state.curvature;
  }

  HugePageVector p_;
  HugePageVector s_;  // A p

 private:
  double next_curvature_ = 0.0;
  bool is_direct_ = false;  // next_curvature_ comes from no recurrence
};

}  // namespace cg2d
