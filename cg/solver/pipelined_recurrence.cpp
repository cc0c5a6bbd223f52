// Pipelined CG (Ghysels and Vanroose 2014): one sum over all ranks per step, which is under way during the
// product and the preconditioner.

#include <array>
#include <optional>
#include <span>

#include "cg/base/process_memory.hpp"
#include "cg/solver/one_sum_recurrence.hpp"

namespace cg2d {
namespace {

/// Steps after which the vectors that follow from recurrences are computed anew; r drifts by their roundings.
/// Four products every 50 steps cost at most 8 %. (Section 5 of the paper: the residual stagnates orders of
/// magnitude above that of the classic form otherwise.)
constexpr int steps_between_replacements = 50;

/// u = M^-1 r, w = A u, m = M^-1 w, n = A m; s = A p, q = M^-1 s, z = A q. Without preconditioner u is r, m is w
/// and q is s.
class PipelinedRecurrence final : public OneSumRecurrence {
 public:
  explicit PipelinedRecurrence(const CgParts& parts)
      : OneSumRecurrence(parts),
        is_preconditioned_(!parts.preconditioner.is_identity()),
        own_u_(is_preconditioned_ ? parts.matrix.local_size() : 0),
        own_q_(own_u_.size()),
        w_(parts.matrix.local_size()),
        z_(parts.matrix.local_size()) {}

  void begin(CgState& state) override {
    compute_u_and_w();
    const auto m = sum_during_product();
    begin_with(state, products_);
    vectors_.update([&](VectorOps& local) {
      local.copy(u(), p_);
      local.copy(w_, s_);
      if (is_preconditioned_) local.copy(m, own_q_);
      local.copy(matrix_.result(), z_);
    });
    steps_ = 0;
  }

  std::optional<SolveEnd> step(CgState& state, const LinearSystem& system, const StopRule& stop) override {
    if (const auto end = end_within_step(state, stop)) return end;
    set_alpha(state);
    vectors_.update([&](VectorOps& local) {
      local.step_along(state.alpha, p_, s_, system.x, r_);
      if (is_preconditioned_) local.add_scaled(-state.alpha, own_q_, own_u_);
      local.add_scaled(-state.alpha, z_, w_);
    });
    if (++steps_ % steps_between_replacements == 0) replace_vectors(system);
    const auto m = sum_during_product();
    go_on_with(state, products_, system);
    vectors_.update([&](VectorOps& local) {
      local.scale_and_add(matrix_.result(), state.beta, z_);
      if (is_preconditioned_) local.scale_and_add(m, state.beta, own_q_);
      local.scale_and_add(w_, state.beta, s_);
      local.scale_and_add(u(), state.beta, p_);
    });
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::span<const double> u() const { return is_preconditioned_ ? own_u_ : r_; }

  /// products_ := the sums; the operator's result := n; m.
  std::span<const double> sum_during_product() {
    vectors_.begin_sums(products_, [&](VectorOps& local) { return local_products(local, u(), w_); });
    const auto m = preconditioner_.apply(w_, vectors_);
    multiply(m);
    vectors_.finish_sums();
    return m;
  }

  void compute_u_and_w() {
    precondition(r_, own_u_);
    multiply(u());
    vectors_.update([&](VectorOps& local) { local.copy(matrix_.result(), w_); });
  }
  /// result := M^-1 vector where there is an M. On every rank: applying M^-1 may be collective.
  void precondition(std::span<const double> vector, std::span<double> result) {
    if (!is_preconditioned_) return;
    const auto preconditioned = preconditioner_.apply(vector, vectors_);
    vectors_.update([&](VectorOps& local) { local.copy(preconditioned, result); });
  }

  /// All vectors but x and p from their definitions; the directions stay, so CG goes on as before.
  void replace_vectors(const LinearSystem& system) {
    recompute_residual(system.b, system.x);
    compute_u_and_w();
    multiply(p_);
    vectors_.update([&](VectorOps& local) { local.copy(matrix_.result(), s_); });
    precondition(s_, own_q_);
    multiply(is_preconditioned_ ? own_q_ : s_);
    vectors_.update([&](VectorOps& local) { local.copy(matrix_.result(), z_); });
  }

  bool is_preconditioned_;
  HugePageVector own_u_;  // empty without preconditioner
  HugePageVector own_q_;
  HugePageVector w_;
  HugePageVector z_;
  Products products_{};
  int steps_ = 0;  // since it began
};

}  // namespace

CgVariantRow pipelined_variant() {
  return {.name = "pipelined",
          .description = "one sum over all ranks per step, under way during the product",
          .sums_per_step = 1,
          .make = &make_recurrence<PipelinedRecurrence>};
}

}  // namespace cg2d
