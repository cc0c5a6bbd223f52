#include "kernels/sell_kernel.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "kernels/exact_sums.hpp"
#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels {
namespace {
namespace sell_kernel {

/// Adds the constants with which running sums begin, or takes them away: exactly. sign: 1 or -1.
void add_high_constants(double sign, std::span<const double> bounds, double p_bound, double* q) {
  for (const double bound : bounds) *q++ += sign * (SplitConstants::high_factor * (bound * p_bound));
}

}  // namespace sell_kernel
}  // namespace

SellKernel::SellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options)
    : form_(form),
      parts_(sell_parts(block, options.thread_count, form.shape)),
      row_bounds_(options.row_bounds.begin(), options.row_bounds.end()),
      low_factor_(options.most_terms > 0.0 ? SplitConstants::low_factor(options.most_terms) : 0.0) {
  if (is_exact() && std::ssize(row_bounds_) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
}

SellKernel::SellKernel(const Form& form, const ExternalArrays& block) : form_(form), low_factor_(0.0) {
  parts_.push_back(external_sell_part(block, form.shape));
}

std::int64_t SellKernel::matrix_byte_count() const {
  auto bytes = static_cast<std::int64_t>(row_bounds_.size() * sizeof(double));
  for (const auto& part : parts_) bytes += part.byte_count();
  return bytes;
}

std::vector<StoredArray> SellKernel::stored_arrays() {
  auto arrays = arrays_of_parts(parts_);
  if (is_exact()) arrays.push_back(stored_array(ArrayKind::structure, std::span(row_bounds_)));
  return arrays;
}

bool SellKernel::has_columns_in_range() const {
  return all_parts_hold(static_cast<int>(parts_.size()),
                        [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
}

void SellKernel::multiply(const Operands& operands, const ProductMode& mode) {
  const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
  for (int index = 0; index < part_count; ++index) {
    const auto& part = parts_[static_cast<std::size_t>(index)];
    double* const q = operands.q_rows.data() + part.first_row;
    const auto bounds = is_exact() ? std::span(row_bounds_)
                                         .subspan(static_cast<std::size_t>(part.first_row),
                                                  static_cast<std::size_t>(part.row_count))
                                   : std::span<const double>();
    if (mode.share == 0) {
      if (!mode.is_added) std::fill_n(q, part.row_count, 0.0);
      if (!mode.is_added && is_exact())
        std::fill_n(operands.q_rows_low.data() + part.first_row, part.row_count, 0.0);
      sell_kernel::add_high_constants(1.0, bounds, operands.p_bound, q);
    }
    const ShareRange blocks(part.block_count, mode);
    form_.loop({.part = part,
                .first_block = blocks.begin,
                .last_block = blocks.end,
                .prefetch_distance = form_.prefetch_distance},
               {.p = operands.p_columns.data(),
                .q = operands.q_rows.data(),
                .q_low = operands.q_rows_low.data(),
                .low_share = low_factor_ / SplitConstants::high_binade});
    if (mode.share == mode.share_count - 1)
      sell_kernel::add_high_constants(-1.0, bounds, operands.p_bound, q);
  }
}

}  // namespace cg2d::kernels
