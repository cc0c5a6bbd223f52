#include "kernels/half_spmv.hpp"

#include <algorithm>
#include <array>

#include "kernels/half_spmv_kernels.hpp"

namespace cg2d::kernels {

std::span<const HalfKernelRow> half_kernel_table() {
  static const std::array table{
      half_scalar_kernel(),
      half_sell_kernel(),
  };
  return table;
}

const HalfKernelRow* find_half_kernel(std::string_view name) {
  const auto table = half_kernel_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace cg2d::kernels
