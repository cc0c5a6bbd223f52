#include "cg/solver/cg_variant.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

// Rows, each defined in its own file.
CgVariantRow classic_variant();
CgVariantRow chronopoulos_gear_variant();
CgVariantRow pipelined_variant();

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
