#include "cg/stencil/stencil_method.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

std::span<const StencilMethodRow> stencil_method_table() {
  static constexpr std::array rows{
      StencilMethodRow{
          .name = "heat", .description = "explicit steps of the heat equation", .make = make_heat_method},
      StencilMethodRow{.name = "s-step-cg",
                       .description = "conjugate gradients for the 7-point Laplacian, in s-step form",
                       .make = make_s_step_cg_method}};
  return rows;
}

std::vector<std::string> stencil_method_names() {
  std::vector<std::string> names;
  for (const auto& row : stencil_method_table()) names.emplace_back(row.name);
  return names;
}

const StencilMethodRow& stencil_method(std::string_view name) {
  return *std::ranges::find(stencil_method_table(), name, &StencilMethodRow::name);
}

}  // namespace cg2d
