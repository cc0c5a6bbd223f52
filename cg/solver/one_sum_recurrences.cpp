// The forms of CG with one sum over all ranks per step, by a recurrence of numbers for p . A p.

#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {
namespace {

/// In exact arithmetic p . A p = u . A u - beta rho / alpha with u = M^-1 r: so all products of a step are known
/// after the product A u, and are summed at once. Rounding makes the residual drift sooner than that of the
/// classic form; ConjugateGradient begins again where it has.
class OneSumRecurrence : public CgRecurrence {
 public:
  explicit OneSumRecurrence(const CgParts& parts)
      : CgRecurrence(parts), p_(parts.matrix.local_size()), s_(parts.matrix.local_size()) {}

  /// Where the rule ends the solve for p . A p by the recurrence, p . A p is computed anew, and the rule asked again: the end is that answer,
  /// or stagnated where it has none, since the recurrence has parted.
  void step(std::span<CgSystem> systems, const LinearSystem& pieces, const StopRule& stop) final {
    auto& system = systems.front();
    system.is_asked = true;
    system.ask_within_step(next_curvature_, stop);
    const bool was_ended = system.end.has_value();
    if (was_ended && !is_direct_) {
      multiply(p_);
      system.ask_within_step(vectors_.dot(p_, matrix_.result()), stop);
    }
    if (system.is_doubted()) ask_with_rounding(systems, stop, p_);
    if (was_ended && !is_direct_ && !system.end) system.end = SolveEnd::stagnated;
    if (system.end) return;
    system.state.take_alpha();
    take_step(system, pieces);
  }

 protected:
  /// r . u, u . A u, r . r
  using Products = std::array<double, 3>;

  Products local_products(VectorOps& local, ConstPiece u, ConstPiece w) const {
    const double rho = local.dot(r_, u);
    return {rho, local.dot(u, w), preconditioner_.is_identity() ? rho : local.dot(r_, r_)};
  }

  /// The numbers of a first step along u.
  void begin_with(CgSystem& system, const Products& products) {
    system.begin_with(products[0], products[2]);
    next_curvature_ = products[1];
    is_direct_ = true;
  }
  /// beta, and the p . A p of the next step. x has taken the step, p is still its direction.
  void go_on_with(CgSystem& system, const Products& products, const LinearSystem& pieces) {
    system.go_on_with(products[0], products[2]);
    const auto& state = system.state;
    next_curvature_ = products[1];
    if (state.alpha != 0.0) next_curvature_ -= state.beta * state.rho / state.alpha;
    is_direct_ = false;
    if (!pieces.keeps_best || !system.kept.takes(system.square_before, state)) return;
    const auto local = vectors_.updates();
    local->copy(pieces.x, pieces.kept_x);
    local->add_scaled(-state.alpha, p_, pieces.kept_x);
  }
  /// From alpha to the next direction.
  virtual void take_step(CgSystem& system, const LinearSystem& pieces) = 0;

  HugePageVector p_;
  HugePageVector s_;  // A p

 private:
  double next_curvature_ = 0.0;
  bool is_direct_ = false;  // next_curvature_ comes from no recurrence
};

/// p . A p follows from rho and u . A u, which are summed together after the product (Chronopoulos and Gear 1989). u = M^-1 r, w = A u, s = A p
class ChronopoulosGearRecurrence final : public OneSumRecurrence {
 public:
  using OneSumRecurrence::OneSumRecurrence;

  void begin(std::span<CgSystem> systems) override {
    const auto [u, products] = multiply_preconditioned_residual();
    begin_with(systems.front(), products);
    const auto local = vectors_.updates();
    local->copy(u, p_);
    local->copy(matrix_.result(), s_);
  }

  void take_step(CgSystem& system, const LinearSystem& pieces) override {
    const auto& state = system.state;
    vectors_.updates()->step_along(state.alpha, p_, s_, pieces.x, r_);
    const auto [u, products] = multiply_preconditioned_residual();
    go_on_with(system, products, pieces);
    const auto local = vectors_.updates();
    local->scale_and_add(u, state.beta, p_);
    local->scale_and_add(matrix_.result(), state.beta, s_);
  }

 private:
  /// The operator's result := A u; u, and the sums.
  std::pair<ConstPiece, Products> multiply_preconditioned_residual() {
    const auto u = preconditioner_.apply(r_, vectors_);
    multiply(u);
    return {u, vectors_.sums([&](VectorOps& local) { return local_products(local, u, matrix_.result()); })};
  }
};

/// Steps after which the vectors that follow from recurrences are computed anew; r drifts by their roundings.
/// Four products every 50 steps cost at most 8 %. (Section 5 of the paper: the residual stagnates orders of
/// magnitude above that of the classic form otherwise.)
constexpr int steps_between_replacements = 50;

/// The sum is under way during the product and the preconditioner (Ghysels and Vanroose 2014). u = M^-1 r, w = A u, m = M^-1 w, n = A m; s = A p, q = M^-1 s, z = A q. Without preconditioner u is r, m is w
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

  void begin(std::span<CgSystem> systems) override {
    compute_u_and_w();
    const auto m = sum_during_product();
    begin_with(systems.front(), products_);
    steps_ = 0;
    const auto local = vectors_.updates();
    local->copy(u(), p_);
    local->copy(w_, s_);
    if (is_preconditioned_) local->copy(m, own_q_);
    local->copy(matrix_.result(), z_);
  }

  void take_step(CgSystem& system, const LinearSystem& pieces) override {
    const auto& state = system.state;
    {
      const auto local = vectors_.updates();
      local->step_along(state.alpha, p_, s_, pieces.x, r_);
      if (is_preconditioned_) local->add_scaled(-state.alpha, own_q_, own_u_);
      local->add_scaled(-state.alpha, z_, w_);
    }
    if (++steps_ % steps_between_replacements == 0) replace_vectors(pieces);
    const auto m = sum_during_product();
    go_on_with(system, products_, pieces);
    const auto local = vectors_.updates();
    local->scale_and_add(matrix_.result(), state.beta, z_);
    if (is_preconditioned_) local->scale_and_add(m, state.beta, own_q_);
    local->scale_and_add(w_, state.beta, s_);
    local->scale_and_add(u(), state.beta, p_);
  }

 private:
  ConstPiece u() const { return is_preconditioned_ ? own_u_ : r_; }

  /// products_ := the sums; the operator's result := n; m.
  ConstPiece sum_during_product() {
    vectors_.begin_sums(products_, [&](VectorOps& local) { return local_products(local, u(), w_); });
    const auto m = preconditioner_.apply(w_, vectors_);
    multiply(m);
    vectors_.finish_sums();
    return m;
  }

  void compute_u_and_w() {
    precondition(r_, own_u_);
    multiply(u());
    vectors_.updates()->copy(matrix_.result(), w_);
  }
  /// result := M^-1 vector where there is an M. On every rank: applying M^-1 may be collective.
  void precondition(ConstPiece vector, Piece result) {
    if (!is_preconditioned_) return;
    const auto preconditioned = preconditioner_.apply(vector, vectors_);
    vectors_.updates()->copy(preconditioned, result);
  }

  /// All vectors but x and p from their definitions; the directions stay, so CG goes on as before.
  void replace_vectors(const LinearSystem& pieces) {
    recompute_residual(pieces.b, pieces.x);
    compute_u_and_w();
    multiply(p_);
    vectors_.updates()->copy(matrix_.result(), s_);
    precondition(s_, own_q_);
    multiply(is_preconditioned_ ? own_q_ : s_);
    vectors_.updates()->copy(matrix_.result(), z_);
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

CgVariantRow chronopoulos_gear_variant() {
  return {.name = "chronopoulos-gear",
          .description = "one sum over all ranks per step",
          .sums_per_step = 1,
          .make = &make_recurrence<ChronopoulosGearRecurrence>};
}

CgVariantRow pipelined_variant() {
  return {.name = "pipelined",
          .description = "one sum over all ranks per step, under way during the product",
          .sums_per_step = 1,
          .make = &make_recurrence<PipelinedRecurrence>};
}

}  // namespace cg2d
