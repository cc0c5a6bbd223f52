#include "kernels/symmetric_sell.hpp"

#include <utility>

#include "kernels/parallel_parts.hpp"

namespace cg2d::kernels::symmetric_sell {

namespace {

std::vector<SellPart> one_part_elsewhere(const ArraysElsewhere& block, const SellShape& shape) {
  std::vector<SellPart> parts;
  parts.push_back(sell_part_elsewhere(block, shape));
  return parts;
}

}  // namespace

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop, std::vector<SellPart> parts,
               std::int64_t column_count, const KernelOptions& options)
    : name_(name),
      set_(set),
      loop_(loop),
      prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
      column_count_(column_count),
      parts_(std::move(parts)),
      column_sums_(column_count, static_cast<int>(parts_.size())) {
  for (std::size_t thread = 0; thread < parts_.size(); ++thread) {
    pairs_.emplace_back(static_cast<std::size_t>(loop.shape.spare_column(lanes)));
    row_sums_.emplace_back(static_cast<std::size_t>(loop.shape.spare_position()) + 1);
  }
}

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop, const CsrBlock& block,
               const KernelOptions& options)
    : Kernel(name, set, loop, sell_parts(block, options.thread_count, loop.shape), block.column_count,
             options) {}

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop, const ArraysElsewhere& block,
               const KernelOptions& options)
    : Kernel(name, set, loop, one_part_elsewhere(block, loop.shape), block.column_count, options) {}

std::int64_t Kernel::matrix_byte_count() const {
  std::int64_t bytes = 0;
  for (const auto& part : parts_) bytes += part.byte_count();
  return bytes;
}

std::vector<StoredArray> Kernel::stored_arrays() { return arrays_of_parts(parts_); }

bool Kernel::has_columns_in_range() const {
  return all_parts_hold(static_cast<int>(parts_.size()),
                        [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
}

/// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
/// the share are added up before it ends.
void Kernel::multiply(const Operands& operands, const ProductMode& mode) {
  const int part_count = static_cast<int>(parts_.size());
  const ShareRange blocks(parts_.front().block_count, mode);
  const std::int64_t first_column = blocks.begin * loop_.shape.block_width;
  const std::int64_t columns =
      std::min(blocks.end * loop_.shape.block_width, column_count_) - std::min(first_column, column_count_);
#pragma omp parallel num_threads(part_count) if (part_count > 1)
  {
#pragma omp for schedule(static, 1)
    for (int part = 0; part < part_count; ++part) multiply_part(part, operands, mode);
#pragma omp for schedule(static, 1)
    for (int part = 0; part < part_count; ++part) {
      column_sums_.add_to(operands.q_columns, first_column + columns * part / part_count,
                          first_column + columns * (part + 1) / part_count);
    }
  }
}

void Kernel::multiply_part(int index, const Operands& operands, const ProductMode& mode) {
  const auto& part = parts_[static_cast<std::size_t>(index)];
  if (!mode.is_added && mode.share == 0)
    std::fill_n(operands.q_rows.data() + part.first_row, part.row_count, 0.0);
  const ShareRange blocks(part.block_count, mode);
  loop_.multiply({.part = part,
                  .first_block = blocks.begin,
                  .last_block = blocks.end,
                  .prefetch_distance = prefetch_distance_},
                 {.p_columns = operands.p_columns.data(),
                  .p_rows = operands.p_rows.data(),
                  .q_rows = operands.q_rows.data(),
                  .q_columns = column_sums_.of_thread(index, operands.q_columns).data(),
                  .pairs = pairs_[static_cast<std::size_t>(index)].data(),
                  .row_sums = row_sums_[static_cast<std::size_t>(index)].data(),
                  .column_count = column_count_,
                  .is_continued = mode.is_continued && index == 0});
}

}  // namespace cg2d::kernels::symmetric_sell
