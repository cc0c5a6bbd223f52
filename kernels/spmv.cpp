#include "kernels/spmv.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

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

/// The options, with the instruction set of the loop. Those for several vectors gather nothing: wider is never slower.
KernelOptions checked(const KernelRow& row, KernelOptions options) {
  auto& set = options.instruction_set;
  if (options.vector_count == 1) {
    set = choose_instruction_set(set ? *set : row.preferred_instruction_set(), row.instruction_sets);
  } else if (std::ranges::count(vector_counts, options.vector_count) == 0) {
    throw std::invalid_argument("a kernel takes 1, 2, 4, 8 or 16 vectors");
  } else {
    set = choose_instruction_set(set, sets_without_gathers);
  }
  return options;
}

}  // namespace

std::unique_ptr<SpmvKernel> KernelRow::make(CsrBlock block, const KernelOptions& options) const {
  if (options.most_terms > 0.0 && std::ssize(options.row_bounds) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
  return maker(std::move(block), checked(*this, options));
}

std::unique_ptr<SpmvKernel> KernelRow::make_external(const ExternalArrays& block,
                                                     const KernelOptions& options) const {
  return external_maker(block, checked(*this, options));
}

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
  return *first_row([&](const auto& row) { return row.storage == storage; });
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
