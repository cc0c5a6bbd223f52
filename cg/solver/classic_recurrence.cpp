// CG as Hestenes and Stiefel wrote it, with the order of operations of conj_grad in the NAS benchmark.

#include "cg/solver/cg_recurrence.hpp"

namespace cg2d {
namespace {

/// Two sums over all ranks per step, and one product, for one system or for several. The direction p lies in the operator's operand, unless
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
    vectors_.updates()->step_and_turn_each(lengths.all(), factors.all(), preconditioned, p_, pieces.x,
                                           diagonal);
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

}  // namespace

CgVariantRow classic_variant() {
  return {.name = "classic",
          .description = "two sums over all ranks per step, as in the benchmark",
          .sums_per_step = 2,
          .make = &make_recurrence<ClassicRecurrence>};
}

}  // namespace cg2d
