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

// Rows, each defined in its own file.
CgVariantRow classic_variant();
CgVariantRow chronopoulos_gear_variant();
CgVariantRow pipelined_variant();

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

std::span<const CgVariantRow> cg_variant_table() {
  static const std::array table{classic_variant(), chronopoulos_gear_variant(), pipelined_variant()};
  return table;
}

const CgVariantRow* find_cg_variant(std::string_view name) { return row_named(cg_variant_table(), name); }

}  // namespace cg2d
