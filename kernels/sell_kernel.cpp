#include "kernels/sell_kernel.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "kernels/column_sums.hpp"
#include "kernels/exact_sums.hpp"
#include "kernels/format_kernel.hpp"

namespace cg2d::kernels {
namespace {

/// Adds the constants with which running sums begin, or takes them away: exactly. sign: 1 or -1.
void add_high_constants(double sign, std::span<const double> bounds, double p_bound, double* q) {
  for (const double bound : bounds) *q++ += sign * (SplitConstants::high_factor * (bound * p_bound));
}

class SellKernel final : public FormatKernel<Parts<SellBands>> {
 public:
  SellKernel(const SellForm& form, std::vector<SellBands> bands, const KernelOptions& options)
      : FormatKernel(form.name, options, {std::move(bands)}),
        form_(form),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)),
        vector_count_(options.vector_count),
        low_factor_(SplitConstants::low_factor(options.most_terms)),
        column_sums_(stores_half() ? any_band().column_count * vector_count_ : 0, thread_count()) {
    if (!form.shape.has_positions) return;
    for (int thread = 0; thread < thread_count(); ++thread) {
      pairs_.emplace_back(static_cast<size_t>(form.shape.spare_column(form.shape.lanes)));
      row_sums_.emplace_back(static_cast<size_t>(form.shape.spare_position()) + 1);
    }
  }

  /// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
  /// the share are added up before it ends.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    if (!stores_half()) {
      on_each_thread([&](int thread) { multiply_bands(thread, operands, nullptr, mode); });
      return;
    }
    const ShareRange blocks(any_band().block_count, mode);
    column_sums_.make(
        operands.q_columns, {.begin = elements_before(blocks.begin), .end = elements_before(blocks.end)},
        [&](int thread, std::span<double> sums) { multiply_bands(thread, operands, sums.data(), mode); });
  }

 private:
  bool stores_half() const { return form_.storage == Storage::half; }
  const SellPart& any_band() const { return format()[0].bands.front(); }
  /// Elements of a vector over the columns of the column blocks before this one.
  int64_t elements_before(int64_t column_block) const {
    return vector_count_ * std::min(column_block * form_.shape.block_width, any_band().column_count);
  }

  /// The first band of the first thread goes on with what the caller has, the others with what is there from the band before.
  void multiply_bands(int thread, const Operands& operands, double* q_columns, ProductMode mode) {
    mode.is_continued = mode.is_continued && thread == 0;
    const auto index = static_cast<size_t>(thread);
    for (const auto& band : format()[thread].bands) {
      begin_rows(band, operands, mode);
      const ShareRange blocks(band.block_count, mode);
      form_.loop({.part = band,
                  .first_block = blocks.begin,
                  .last_block = blocks.end,
                  .prefetch_distance = prefetch_distance_,
                  .p_columns = operands.p_columns.data(),
                  .q_rows = operands.q_rows.data(),
                  .q_rows_low = operands.q_rows_low.data(),
                  .low_share = low_factor_ / SplitConstants::high_binade,
                  .p_rows = operands.p_rows.data(),
                  .q_columns = q_columns,
                  .is_continued = mode.is_continued,
                  .pairs = pairs_.empty() ? nullptr : pairs_[index].data(),
                  .row_sums = row_sums_.empty() ? nullptr : row_sums_[index].data()});
      if (mode.is_last_share())
        add_high_constants(-1.0, bounds_of(band), operands.p_bound, operands.q_rows.data() + band.first_row);
      mode.is_continued = true;
    }
  }

  void begin_rows(const SellPart& band, const Operands& operands, const ProductMode& mode) const {
    if (mode.share > 0) return;
    double* const q = operands.q_rows.data() + band.first_row * vector_count_;
    if (!mode.is_added) {
      std::fill_n(q, band.row_count * vector_count_, 0.0);
      if (low_factor_ > 0.0) std::fill_n(operands.q_rows_low.data() + band.first_row, band.row_count, 0.0);
    }
    add_high_constants(1.0, bounds_of(band), operands.p_bound, q);
  }

  /// None where sums are as usual.
  std::span<const double> bounds_of(const SellPart& band) const {
    if (low_factor_ == 0.0) return {};
    return std::span(row_bounds())
        .subspan(static_cast<size_t>(band.first_row), static_cast<size_t>(band.row_count));
  }

  SellForm form_;
  int64_t prefetch_distance_;
  int64_t vector_count_;
  double low_factor_;  // SplitConstants::low_factor(); 0: sums as usual
  ColumnSums column_sums_;
  std::vector<PageBuffer<ColumnPair>> pairs_;  // of each thread
  std::vector<PageBuffer<double>> row_sums_;
};

}  // namespace

std::unique_ptr<SpmvKernel> make_sell_kernel(const SellForm& form, std::vector<SellBands> bands,
                                             const KernelOptions& options) {
  return std::make_unique<SellKernel>(form, std::move(bands), options);
}

}  // namespace cg2d::kernels
