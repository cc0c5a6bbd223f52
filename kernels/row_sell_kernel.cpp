#include "kernels/row_sell_kernel.hpp"

#include <stdexcept>

#include "kernels/exact_sums.hpp"
#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {

RowSellKernel::RowSellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options)
    : form_(form),
      parts_(row_sell_parts(block, options.thread_count)),
      row_bounds_(options.row_bounds.begin(), options.row_bounds.end()),
      low_factor_(options.most_terms > 0.0 ? SplitConstants::low_factor(options.most_terms) : 0.0) {
  if (low_factor_ > 0.0 && std::ssize(row_bounds_) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
}

std::int64_t RowSellKernel::matrix_byte_count() const {
  auto bytes = static_cast<std::int64_t>(row_bounds_.size() * sizeof(double));
  for (const auto& part : parts_) bytes += part.byte_count();
  return bytes;
}

std::vector<StoredArray> RowSellKernel::stored_arrays() {
  auto arrays = arrays_of_parts(parts_);
  if (!row_bounds_.empty()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
  return arrays;
}

bool RowSellKernel::has_columns_in_range() const {
  return all_parts_hold(static_cast<int>(parts_.size()),
                        [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
}

void RowSellKernel::multiply(const Operands& operands, const ProductMode& mode) {
  const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
  for (int index = 0; index < part_count; ++index) {
    const auto& part = parts_[static_cast<std::size_t>(index)];
    const ShareRange windows(part.window_count(), mode);
    form_.loop({.part = part,
                .first_window = windows.begin,
                .last_window = windows.end,
                .prefetch_distance = form_.prefetch_distance,
                .are_added = mode.is_added},
               {.p = operands.p_columns.data(),
                .q = operands.q_rows.data(),
                .q_low = operands.q_rows_low.data(),
                .row_bounds = row_bounds_.data(),
                .p_bound = operands.p_bound,
                .low_factor = low_factor_});
  }
}

}  // namespace cg2d::kernels
