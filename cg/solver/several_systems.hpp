#pragma once

// Conjugate gradients for several systems with the same matrix, in lock-step: one product for all of them, and one
// message where a single system sends one.

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/solve.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/solver/stop_rule.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The classic form of CG for as many systems as the operator takes vectors. All vectors lie row by row, the elements
/// of one row next to each other, one of each system. Each system has its own numbers, and ends by itself: from then
/// on its x does not change any more. Holds references: all must outlive it. Every operation is collective over the
/// operator's ranks and gives the same numbers, to the bit, on every rank.
class SeveralSystems final : public SystemSolver {
 public:
  /// vector_count: one of kernels::vector_counts. The preconditioner works on vectors of all systems.
  SeveralSystems(const CgParts& parts, int vector_count);

  [[nodiscard]] StepObservers& observers() override { return observers_; }
  [[nodiscard]] StepObservers& observers_of(int system) override {
    return systems_[static_cast<std::size_t>(system)].observers;
  }

  /// x := about A^-1 b for every system. The lengths are those of the operator's pieces. Systems whose right-hand
  /// side is zero end at once. Cost: one product and two sums per step, and one product and one sum for each step in
  /// which a system seems to have converged, and for those that did not; nothing is allocated in a step. Once: not to
  /// be called again.
  std::vector<SystemSolveResult> solve(const SystemVectors& vectors, const StopRule& stop) override;

 private:
  static constexpr std::size_t most_systems = kernels::vector_counts.back();

  struct System {
    CgState state;
    std::optional<SolveEnd> end;
    double recurrence_norm = 0.0;
    double replaced_norm = std::numeric_limits<double>::infinity();
    KeptResidual kept;
    bool begins_again =
        false;  ///< from its recomputed residual: it seems converged, or rounding has spoiled the step
    bool must_stop = false;
    StepObservers observers;
  };
  [[nodiscard]] std::span<double> numbers(std::array<double, most_systems>& values) const {
    return std::span(values).first(systems_.size());
  }

  /// taken_ := the systems for which is_taken(number). Whether there are any.
  template <typename IsTaken>
  bool take(const IsTaken& is_taken) {
    bool takes_any = false;
    for (std::size_t k = 0; k < systems_.size(); ++k) {
      const bool takes = is_taken(k);
      taken_[k] = takes ? 1.0 : 0.0;
      takes_any |= takes;
    }
    return takes_any;
  }
  bool take_those_that_begin_again() {
    return take([this](std::size_t k) { return systems_[k].begins_again; });
  }
  /// values := x . y of each system, over all ranks.
  void dots(std::span<const double> x, std::span<const double> y, std::span<double> values) {
    vectors_.sums_into(values, [&](VectorOps& local) { local.dots(x, y, values); });
  }

  void begin(const SystemVectors& vectors, const StopRule& stop);
  void record_zeros(std::span<const double> b);
  void step(std::span<double> x, const StopRule& stop);
  void record_curvatures(const StopRule& stop);
  void bound_curvatures(const StopRule& stop);
  void ask_with_bounds(const StopRule& stop);
  void ask_idle_ones(const StopRule& stop);
  void judge_overflows(const SystemVectors& vectors);
  void record_step(const StopRule& stop);
  void keep_iterates(std::span<const double> x);
  bool tell_of_step();
  void replace_residuals(const SystemVectors& vectors, const StopRule& stop);
  void judge_replaced(System& system, const StopRule& stop);
  void restart(const StopRule& stop);
  void multiply(std::span<const double> operand);
  void compute_products(std::span<const double> preconditioned);
  void compute_residual_squares();
  std::vector<SystemSolveResult> finish(const SystemVectors& vectors);
  void compute_residual(std::span<const double> b, std::span<const double> x, std::span<double> squares);
  void recompute_missing(const SystemVectors& vectors, std::span<SystemSolveResult> results);
  void take_kept(const SystemVectors& vectors, std::span<SystemSolveResult> results);

  LinearOperator& matrix_;
  Preconditioner& preconditioner_;
  DistributedVectors& vectors_;
  std::vector<System> systems_;
  StepObservers observers_;
  HugePageVector r_;
  HugePageVector kept_direction_;  // p itself, or p while the operand is x
  std::span<double> p_;
  bool keeps_best_ = false;
  HugePageVector kept_x_;  // the iterate that each system keeps
  // One number of each system.
  std::array<double, most_systems> alpha_{};
  std::array<double, most_systems> beta_{};
  std::array<double, most_systems> taken_{};
  std::array<double, most_systems> squares_before_{};
  std::array<double, 2 * most_systems> sums_{};  // rho, if it is not r . r, and r . r
};

/// The solver of one system by a form of CG, or, with a vector_count of 2 or more, that of so many systems: by the
/// classic form, whatever `variant` is.
std::unique_ptr<SystemSolver> make_system_solver(const CgParts& parts, const CgVariantRow& variant,
                                                 int vector_count);

}  // namespace cg2d
