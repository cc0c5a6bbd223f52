#include "kernels/spmv.hpp"

#include <algorithm>
#include <array>

#include "kernels/spmv_kernels.hpp"

namespace cg2d::kernels {

std::span<const KernelRow> kernel_table() {
  static const std::array table{
      scalar_kernel(),
      csr_simd_kernel(),
      csr_short_kernel(),
      sell_kernel(),
  };
  return table;
}

const KernelRow* find_kernel(std::string_view name) {
  const auto table = kernel_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const KernelRow& default_kernel() { return *find_kernel("sell"); }

}  // namespace cg2d::kernels
