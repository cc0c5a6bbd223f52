// Kernel "sell-rows": SELL-8-256 over whole rows, with vector loads where the columns of eight rows follow each other.

#include <algorithm>
#include <cstring>

#include "kernels/cpu_features.hpp"
#include "kernels/loop_choice.hpp"
#include "kernels/parallel_parts.hpp"
#include "kernels/row_sell.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace {
namespace sell_rows {

constexpr std::int64_t lanes = row_sell_lanes;
// In entries: fetches 8 kB of values before their use.
constexpr int default_prefetch_distance = 1024;

/// One element of each lane: the compiler cuts it into registers of the loop's instruction set.
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

/// Some windows of a part, to be multiplied.
struct PartWindows {
  const RowSellPart& part;
  std::int64_t first_window;
  std::int64_t last_window;
  std::int64_t prefetch_distance;
  bool are_added;
};

/// Sets the part's rows of q, or adds to them; p and q are those of the whole block.
using PartLoop = void (*)(const PartWindows& range, const double* p, double* q);

/// The place in a part's arrays, behind that of the last step.
struct Cursor {
  const double* values;
  const std::int32_t* bases;
  const std::uint16_t* near_columns;
  const std::int32_t* far_columns;
  const std::uint16_t* rows;
  std::int64_t prefetch_distance;
};

// The loops are the same for all instruction sets: these functions are inlined into ones with the set's attribute.
#define CG2D_INLINE inline __attribute__((always_inline))

CG2D_INLINE void load(Lanes& target, const double* source) { std::memcpy(&target, source, sizeof(target)); }

template <typename Column>
CG2D_INLINE void load_each(Lanes& target, const double* p, const Column* columns) {
  target = Lanes{p[columns[0]], p[columns[1]], p[columns[2]], p[columns[3]],
                 p[columns[4]], p[columns[5]], p[columns[6]], p[columns[7]]};
}

CG2D_INLINE void fetch_each(const double* p, const std::int32_t* columns) {
  for (std::int64_t lane = 0; lane < lanes; ++lane) __builtin_prefetch(p + columns[lane]);
}

CG2D_INLINE void add_products(Cursor& at, const Lanes& operands, Lanes& sums) {
  Lanes values{};
  load(values, at.values);
  prefetch_entries(at.values, at.values, at.prefetch_distance);
  sums += values * operands;
  at.values += lanes;
}

CG2D_INLINE void multiply_chunk(const RowChunk& chunk, const double* p, Cursor& at, Lanes& sums) {
  Lanes operands{};
  for (std::uint32_t step = 0; step < chunk.consecutive_steps; ++step) {
    load(operands, p + *at.bases++);
    add_products(at, operands, sums);
  }
  for (std::uint32_t step = 0; step < chunk.near_steps; ++step) {
    load_each(operands, p + *at.bases++, at.near_columns);
    at.near_columns += lanes;
    add_products(at, operands, sums);
  }
  for (std::uint32_t step = 0; step < chunk.far_steps; ++step) {
    fetch_each(p, at.far_columns + row_sell_far_ahead * lanes);
    load_each(operands, p, at.far_columns);
    at.far_columns += lanes;
    add_products(at, operands, sums);
  }
}

/// q: of the window's first row.
CG2D_INLINE void store_rows(const RowChunk& chunk, const Lanes& sums, bool are_added, Cursor& at, double* q) {
  if (chunk.listed_row_count == 0) {
    double* const rows = q + chunk.first_row;
    Lanes result = sums;
    if (are_added) {
      load(result, rows);
      result += sums;
    }
    std::memcpy(rows, &result, sizeof(result));
    return;
  }
  for (int lane = 0; lane < chunk.listed_row_count; ++lane) {
    double& row = q[at.rows[lane]];
    row = are_added ? row + sums[lane] : sums[lane];
  }
  at.rows += lanes;
}

CG2D_INLINE void multiply_windows(const PartWindows& range, const double* p, double* q) {
  const auto& part = range.part;
  const auto& begin = part.windows[static_cast<std::size_t>(range.first_window)];
  Cursor at{.values = part.values.data() + begin.step * lanes,
            .bases = part.bases.data() + begin.base,
            .near_columns = part.near_columns.data() + begin.near_step * lanes,
            .far_columns = part.far_columns.data() + begin.far_step * lanes,
            .rows = part.rows.data() + begin.listed_chunk * lanes,
            .prefetch_distance = range.prefetch_distance};
  for (auto window = range.first_window; window < range.last_window; ++window) {
    const auto index = static_cast<std::size_t>(window);
    double* const window_rows = q + part.first_row + window * row_sell_window_rows;
    for (auto chunk = part.windows[index].chunk; chunk < part.windows[index + 1].chunk; ++chunk) {
      const RowChunk head = part.chunks[static_cast<std::size_t>(chunk)];
      Lanes sums{};
      multiply_chunk(head, p, at, sums);
      store_rows(head, sums, range.are_added, at, window_rows);
    }
  }
}

void multiply_portable(const PartWindows& range, const double* p, double* q) {
  multiply_windows(range, p, q);
}
#if defined(__x86_64__)
CG2D_FMA void multiply_fma(const PartWindows& range, const double* p, double* q) {
  multiply_windows(range, p, q);
}
CG2D_AVX512 void multiply_avx512(const PartWindows& range, const double* p, double* q) {
  multiply_windows(range, p, q);
}
#endif

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::avx512};
  return of_this_processor(sets);
}

PartLoop loop_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &multiply_avx512;
    case InstructionSet::fma:
      return &multiply_fma;
#endif
    default:
      return &multiply_portable;
  }
}

InstructionSet preferred_instruction_set() { return instruction_sets().back(); }

class SellRowsKernel final : public SpmvKernel {
 public:
  SellRowsKernel(const CsrBlock& block, const KernelOptions& options)
      : set_(choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set)),
        loop_(loop_for(set_)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        parts_(row_sell_parts(block, options.thread_count)) {}

  [[nodiscard]] std::string_view name() const override { return "sell-rows"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override { return arrays_of_parts(parts_); }
  [[nodiscard]] bool has_columns_in_range() const override {
    return all_parts_hold(static_cast<int>(parts_.size()),
                          [this](std::size_t part) { return parts_[part].has_columns_in_range(); });
  }

  /// A share is a share of the windows.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
    for (int index = 0; index < part_count; ++index) {
      const auto& part = parts_[static_cast<std::size_t>(index)];
      const ShareRange windows(part.window_count(), mode);
      loop_({.part = part,
             .first_window = windows.begin,
             .last_window = windows.end,
             .prefetch_distance = prefetch_distance_,
             .are_added = mode.is_added},
            operands.p_columns.data(), operands.q_rows.data());
    }
  }

 private:
  InstructionSet set_;
  PartLoop loop_;
  std::int64_t prefetch_distance_;
  std::vector<RowSellPart> parts_;  // one per thread
};

std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  return std::make_unique<SellRowsKernel>(block, options);
}

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
      .defaults = {.prefetch_distance = sell_rows::default_prefetch_distance},
      .instruction_sets = sell_rows::instruction_sets(),
      .preferred_instruction_set = sell_rows::preferred_instruction_set,
      .make = sell_rows::make,
  };
}

}  // namespace cg2d::kernels
