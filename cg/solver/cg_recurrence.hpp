#pragma once

// The recurrence of conjugate gradients: the computation of a step, apart from when the steps end; and the table of
// its forms.

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "cg/base/interface.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/solver/distributed_vectors.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/preconditioner.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"

namespace cg2d {

/// The parts that a recurrence works with; all must outlive it.
struct CgParts {
  LinearOperator& matrix;
  Preconditioner& preconditioner;
  DistributedVectors& vectors;
};

/// Residual of the iterate that a solve keeps, for an answer if it fails. One is kept where the residual begins to grow from at most half
/// of the residual of the one before: a solve whose residuals fall copies nothing, and others some ten vectors (1e-8 is 27 halvings). So the
/// kept residual, or the last one, is less than twice the smallest. (Of each least value a copy: up to 8 % of the steps of a 5-point mesh
/// with coefficients from 1e-3 to 1e3 would make one.)
struct KeptResidual {
  double square =
      std::numeric_limits<double>::infinity();  ///< r . r by the recurrence; infinity: none is kept
  int step = 0;

  /// After r . r of a step is known. True: the iterate before that step is to be kept.
  [[nodiscard]] bool takes(double square_before, const CgState& state) {
    constexpr double gain_of_kept = 4.0;
    if (state.residual_square <= square_before || !(gain_of_kept * square_before <= square)) return false;
    *this = {.square = square_before, .step = state.number};
    return true;
  }
  /// The recurrence, with this r . r, begins again: an iterate that is better by its numbers takes the place of the kept one.
  void begin_again(double recurrence_square) {
    if (recurrence_square <= square) *this = {};
  }
  /// Whether the residual of a solve that failed is larger than the kept one, by the recurrence.
  [[nodiscard]] bool seems_better(const SystemSolveResult& result) const {
    return has_failed(result.end) && std::isfinite(square) &&
           !(result.last_residual_norm <= std::sqrt(square));
  }
  /// Whether it is so with the kept one's norm, computed anew; then the result says it.
  [[nodiscard]] bool replaces_last(double norm, SystemSolveResult& result) const {
    if (!std::isfinite(norm) || result.last_residual_norm <= norm) return false;
    result.true_residual_norm = norm;
    result.solution_step = step;
    return true;
  }
};

struct KeptIterate {
  KeptResidual residual;
  HugePageVector x;
};

/// A x = b; this rank's pieces, which do not overlap.
struct LinearSystem {
  std::span<const double> b;
  std::span<double> x;
  KeptIterate* kept = nullptr;  ///< nullptr: none is kept
};

/// values := v . B v of each of several vectors v, which lie row by row as those of SeveralSystems; summed over all ranks.
using QuadraticForms = std::function<void(std::span<const double> vectors, std::span<double> values)>;

/// bounds := bounds of the rounding errors of computed v . B v for a positive definite B, one for each vector. Products and sums are set
/// aside from those of steps; the operator's operand and result are unspecified afterwards. Collective. Cost: four forms, one vector.
///
/// A computed v . (B v) differs from the exact one by at most gamma |v| . |B| |v| (Higham, Accuracy and Stability of Numerical Algorithms,
/// section 3.5); gamma grows with the square root of the number of terms (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). With
/// |b_ij| <= sqrt(b_ii b_jj), which holds for B, |v| . |B| |v| is at most m times the sum of b_ii v_i^2, m the entries of the longest row.
/// That sum is the mean of (s v) . B (s v) over random signs s (Hutchinson 1990): no entry of B is needed. It follows a scaling of rows
/// and columns, as p . A p does, and || B || || v ||^2 does not.
void rounding_bounds(LinearOperator& matrix, std::span<const double> vectors, const QuadraticForms& forms,
                     std::span<double> bounds);

/// The order of A, of which this rank has `local_size` rows. Collective. Cost: one sum over all ranks, set aside from those of steps.
[[nodiscard]] double order_of(LinearOperator& matrix, std::size_t local_size);

/// counts := the elements of b, of A 0 and of M^-1 0 that are NaN or infinite, and those of x where it is still the initial guess; one number
/// for each of several systems, in is_guess, too. A 0 has NaN where A has NaN or infinity: where there are none, numbers of a solve that are
/// not finite have left the range of double precision. Collective. Cost: one product, one application of M^-1, one vector, one sum; set aside
/// from those of steps.
void count_not_finite(const CgParts& parts, const LinearSystem& systems, std::span<const double> is_guess,
                      std::span<double> counts);

/// One form of CG with its vectors. Every operation is collective over the operator's ranks and gives the same
/// numbers, to the bit, on every rank.
class CgRecurrence : public Interface {
 public:
  explicit CgRecurrence(const CgParts& parts)
      : matrix_(parts.matrix),
        preconditioner_(parts.preconditioner),
        vectors_(parts.vectors),
        r_(parts.matrix.local_size()) {}

  /// r; the caller writes b - A x to it before begin().
  [[nodiscard]] std::span<double> residual() { return r_; }
  /// r := b - A x, by one product. begin() must follow before the next step().
  void recompute_residual(std::span<const double> b, std::span<const double> x);

  /// Begins, or begins again, with the direction M^-1 r. Sets rho, residual_square and direction_square.
  virtual void begin(CgState& state) = 0;
  /// One step. Returns the end of the solve where `stop` says so within the step: then x is as before it.
  /// SolveEnd::stagnated says that rounding has spoiled the recurrence: begin again with the recomputed
  /// residual.
  virtual std::optional<SolveEnd> step(CgState& state, const LinearSystem& system, const StopRule& stop) = 0;

  /// state.rho := r . M^-1 r, computed from r; its rounding bound. begin() must follow before the next step(). Cost: one
  /// application of M^-1, and rounding_bounds().
  [[nodiscard]] double recompute_rho(CgState& state);

  /// Whether a saved state of this form is x, r and one direction, and resume() goes on from it.
  [[nodiscard]] virtual bool can_be_resumed() const { return false; }
  /// The direction of the next step; only where can_be_resumed().
  [[nodiscard]] virtual std::span<const double> direction() const { return {}; }
  /// Takes the place of begin(): residual() is written already, and the state is that of the step before. Only where
  /// can_be_resumed().
  virtual void resume(std::span<const double> /*direction*/) {}

 protected:
  /// Asks the rule again, with the rounding bound of p . A p. p is not the operator's operand.
  [[nodiscard]] std::optional<SolveEnd> end_with_rounding(CgState& state, const StopRule& stop,
                                                          std::span<const double> p);

  /// For every step, after its r . r is known. done: its direction p, where x has taken the step already.
  void keep_iterate(const CgState& state, double square_before, const LinearSystem& system,
                    std::span<const double> done = {});

  LinearOperator& matrix_;
  Preconditioner& preconditioner_;
  DistributedVectors& vectors_;
  HugePageVector r_;
};

/// One form of CG. A new one is one file that defines its row, and its entry in cg_variant_table().
struct CgVariantRow {
  std::string_view name;
  std::string_view description;
  int sums_per_step = 0;  ///< over all ranks
  std::unique_ptr<CgRecurrence> (*make)(const CgParts& parts) = nullptr;
};

/// CgVariantRow::make of a form.
template <typename Form>
std::unique_ptr<CgRecurrence> make_recurrence(const CgParts& parts) {
  return std::make_unique<Form>(parts);
}

/// All forms; the first one is the classic one, which the benchmark's rules prescribe.
std::span<const CgVariantRow> cg_variant_table();
/// The row of that name, or nullptr.
const CgVariantRow* find_cg_variant(std::string_view name);

}  // namespace cg2d
