#pragma once

// The recurrence of conjugate gradients: the computation of a step, apart from when the steps end; and the table of
// its forms.

#include <memory>

#include "cg/base/process_memory.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/step_observer.hpp"
#include "kernels/spmv.hpp"

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
};

/// One of the systems that are solved together, with numbers of its own.
struct CgSystem {
  CgState state{};
  std::optional<SolveEnd> end{};  ///< empty: it goes on, or begins again
  /// || b - A x || by the recurrence, where the state's is recomputed: before it was.
  double recurrence_norm = 0.0;
  /// Norm of the last recomputed residual from which the recurrence began again.
  double replaced_norm = std::numeric_limits<double>::infinity();
  double square_before = 0.0;  ///< r . r before the last step
  KeptResidual kept{};
  bool begins_again =
      false;  ///< from its recomputed residual: it seems converged, or rounding has spoiled the recurrence
  bool is_asked = false;   ///< the stop rule was asked about it last
  bool must_stop = false;  ///< an observer asks for it

  bool goes_on() const { return !end && !begins_again; }
  /// The stop rule was asked last, and said this.
  bool ends_as(SolveEnd one) const { return is_asked && end == one; }
  bool is_doubted() const { return ends_as(SolveEnd::not_positive_definite); }
  void begin_again() {
    end.reset();
    begins_again = true;
  }
  /// Notes r . M^-1 r and r . r before a first step along M^-1 r.
  void begin_with(double rho, double residual_square) {
    state.rho = rho;
    state.residual_square = residual_square;
    state.direction_square = rho;
  }
  /// Notes r . M^-1 r and r . r after a step, and the beta of the next direction.
  void go_on_with(double rho, double residual_square) {
    square_before = std::exchange(state.residual_square, residual_square);
    state.record_beta(std::exchange(state.rho, rho));
  }
  /// Asks the rule within a step, whose p . A p this is.
  void ask_within_step(double p_a_p, const StopRule& stop) {
    state.record_curvature(p_a_p);
    end = stop.end_within_step(state);
  }
};

/// A number of each of the systems that are solved together.
class PerSystem {
 public:
  static constexpr size_t most = kernels::vector_counts.back();

  explicit PerSystem(size_t count) : count_(count) {}
  template <typename Of>
  PerSystem(std::span<const CgSystem> systems, const Of& of) : count_(systems.size()) {
    for (size_t k = 0; k < count_; ++k) values_[k] = static_cast<double>(std::invoke(of, systems[k]));
  }
  [[nodiscard]] double& operator[](size_t k) { return values_[k]; }
  double operator[](size_t k) const { return values_[k]; }
  [[nodiscard]] std::span<double> all() { return std::span(values_).first(count_); }
  std::span<const double> all() const { return std::span(values_).first(count_); }
  /// Of marks: whether a system has one, a number that is not 0.
  bool has_any() const {
    return std::ranges::any_of(all(), [](double mark) { return mark != 0.0; });
  }

 private:
  std::array<double, most> values_{};
  size_t count_;
};

/// A x = b; this rank's pieces, which do not overlap. Of several systems the elements of one row are neighbours.
struct LinearSystem {
  ConstPiece b;
  Piece x;
  bool keeps_best = false;  ///< an iterate of each system is kept (KeptResidual)
  Piece kept_x = {};        ///< where it is
};

/// The order of A, of which this rank has `local_size` rows. Collective. Cost: one sum over all ranks, set aside from those of steps.
[[nodiscard]] double order_of(LinearOperator& matrix, size_t local_size);

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
  [[nodiscard]] Piece residual() { return r_; }
  /// r := b - A x of all systems, by one product. begin() must follow before the next step().
  void recompute_residual(ConstPiece b, ConstPiece x);
  /// r := b - A x of the systems that begin again; begin() must follow for those that still do. The others' vectors stay as they are.
  virtual void recompute_residuals(std::span<const CgSystem> /*systems*/, const LinearSystem& pieces) {
    recompute_residual(pieces.b, pieces.x);
  }

  /// The systems that begin again do so, with the direction M^-1 r. Sets their rho, residual_square and direction_square.
  virtual void begin(std::span<CgSystem> systems) = 0;
  /// One step of the systems that go on. Sets the end of those that `stop`, which is_asked within the step, ends there: then x is as before
  /// it. SolveEnd::stagnated says that rounding has spoiled the recurrence: begin again with the recomputed residual.
  virtual void step(std::span<CgSystem> systems, const LinearSystem& pieces, const StopRule& stop) = 0;

  /// Of the systems that are doubted: rho := r . M^-1 r, computed from r, with its rounding bound. begin() must follow for them before the
  /// next step(). Cost: one application of M^-1, and rounding_bounds().
  void recompute_rho(std::span<CgSystem> systems);

  /// The direction of the next step of a form whose saved state is x, r and one direction; else empty.
  virtual ConstPiece direction() const { return {}; }
  /// Takes the place of begin() for such a form: residual() is written already, and the state is that of the step before.
  virtual void resume(ConstPiece /*direction*/) {}

 protected:
  /// The operator's result := A vector.
  void multiply(ConstPiece vector);

  /// Asks the rule again about the systems that are doubted, with the rounding bound of p . A p. p is not the operator's operand.
  void ask_with_rounding(std::span<CgSystem> systems, const StopRule& stop, ConstPiece p);

  LinearOperator& matrix_;
  Preconditioner& preconditioner_;
  DistributedVectors& vectors_;
  HugePageVector r_;
};

/// One form of CG. A new one is a class derived from CgRecurrence, and its entry in cg_variant_table().
struct CgVariantRow {
  std::string_view name;
  int sums_per_step = 0;  ///< over all ranks
  std::unique_ptr<CgRecurrence> (*make)(const CgParts& parts) = nullptr;
};

/// All forms; the first one is the classic one, which the benchmark's rules prescribe.
std::span<const CgVariantRow> cg_variant_table();
/// The row of that name, or nullptr.
const CgVariantRow* find_cg_variant(std::string_view name);

}  // namespace cg2d
