// Kernel "sell-rows": SELL-8-256 over whole rows, with vector loads where the columns of eight rows follow each other.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv_sell_rows.cpp"
#include <hwy/foreach_target.h>

#include "kernels/row_sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace sell_rows {

struct Form {
  template <int Registers>
  static HWY_INLINE void multiply(const RowChunk& chunk, const RowSellCursor& at, const ChunkRows& /*rows*/,
                                  int64_t first_lane, const RowSellOperands& operands, ChunkSums& sums) {
    const RowSellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    auto sum0 = hn::Zero(d);
    [[maybe_unused]] auto sum1 = hn::Zero(d);
    [[maybe_unused]] auto sum2 = hn::Zero(d);
    [[maybe_unused]] auto sum3 = hn::Zero(d);
    for_each_step(chunk, at, operands.p, [&](const double* values, auto elements) HWY_ATTR {
      const auto add = [&](int64_t lane, VectorOf<RowSellLanes>& sum)
                           HWY_ATTR { sum = hn::MulAdd(hn::LoadU(d, values + lane), elements(lane), sum); };
      add(first_lane, sum0);
      if constexpr (Registers > 1) add(first_lane + n, sum1);
      if constexpr (Registers > 2) {
        add(first_lane + 2 * n, sum2);
        add(first_lane + 3 * n, sum3);
      }
    });
    double* const stored = sums.high + first_lane;
    hn::StoreU(sum0, d, stored);
    if constexpr (Registers > 1) hn::StoreU(sum1, d, stored + n);
    if constexpr (Registers > 2) {
      hn::StoreU(sum2, d, stored + 2 * n);
      hn::StoreU(sum3, d, stored + 3 * n);
    }
  }

  static HWY_INLINE void store(const ChunkRows& rows, const ChunkSums& sums,
                               const RowSellOperands& operands) {
    store_rows(rows, sums.high, operands.q);
  }
};

RowSellLoop loop_for(InstructionSet set) { return row_sell_loop_of<Form>(set); }

}  // namespace sell_rows
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>

#include "kernels/exact_sums.hpp"
#include "kernels/format_kernel.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {
namespace {
namespace row_sell {

constexpr auto lanes = static_cast<size_t>(row_sell_lanes);
using LaneColumns = std::array<int32_t, lanes>;

enum class StepKind { consecutive, near, far };

/// The rows of one chunk, longest first; all have entries, or none has.
struct ChunkRows {
  std::span<const uint16_t> rows;  // rows of the window
  std::array<int64_t, lanes> first_entry{};
  std::array<int64_t, lanes> length{};

  int64_t step_count() const { return length[0]; }
  bool is_consecutive() const {
    return rows.size() == lanes && std::adjacent_find(rows.begin(), rows.end(), [](auto row, auto next) {
                                     return next != row + 1;
                                   }) == rows.end();
  }
};

/// Makes the part of some consecutive rows: counts its steps first, then fills the arrays.
class PartMaker {
 public:
  PartMaker(const CsrBlock& block, const RowRange& rows) : block_(block) {
    part_.first_row = rows.begin;
    part_.row_count = rows.end - rows.begin;
    part_.column_count = block.column_count;
    ordered_.resize(static_cast<size_t>(row_sell_window_rows));
  }

  RowSellPart make() {
    for_each_window([this](const ChunkRows& chunk, RowSellPlace& place) { count(chunk, place); });
    const auto& end = part_.windows.back();
    part_.values = PageBuffer<double>(static_cast<size_t>(end.step) * lanes);
    part_.bases = PageBuffer<int32_t>(static_cast<size_t>(end.base));
    part_.near_columns = PageBuffer<uint16_t>(static_cast<size_t>(end.near_step) * lanes);
    part_.far_columns = PageBuffer<int32_t>(static_cast<size_t>(end.far_step + row_sell_far_ahead) * lanes);
    part_.chunks = PageBuffer<RowChunk>(static_cast<size_t>(end.chunk));
    part_.rows = PageBuffer<uint16_t>(static_cast<size_t>(end.listed_chunk) * lanes);
    for_each_window([this](const ChunkRows& chunk, RowSellPlace& place) { fill(chunk, place); });
    return std::move(part_);
  }

 private:
  int64_t length_of(int64_t row) const {
    const auto r = static_cast<size_t>(row);
    return block_.row_starts[r + 1] - block_.row_starts[r];
  }

  /// Calls visit(ChunkRows, place) for all chunks, and notes where each window begins.
  template <typename Visit>
  void for_each_window(const Visit& visit) {
    RowSellPlace place;
    part_.windows.clear();
    for (int64_t first = 0; first < part_.row_count; first += row_sell_window_rows) {
      part_.windows.push_back(place);
      visit_window(part_.first_row + first, std::min(row_sell_window_rows, part_.row_count - first), place,
                   visit);
    }
    part_.windows.push_back(place);
  }

  template <typename Visit>
  void visit_window(int64_t window_row, int64_t row_count, RowSellPlace& place, const Visit& visit) {
    const auto rows = std::span(ordered_).first(static_cast<size_t>(row_count));
    std::iota(rows.begin(), rows.end(), uint16_t{0});
    const auto length = [&](uint16_t row) { return length_of(window_row + row); };
    std::ranges::stable_sort(rows, std::ranges::greater(), length);
    const auto first_empty = std::ranges::find_if(rows, [&](auto row) { return length(row) == 0; });
    const auto filled = static_cast<size_t>(first_empty - rows.begin());
    for (size_t first = 0; first < rows.size();) {
      // Rows without entries have chunks of their own, so that no element of p enters their sums.
      const auto end = std::min(first + lanes, first < filled ? filled : rows.size());
      ChunkRows chunk{.rows = rows.subspan(first, end - first)};
      for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
        const auto row = window_row + chunk.rows[lane];
        chunk.first_entry[lane] = block_.row_starts[static_cast<size_t>(row)];
        chunk.length[lane] = length_of(row);
      }
      visit(chunk, place);
      first = end;
    }
  }

  /// Columns of a step; a lane without an entry has its row's last column, one without a row that of lane 0.
  LaneColumns columns_of(const ChunkRows& chunk, int64_t step) const {
    LaneColumns columns{};
    for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
      const auto entry = chunk.first_entry[lane] + std::min(step, chunk.length[lane] - 1);
      columns[lane] = block_.columns[static_cast<size_t>(entry)];
    }
    std::fill(columns.begin() + static_cast<ptrdiff_t>(chunk.rows.size()), columns.end(), columns[0]);
    return columns;
  }

  static StepKind kind_of(const LaneColumns& columns) {
    bool is_consecutive = true;
    for (size_t lane = 1; lane < lanes; ++lane)
      is_consecutive = is_consecutive && columns[lane] == columns[0] + static_cast<int32_t>(lane);
    if (is_consecutive) return StepKind::consecutive;
    const auto [least, greatest] = std::ranges::minmax(columns);
    return greatest - least <= std::numeric_limits<uint16_t>::max() ? StepKind::near : StepKind::far;
  }

  void count(const ChunkRows& chunk, RowSellPlace& place) const {
    for (int64_t step = 0; step < chunk.step_count(); ++step) {
      const auto kind = kind_of(columns_of(chunk, step));
      place.base += kind == StepKind::far ? 0 : 1;
      place.near_step += kind == StepKind::near ? 1 : 0;
      place.far_step += kind == StepKind::far ? 1 : 0;
    }
    place.step += chunk.step_count();
    place.listed_chunk += chunk.is_consecutive() ? 0 : 1;
    ++place.chunk;
  }

  void fill(const ChunkRows& chunk, RowSellPlace& place) {
    RowChunk head{.consecutive_steps = 0,
                  .near_steps = 0,
                  .far_steps = 0,
                  .first_row = chunk.rows[0],
                  .listed_row_count = 0};
    for (const auto kind : {StepKind::consecutive, StepKind::near, StepKind::far}) {
      const auto step_before = place.step;
      for (int64_t step = 0; step < chunk.step_count(); ++step) {
        const auto columns = columns_of(chunk, step);
        if (kind_of(columns) != kind) continue;
        fill_values(chunk, step, place.step++);
        fill_columns(columns, kind, place);
      }
      const auto count = static_cast<uint32_t>(place.step - step_before);
      (kind == StepKind::consecutive ? head.consecutive_steps
       : kind == StepKind::near      ? head.near_steps
                                     : head.far_steps) = count;
    }
    if (!chunk.is_consecutive()) {
      head.listed_row_count = static_cast<uint16_t>(chunk.rows.size());
      std::ranges::copy(chunk.rows, part_.rows.data() + static_cast<size_t>(place.listed_chunk++) * lanes);
    }
    part_.chunks[static_cast<size_t>(place.chunk++)] = head;
  }

  void fill_values(const ChunkRows& chunk, int64_t step, int64_t target) {
    for (size_t lane = 0; lane < chunk.rows.size(); ++lane) {
      if (step >= chunk.length[lane]) continue;
      part_.values[static_cast<size_t>(target) * lanes + lane] =
          block_.values[static_cast<size_t>(chunk.first_entry[lane] + step)];
    }
  }

  void fill_columns(const LaneColumns& columns, StepKind kind, RowSellPlace& place) {
    if (kind == StepKind::far) {
      std::ranges::copy(columns, part_.far_columns.data() + static_cast<size_t>(place.far_step++) * lanes);
      return;
    }
    const auto base = std::ranges::min(columns);
    part_.bases[static_cast<size_t>(place.base++)] = base;
    if (kind == StepKind::consecutive) return;
    auto* const near_columns = part_.near_columns.data() + static_cast<size_t>(place.near_step++) * lanes;
    std::ranges::transform(columns, near_columns,
                           [&](int32_t column) { return static_cast<uint16_t>(column - base); });
  }

  const CsrBlock& block_;
  RowSellPart part_;
  std::vector<uint16_t> ordered_;
};

}  // namespace row_sell
}  // namespace

std::vector<StoredArray> RowSellPart::stored_arrays() {
  return {stored_array(ArrayKind::values, values),        stored_array(ArrayKind::columns, bases),
          stored_array(ArrayKind::columns, near_columns), stored_array(ArrayKind::columns, far_columns),
          stored_array(ArrayKind::structure, chunks),     stored_array(ArrayKind::structure, rows)};
}

bool RowSellPart::has_columns_in_range() const {
  const auto is_inside = [this](int64_t base, int64_t first, int64_t last) {
    return base >= 0 && base + first >= 0 && base + last < column_count;
  };
  size_t base = 0;
  const auto* near_lanes = near_columns.data();
  for (const auto& chunk : chunks.span()) {
    for (uint32_t step = 0; step < chunk.consecutive_steps; ++step) {
      if (!is_inside(bases[base++], 0, row_sell_lanes - 1)) return false;
    }
    for (uint32_t step = 0; step < chunk.near_steps; ++step, near_lanes += row_sell_lanes) {
      if (!is_inside(bases[base++], 0, *std::max_element(near_lanes, near_lanes + row_sell_lanes)))
        return false;
    }
  }
  return std::ranges::all_of(far_columns.span(),
                             [&](int32_t column) { return column == 0 || is_inside(column, 0, 0); });
}

std::vector<RowSellPart> row_sell_parts(const CsrBlock& block, int thread_count) {
  return make_parts<RowSellPart>(
      block, thread_count, [&](const RowRange& rows) { return row_sell::PartMaker(block, rows).make(); });
}

namespace {
namespace sell_rows {

constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::avx512,
                          InstructionSet::sve};

/// Sums as usual, or reproducible where the options have most_terms.
class Kernel final : public FormatKernel<Parts<RowSellPart>> {
 public:
  Kernel(const CsrBlock& block, const KernelOptions& options)
      : FormatKernel("sell-rows", options, {row_sell_parts(block, options.thread_count)}),
        loop_(options.most_terms > 0.0 ? exact_row_sell_loop(*options.instruction_set)
                                       : CG2D_OF_SET(*options.instruction_set, sell_rows::loop_for)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_sell_prefetch_distance)),
        low_factor_(SplitConstants::low_factor(options.most_terms)) {}

  /// A share is a share of the windows.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    on_each_thread([&](int thread) {
      const auto& part = format()[thread];
      const ShareRange windows(part.window_count(), mode);
      loop_({.part = part,
             .first_window = windows.begin,
             .last_window = windows.end,
             .prefetch_distance = prefetch_distance_,
             .are_added = mode.is_added,
             .p = operands.p_columns.data(),
             .q = operands.q_rows.data(),
             .q_low = operands.q_rows_low.data(),
             .row_bounds = row_bounds().data(),
             .p_bound = operands.p_bound,
             .low_factor = low_factor_});
    });
  }

 private:
  RowSellLoop loop_;
  int64_t prefetch_distance_;
  double low_factor_;  // of reproducible sums
};

}  // namespace sell_rows
}  // namespace

KernelRow sell_rows_kernel() {
  return {
      .name = "sell-rows",
      .description =
          "SELL-8-256 over whole rows: vector loads where the columns of 8 rows follow each other, else "
          "columns of "
          "16 or 32 bits",
      .is_tried = true,
      .suits_any_pattern = true,
      .bytes_per_nonzero = 10.5,
      .converts = true,
      .defaults = {.prefetch_distance = default_sell_prefetch_distance},
      .instruction_sets = of_this_processor(sell_rows::sets),
      .maker = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<SpmvKernel> {
        return std::make_unique<sell_rows::Kernel>(block, options);
      },
      .makes_reproducible = true,
  };
}

}  // namespace cg2d::kernels
#endif
