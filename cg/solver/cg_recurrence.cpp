#include "cg/solver/cg_recurrence.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cg/base/values.hpp"
#include "cg/matrix/files/permutation.hpp"

namespace cg2d {
namespace {

/// 1 or -1 with the sign bit of a random number. Neither the place nor the value alone would do: pieces of one row have the same places, and
/// vectors of ones the same values.
double random_sign(std::size_t place, double value, std::uint64_t draw) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto word = splitmix_bits(((place + 1) * 8 + draw) * golden_ratio_bits) ^ bits;
  return (splitmix_bits(word * golden_ratio_bits) >> 63U) != 0 ? -1.0 : 1.0;
}

}  // namespace

// Rows, each defined in its own file.
CgVariantRow classic_variant();
CgVariantRow chronopoulos_gear_variant();
CgVariantRow pipelined_variant();

void CgRecurrence::multiply(std::span<const double> vector) {
  const auto operand = matrix_.operand();
  // A preconditioner may have left its result there.
  if (operand.data() != vector.data() && !operand.empty()) vectors_.updates()->copy(vector, operand);
  vectors_.multiply();
}

void CgRecurrence::recompute_residual(std::span<const double> b, std::span<const double> x) {
  multiply(x);
  const auto local = vectors_.updates();
  local->copy(b, r_);
  local->add_scaled(-1.0, matrix_.result(), r_);
}

void rounding_bounds(LinearOperator& matrix, std::span<const double> vectors, const QuadraticForms& forms,
                     std::span<double> bounds) {
  // The numbers of terms in rows, pieces and threads are unknown here: as StepRelation of the guard allows for them.
  constexpr double eps = std::numeric_limits<double>::epsilon();
  constexpr std::uint64_t draw_count = 4;
  const double order = order_of(matrix, vectors.size() / bounds.size());
  matrix.set_aside(true);
  std::ranges::fill(bounds, 0.0);
  HugePageVector changed(vectors.size());
  std::array<double, 16> values{};
  const auto forms_of_draw = std::span(values).first(bounds.size());
  for (std::uint64_t draw = 0; draw < draw_count; ++draw) {
    for (std::size_t k = 0; k < vectors.size(); ++k)
      changed[k] = random_sign(k, vectors[k], draw) * vectors[k];
    forms(changed, forms_of_draw);
    for (std::size_t k = 0; k < bounds.size(); ++k)
      bounds[k] += std::abs(forms_of_draw[k]) / static_cast<double>(draw_count);
  }
  matrix.set_aside(false);
  // Each product of two numbers may also underflow.
  for (double& bound : bounds)
    bound = eps * (16.0 * std::sqrt(order) + 64.0) * bound + order * std::numeric_limits<double>::min();
}

double order_of(LinearOperator& matrix, std::size_t local_size) {
  matrix.set_aside(true);
  const double order = matrix.sum_of_ranks(static_cast<double>(local_size));
  matrix.set_aside(false);
  return order;
}

void count_not_finite(const CgParts& parts, const LinearSystem& systems, std::span<const double> is_guess,
                      std::span<double> counts) {
  std::ranges::fill(counts, 0.0);
  const auto count = [&](std::span<const double> vectors, const auto& is_counted) {
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      const auto system = k % counts.size();
      if (is_counted(system) && !std::isfinite(vectors[k])) ++counts[system];
    }
  };
  const auto all = [](std::size_t /*system*/) { return true; };
  count(systems.b, all);
  count(systems.x, [&](std::size_t system) { return is_guess[system] != 0.0; });
  parts.matrix.set_aside(true);
  std::ranges::fill(parts.matrix.operand(), 0.0);
  parts.vectors.multiply();
  count(parts.matrix.result(), all);
  const HugePageVector zeros(systems.b.size());
  count(parts.preconditioner.apply(zeros, parts.vectors), all);
  parts.matrix.sum_over_ranks(counts);
  parts.matrix.set_aside(false);
}

void CgRecurrence::ask_with_rounding(std::span<CgSystem> systems, const StopRule& stop,
                                     std::span<const double> p) {
  PerSystem bounds(systems.size());
  rounding_bounds(
      matrix_, p,
      [&](std::span<const double> vectors, std::span<double> values) {
        multiply(vectors);
        vectors_.dots(vectors, matrix_.result(), values);
      },
      bounds.all());
  for (std::size_t k = 0; k < systems.size(); ++k) {
    if (!systems[k].is_doubted()) continue;
    auto& state = systems[k].state;
    state.curvature_rounding = bounds[k];
    systems[k].end = stop.end_within_step(state);
    if (!systems[k].end) state.cleared_quotient = state.curvature / state.direction_square;
  }
}

void CgRecurrence::recompute_rho(std::span<CgSystem> systems) {
  const auto forms = [&](std::span<const double> vectors, std::span<double> values) {
    vectors_.dots(vectors, preconditioner_.apply(vectors, vectors_), values);
  };
  PerSystem rhos(systems.size());
  PerSystem bounds(systems.size());
  matrix_.set_aside(true);
  forms(r_, rhos.all());
  matrix_.set_aside(false);
  rounding_bounds(matrix_, r_, forms, bounds.all());
  for (std::size_t k = 0; k < systems.size(); ++k) {
    if (!systems[k].is_doubted()) continue;
    systems[k].state.rho = rhos[k];
    systems[k].state.rho_rounding = bounds[k];
  }
}

void CgRecurrence::keep_iterate(CgSystem& system, double square_before, const LinearSystem& pieces,
                                std::span<const double> done) {
  if (!pieces.keeps_best || !system.kept.takes(square_before, system.state)) return;
  const auto local = vectors_.updates();
  local->copy(pieces.x, pieces.kept_x);
  if (!done.empty()) local->add_scaled(-system.state.alpha, done, pieces.kept_x);
}

std::span<const CgVariantRow> cg_variant_table() {
  static const std::array table{classic_variant(), chronopoulos_gear_variant(), pipelined_variant()};
  return table;
}

const CgVariantRow* find_cg_variant(std::string_view name) { return row_named(cg_variant_table(), name); }

}  // namespace cg2d
