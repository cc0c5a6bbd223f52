#include "cg/solver/cg_recurrence.hpp"

#include <bit>

#include "cg/matrix/files/permutation.hpp"

namespace cg2d {
namespace {

/// 1 or -1 with the sign bit of a random number. Neither the place nor the value alone would do: pieces of one row have the same places, and
/// vectors of ones the same values.
double random_sign(size_t place, double value, uint64_t draw) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto word = splitmix_bits(((place + 1) * 8 + draw) * golden_ratio_bits) ^ bits;
  return (splitmix_bits(word * golden_ratio_bits) >> 63U) != 0 ? -1.0 : 1.0;
}

/// Bounds of the rounding errors of computed v . B v for a positive definite B, one for each of `count` vectors v, which lie row by row.
/// forms(vectors, values): values := v . B v of each, summed over all ranks. Products and sums are set aside from those of steps; the operator's
/// operand and result are unspecified afterwards. Collective. Cost: four forms, one vector.
///
/// A computed v . (B v) differs from the exact one by at most gamma |v| . |B| |v| (Higham, Accuracy and Stability of Numerical Algorithms,
/// section 3.5); gamma grows with the square root of the number of terms (Higham and Mary, SIAM J. Sci. Comput. 41, 2019). With
/// |b_ij| <= sqrt(b_ii b_jj), which holds for B, |v| . |B| |v| is at most m times the sum of b_ii v_i^2, m the entries of the longest row.
/// That sum is the mean of (s v) . B (s v) over random signs s (Hutchinson 1990): no entry of B is needed. It follows a scaling of rows
/// and columns, as p . A p does, and || B || || v ||^2 does not.
template <typename Forms>
PerSystem rounding_bounds(LinearOperator& matrix, ConstPiece vectors, size_t count, const Forms& forms) {
  // The numbers of terms in rows, pieces and threads are unknown here: as StepRelation of the guard allows for them.
  constexpr double eps = std::numeric_limits<double>::epsilon();
  constexpr uint64_t draw_count = 4;
  const double order = order_of(matrix, vectors.size() / count);
  matrix.set_aside(true);
  HugePageVector changed(vectors.size());
  PerSystem bounds(count);
  PerSystem forms_of_draw(count);
  for (uint64_t draw = 0; draw < draw_count; ++draw) {
    for (size_t k = 0; k < vectors.size(); ++k) changed[k] = random_sign(k, vectors[k], draw) * vectors[k];
    forms(changed, forms_of_draw.all());
    for (size_t k = 0; k < count; ++k)
      bounds[k] += std::abs(forms_of_draw[k]) / static_cast<double>(draw_count);
  }
  matrix.set_aside(false);
  // Each product of two numbers may also underflow.
  for (double& bound : bounds.all())
    bound = eps * (16.0 * std::sqrt(order) + 64.0) * bound + order * std::numeric_limits<double>::min();
  return bounds;
}

}  // namespace

void CgRecurrence::multiply(ConstPiece vector) {
  const auto operand = matrix_.operand();
  // A preconditioner may have left its result there.
  if (operand.data() != vector.data() && !operand.empty()) vectors_.updates()->copy(vector, operand);
  vectors_.multiply();
}

void CgRecurrence::recompute_residual(ConstPiece b, ConstPiece x) {
  multiply(x);
  const auto local = vectors_.updates();
  local->copy(b, r_);
  local->add_scaled(-1.0, matrix_.result(), r_);
}

double order_of(LinearOperator& matrix, size_t local_size) {
  matrix.set_aside(true);
  const double order = matrix.sum_of_ranks(static_cast<double>(local_size));
  matrix.set_aside(false);
  return order;
}

void CgRecurrence::ask_with_rounding(std::span<CgSystem> systems, const StopRule& stop, ConstPiece p) {
  const auto bounds =
      rounding_bounds(matrix_, p, systems.size(), [&](ConstPiece vectors, std::span<double> values) {
        multiply(vectors);
        vectors_.dots(vectors, matrix_.result(), values);
      });
  for (size_t k = 0; k < systems.size(); ++k) {
    if (!systems[k].is_doubted()) continue;
    auto& state = systems[k].state;
    state.curvature_rounding = bounds[k];
    systems[k].end = stop.end_within_step(state);
    if (!systems[k].end) state.clear_curvature();
  }
}

void CgRecurrence::recompute_rho(std::span<CgSystem> systems) {
  const auto forms = [&](ConstPiece vectors, std::span<double> values) {
    vectors_.dots(vectors, preconditioner_.apply(vectors, vectors_), values);
  };
  PerSystem rhos(systems.size());
  matrix_.set_aside(true);
  forms(r_, rhos.all());
  matrix_.set_aside(false);
  const auto bounds = rounding_bounds(matrix_, r_, systems.size(), forms);
  for (size_t k = 0; k < systems.size(); ++k) {
    if (!systems[k].is_doubted()) continue;
    systems[k].state.rho = rhos[k];
    systems[k].state.rho_rounding = bounds[k];
  }
}

// ---------------------------------------------------------------- the classic form

namespace {

/// CG as Hestenes and Stiefel wrote it, with the order of operations of conj_grad in the NAS benchmark: two sums over all ranks per step, and
/// one product, for one system or for several. The direction p lies in the operator's operand, unless
/// the preconditioner needs that for products of its own. A system that has ended takes part with a step of length 0.
class ClassicRecurrence final : public CgRecurrence {
 public:
  explicit ClassicRecurrence(const CgParts& parts)
      : CgRecurrence(parts), own_direction_(preconditioner_.uses_products() ? matrix_.local_size() : 0) {}

  void recompute_residuals(std::span<const CgSystem> systems, const LinearSystem& pieces) override {
    if (systems.size() == 1) return recompute_residual(pieces.b, pieces.x);
    const bool is_in_operand = !preconditioner_.uses_products();
    if (is_in_operand) {
      if (own_direction_.empty()) own_direction_ = HugePageVector(p_.size());
      vectors_.updates()->copy(p_, own_direction_);
    }
    multiply(pieces.x);
    const PerSystem are_new(systems, &CgSystem::begins_again);
    vectors_.updates()->subtract_where(are_new.all(), pieces.b, matrix_.result(), r_);
    if (is_in_operand) resume(own_direction_);
  }

  void begin(std::span<CgSystem> systems) override {
    const auto preconditioned = preconditioner_.apply(r_, vectors_);
    place_direction();
    const PerSystem are_new(systems, &CgSystem::begins_again);
    vectors_.updates()->copy_where(are_new.all(), preconditioned, p_);
    compute_products(systems, preconditioned, [](CgSystem& system, double rho, double residual_square) {
      if (system.begins_again) system.begin_with(rho, residual_square);
    });
  }

  void resume(ConstPiece direction) override {
    place_direction();
    std::ranges::copy(direction, p_.begin());
  }

  void step(std::span<CgSystem> systems, const LinearSystem& pieces, const StopRule& stop) override {
    multiply_direction();
    ask_within_step(systems, stop);
    if (std::ranges::none_of(systems, &CgSystem::goes_on)) return;
    for (auto& system : systems) {
      if (system.goes_on()) system.state.take_alpha();
    }
    finish_step(systems, pieces);
  }

  ConstPiece direction() const override { return p_; }

 private:
  void place_direction() { p_ = preconditioner_.uses_products() ? Piece(own_direction_) : matrix_.operand(); }

  /// Where a system goes on, p and A p are where they were.
  void ask_within_step(std::span<CgSystem> systems, const StopRule& stop) {
    PerSystem curvatures(systems.size());
    const auto own = matrix_.own_product();  // of one system alone
    vectors_.sums_into(curvatures.all(), [&](VectorOps& local) {
      if (own) {
        curvatures[0] = *own;
      } else {
        local.dots(p_, matrix_.result(), curvatures.all());
      }
    });
    for (size_t k = 0; k < systems.size(); ++k) {
      systems[k].is_asked = systems[k].goes_on();
      if (systems[k].is_asked) systems[k].ask_within_step(curvatures[k], stop);
    }
    if (std::ranges::none_of(systems, &CgSystem::is_doubted)) return;
    HugePageVector direction(p_.size());
    std::ranges::copy(p_, direction.begin());
    ask_with_rounding(systems, stop, direction);
    if (std::ranges::none_of(systems, &CgSystem::goes_on)) return;
    matrix_.set_aside(true);
    resume(direction);
    multiply_direction();
    matrix_.set_aside(false);
  }

  /// From alpha to the next directions. Of one system with a diagonal in two passes over the vectors, quicker where these are in memory.
  void finish_step(std::span<CgSystem> systems, const LinearSystem& pieces) {
    const auto numbers = [&](double CgState::*number) {
      return PerSystem(systems, [&](const CgSystem& one) { return one.goes_on() ? one.state.*number : 0.0; });
    };
    const auto lengths = numbers(&CgState::alpha);
    // Operations with a diagonal are not exact.
    const bool takes_diagonal = systems.size() == 1 && matrix_.most_terms() == 0.0;
    const auto diagonal = takes_diagonal ? preconditioner_.inverse_diagonal() : ConstPiece();
    ConstPiece preconditioned = r_;
    if (diagonal.empty()) {
      vectors_.updates()->subtract_scaled_each(lengths.all(), matrix_.result(), r_);
      preconditioned = preconditioner_.apply(r_, vectors_);
      compute_products(systems, preconditioned, &CgSystem::go_on_with);
    } else {
      const auto products = vectors_.updates()->step_residual(lengths[0], matrix_.result(), diagonal, r_);
      const auto [rho, residual_square] = vectors_.sums([&](VectorOps&) { return products; });
      systems.front().go_on_with(rho, residual_square);
    }
    if (pieces.keeps_best) {
      PerSystem are_kept(systems.size());
      for (size_t k = 0; k < systems.size(); ++k) {
        auto& system = systems[k];
        are_kept[k] = system.goes_on() && system.kept.takes(system.square_before, system.state) ? 1.0 : 0.0;
      }
      if (are_kept.has_any()) vectors_.updates()->copy_where(are_kept.all(), pieces.x, pieces.kept_x);
    }
    const auto factors = numbers(&CgState::beta);
    vectors_.updates()->step_and_turn(lengths.all(), factors.all(), preconditioned, p_, pieces.x, diagonal);
  }

  /// The operator's result := A p
  void multiply_direction() {
    if (preconditioner_.uses_products()) return multiply(p_);
    vectors_.multiply();
  }

  /// Calls record(system, r . M^-1 r, r . r) for the systems that have not ended; both are the same without preconditioner.
  template <typename Record>
  void compute_products(std::span<CgSystem> systems, ConstPiece preconditioned, const Record& record) {
    const bool is_same = preconditioner_.is_identity();
    const auto count = systems.size();
    std::array<double, 2 * PerSystem::most> values{};
    const auto sums = std::span(values).first(is_same ? count : 2 * count);
    vectors_.sums_into(sums, [&](VectorOps& local) {
      local.dots(r_, preconditioned, sums.first(count));
      if (!is_same) local.dots(r_, r_, sums.last(count));
    });
    for (size_t k = 0; k < count; ++k) {
      if (!systems[k].end) std::invoke(record, systems[k], sums[k], sums[sums.size() - count + k]);
    }
  }

  HugePageVector own_direction_;  // p itself, or p while the operand is x
  Piece p_;
};

// ---------------------------------------------------------------- forms with one sum over all ranks per step, by a recurrence of numbers for p . A p

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

template <typename Form>
std::unique_ptr<CgRecurrence> make_recurrence(const CgParts& parts) {
  return std::make_unique<Form>(parts);
}

}  // namespace

std::span<const CgVariantRow> cg_variant_table() {
  static const std::array table{
      CgVariantRow{"classic", 2, &make_recurrence<ClassicRecurrence>},
      CgVariantRow{"chronopoulos-gear", 1, &make_recurrence<ChronopoulosGearRecurrence>},
      CgVariantRow{"pipelined", 1, &make_recurrence<PipelinedRecurrence>}};
  return table;
}

const CgVariantRow* find_cg_variant(std::string_view name) { return row_named(cg_variant_table(), name); }

}  // namespace cg2d
