// CG with one sum over all ranks per step (Chronopoulos and Gear 1989): p . A p follows from rho and u . A u,
// which are summed together after the product.

#include <array>
#include <optional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/one_sum_recurrence.hpp"

namespace cg2d {
namespace {

/// u = M^-1 r, w = A u, s = A p
class ChronopoulosGearRecurrence final : public OneSumRecurrence {
 public:
  explicit ChronopoulosGearRecurrence(const CgParts& parts) : OneSumRecurrence(parts) {}

  void begin(CgState& state) override {
    const auto u = multiply_preconditioned_residual();
    begin_with(state, sum_products(u, matrix_.result()));
    vectors_.update([&](VectorOps& local) {
      local.copy(u, p_);
      local.copy(matrix_.result(), s_);
    });
  }

  std::optional<SolveEnd> step(CgState& state, const LinearSystem& system, const StopRule& stop) override {
    if (const auto end = end_within_step(state, stop)) return end;
    set_alpha(state);
    vectors_.update([&](VectorOps& local) { local.step_along(state.alpha, p_, s_, system.x, r_); });
    const auto u = multiply_preconditioned_residual();
    go_on_with(state, sum_products(u, matrix_.result()), system);
    vectors_.update([&](VectorOps& local) {
      local.scale_and_add(u, state.beta, p_);
      local.scale_and_add(matrix_.result(), state.beta, s_);
    });
    return std::nullopt;
  }

 private:
  /// The operator's result := A u; u.
  std::span<const double> multiply_preconditioned_residual() {
    const auto u = preconditioner_.apply(r_, vectors_);
    multiply(u);
    return u;
  }
  [[nodiscard]] Products sum_products(std::span<const double> u, std::span<const double> w) {
    return vectors_.sums([&](VectorOps& local) { return local_products(local, u, w); });
  }
};

}  // namespace

CgVariantRow chronopoulos_gear_variant() {
  return {.name = "chronopoulos-gear",
          .description = "one sum over all ranks per step",
          .sums_per_step = 1,
          .make = &make_recurrence<ChronopoulosGearRecurrence>};
}

}  // namespace cg2d
