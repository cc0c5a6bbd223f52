#include "cg/solver/cg_recurrence.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

// Rows, each defined in its own file.
CgVariantRow classic_variant();
CgVariantRow chronopoulos_gear_variant();
CgVariantRow pipelined_variant();

void CgRecurrence::recompute_residual(std::span<const double> b, std::span<const double> x) {
  const auto operand = matrix_.operand();
  vectors_.update([&](VectorOps& local) { local.copy(x, operand); });
  matrix_.apply();
  vectors_.update([&](VectorOps& local) {
    local.copy(b, r_);
    local.add_scaled(-1.0, matrix_.result(), r_);
  });
}

std::span<const CgVariantRow> cg_variant_table() {
  static const std::array table{classic_variant(), chronopoulos_gear_variant(), pipelined_variant()};
  return table;
}

const CgVariantRow* find_cg_variant(std::string_view name) {
  const auto table = cg_variant_table();
  const auto found = std::ranges::find(table, name, &CgVariantRow::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace cg2d
