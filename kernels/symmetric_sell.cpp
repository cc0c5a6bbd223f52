#include "kernels/symmetric_sell.hpp"

#include <algorithm>
#include <utility>

namespace cg2d::kernels::symmetric_sell {

namespace {

std::vector<SellBands> one_external_band(const ExternalArrays& block, const SellShape& shape) {
  std::vector<SellBands> bands(1);
  bands.front().bands = external_sell_parts(block, shape);
  return bands;
}

}  // namespace

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop,
               std::vector<SellBands> bands_of_threads, int64_t column_count, const KernelOptions& options)
    : PartsKernel(name, set, std::move(bands_of_threads)),
      loop_(loop),
      prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
      column_count_(column_count),
      column_sums_(column_count, part_count()) {
  for (int thread = 0; thread < part_count(); ++thread) {
    pairs_.emplace_back(static_cast<size_t>(loop.shape.spare_column(lanes)));
    row_sums_.emplace_back(static_cast<size_t>(loop.shape.spare_position()) + 1);
  }
}

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop, const CsrBlock& block,
               const KernelOptions& options)
    : Kernel(name, set, loop, sell_bands(block, options.thread_count, loop.shape, band_sizes),
             block.column_count, options) {}

Kernel::Kernel(std::string_view name, InstructionSet set, const Loop& loop, const ExternalArrays& block,
               const KernelOptions& options)
    : Kernel(name, set, loop, one_external_band(block, loop.shape), block.column_count, options) {}

/// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
/// the share are added up before it ends.
void Kernel::multiply(const Operands& operands, const ProductMode& mode) {
  const int thread_count = part_count();
  const ShareRange blocks(part_at(0).bands.front().block_count, mode);
  const int64_t first_column = blocks.begin * loop_.shape.block_width;
  const int64_t columns =
      std::min(blocks.end * loop_.shape.block_width, column_count_) - std::min(first_column, column_count_);
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
  {
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count; ++thread) multiply_bands(thread, operands, mode);
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count; ++thread) {
      column_sums_.add_to(operands.q_columns, first_column + columns * thread / thread_count,
                          first_column + columns * (thread + 1) / thread_count);
    }
  }
}

/// The first band of the first thread goes on with what the caller has, the others with what is there from the band before.
void Kernel::multiply_bands(int thread, const Operands& operands, const ProductMode& mode) {
  auto band_mode = mode;
  band_mode.is_continued = mode.is_continued && thread == 0;
  for (const auto& band : part_at(thread).bands) {
    multiply_band(thread, band, operands, band_mode);
    band_mode.is_continued = true;
  }
}

void Kernel::multiply_band(int thread, const SellPart& band, const Operands& operands,
                           const ProductMode& mode) {
  if (!mode.is_added && mode.share == 0)
    std::fill_n(operands.q_rows.data() + band.first_row, band.row_count, 0.0);
  const ShareRange blocks(band.block_count, mode);
  loop_.multiply({.part = band,
                  .first_block = blocks.begin,
                  .last_block = blocks.end,
                  .prefetch_distance = prefetch_distance_},
                 {.p_columns = operands.p_columns.data(),
                  .p_rows = operands.p_rows.data(),
                  .q_rows = operands.q_rows.data(),
                  .q_columns = column_sums_.of_thread(thread, operands.q_columns).data(),
                  .pairs = pairs_[static_cast<size_t>(thread)].data(),
                  .row_sums = row_sums_[static_cast<size_t>(thread)].data(),
                  .column_count = column_count_,
                  .is_continued = mode.is_continued});
}

}  // namespace cg2d::kernels::symmetric_sell
