#include "kernels/spmv.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cg2d::kernels {

// Each is defined in its kernel's own file; a new kernel is one more declaration and one more entry below.
KernelRow scalar_kernel();
KernelRow csr_simd_kernel();
KernelRow csr_short_kernel();
KernelRow sell_kernel();
KernelRow sell_rows_kernel();
KernelRow symmetric_scalar_kernel();
KernelRow symmetric_kernel();
KernelRow symmetric_distinct_kernel();
KernelRow blocks_kernel();

namespace {

/// The first row of the table for which is_wanted(row) holds, or nullptr.
template <typename Predicate>
const KernelRow* first_row(const Predicate& is_wanted) {
  const auto table = kernel_table();
  const auto found = std::ranges::find_if(table, is_wanted);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const KernelRow> kernel_table() {
  static const std::array table{
      scalar_kernel(),    csr_simd_kernel(),         csr_short_kernel(),          sell_kernel(),
      sell_rows_kernel(), symmetric_scalar_kernel(), symmetric_distinct_kernel(), symmetric_kernel(),
      blocks_kernel(),
  };
  return table;
}

const KernelRow* find_kernel(std::string_view name) {
  return first_row([&](const auto& row) { return row.name == name; });
}

const KernelRow& kernel_named(std::string_view name) {
  const auto* const row = find_kernel(name);
  if (row == nullptr) throw std::invalid_argument("no kernel is named " + std::string(name));
  return *row;
}

const KernelRow& reference_kernel(Storage storage) {
  return *first_row([&](const auto& row) { return row.is_reference && row.storage == storage; });
}

const KernelRow& default_kernel(Storage storage) {
  return *first_row([&](const auto& row) { return row.is_default && row.storage == storage; });
}

const KernelRow& default_kernel_for_several() {
  return *first_row([](const auto& row) { return row.is_default_for_several; });
}

const KernelRow& default_reproducible_kernel() {
  return *first_row([](const auto& row) { return row.is_default_for_reproducible; });
}

const KernelRow& kernel_for_any_pattern() {
  return *first_row([](const auto& row) { return row.suits_any_pattern; });
}

const KernelRow& critical_length_kernel() {
  return *first_row([](const auto& row) { return row.defaults.critical_vector_length.has_value(); });
}

}  // namespace cg2d::kernels
