#pragma once

// The part that the usual and the reproducible form of the kernel "sell-rows" have in common: the format, its split over threads,
// and the loops. The forms differ in what they do with a product and with the sums of a chunk.

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/row_sell.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// Some windows of a part, to be multiplied.
struct RowSellWindows {
  const RowSellPart& part;
  std::int64_t first_window;
  std::int64_t last_window;
  std::int64_t prefetch_distance;
  bool are_added;
};

/// The vectors of a loop, which are those of the whole block.
struct RowSellVectors {
  const double* p;
  double* q;  // the part's rows are set, or added to
  // Operands of reproducible sums only: see Operands and KernelOptions.
  double* q_low;
  const double* row_bounds;
  double p_bound;
  double low_factor;  // SplitConstants::low_factor()
};

using RowSellLoop = void (*)(const RowSellWindows& range, const RowSellVectors& vectors);

/// A loop with its format.
class RowSellKernel final : public SpmvKernel {
 public:
  struct Form {
    InstructionSet set = InstructionSet::portable;
    RowSellLoop loop = nullptr;
    std::int64_t prefetch_distance = 0;
  };

  /// Reproducible where the options have most_terms. Throws std::bad_alloc, std::invalid_argument without a bound for each row then.
  RowSellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options);

  [[nodiscard]] std::string_view name() const override { return "sell-rows"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(form_.set); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override;
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override;
  [[nodiscard]] bool has_columns_in_range() const override;
  /// A share is a share of the windows.
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  Form form_;
  std::vector<RowSellPart> parts_;  // one per thread
  std::vector<double> row_bounds_;
  double low_factor_;  // 0: sums as usual
};

namespace row_sell_loops {

// The loops are the same for all instruction sets: these functions are inlined into ones with the set's attribute. A form is a class
// with two functions, inlined likewise: add(values, operands) for each step, and store(...) for the rows of a chunk.

/// One element of each lane: the compiler cuts it into registers of the loop's instruction set.
using Lanes = double __attribute__((vector_size(row_sell_lanes * sizeof(double))));

/// The place in a part's arrays, behind that of the last step.
struct Cursor {
  const double* values;
  const std::int32_t* bases;
  const std::uint16_t* near_columns;
  const std::int32_t* far_columns;
  const std::uint16_t* rows;
  std::int64_t prefetch_distance;
};

/// The rows of a chunk: `first`, first + 1, ..., or those that are listed, counted from `first`.
struct ChunkRows {
  std::int64_t first;
  int listed_count;
  const std::uint16_t* listed;
  bool are_added;
};

CG2D_INLINE void load(Lanes& target, const double* source) { std::memcpy(&target, source, sizeof(target)); }
CG2D_INLINE void store(const Lanes& lanes, double* target) { std::memcpy(target, &lanes, sizeof(lanes)); }

template <typename Column>
CG2D_INLINE void load_each(Lanes& target, const double* p, const Column* columns) {
  target = Lanes{p[columns[0]], p[columns[1]], p[columns[2]], p[columns[3]],
                 p[columns[4]], p[columns[5]], p[columns[6]], p[columns[7]]};
}

CG2D_INLINE void fetch_each(const double* p, const std::int32_t* columns) {
  for (std::int64_t lane = 0; lane < row_sell_lanes; ++lane) __builtin_prefetch(p + columns[lane]);
}

/// Sets the rows of q to the sums, or adds them.
CG2D_INLINE void store_rows(const ChunkRows& rows, const Lanes& sums, double* q) {
  double* const first = q + rows.first;
  if (rows.listed_count == 0) {
    Lanes result = sums;
    if (rows.are_added) {
      load(result, first);
      result += sums;
    }
    store(result, first);
    return;
  }
  for (int lane = 0; lane < rows.listed_count; ++lane) {
    double& row = first[rows.listed[lane]];
    row = rows.are_added ? row + sums[lane] : sums[lane];
  }
}

template <typename Sums>
CG2D_INLINE void add_products(Cursor& at, const Lanes& operands, Sums& sums) {
  Lanes values{};
  load(values, at.values);
  prefetch_entries(at.values, at.values, at.prefetch_distance);
  sums.add(values, operands);
  at.values += row_sell_lanes;
}

template <typename Sums>
CG2D_INLINE void multiply_chunk(const RowChunk& chunk, const double* p, Cursor& at, Sums& sums) {
  Lanes operands{};
  for (std::uint32_t step = 0; step < chunk.consecutive_steps; ++step) {
    load(operands, p + *at.bases++);
    add_products(at, operands, sums);
  }
  for (std::uint32_t step = 0; step < chunk.near_steps; ++step) {
    load_each(operands, p + *at.bases++, at.near_columns);
    at.near_columns += row_sell_lanes;
    add_products(at, operands, sums);
  }
  for (std::uint32_t step = 0; step < chunk.far_steps; ++step) {
    fetch_each(p, at.far_columns + row_sell_far_ahead * row_sell_lanes);
    load_each(operands, p, at.far_columns);
    at.far_columns += row_sell_lanes;
    add_products(at, operands, sums);
  }
}

template <typename Sums>
CG2D_INLINE void multiply_windows(const RowSellWindows& range, const RowSellVectors& vectors) {
  constexpr auto lanes = row_sell_lanes;
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
    const auto window_row = part.first_row + window * row_sell_window_rows;
    for (auto chunk = part.windows[index].chunk; chunk < part.windows[index + 1].chunk; ++chunk) {
      const RowChunk head = part.chunks[static_cast<std::size_t>(chunk)];
      const bool are_listed = head.listed_row_count != 0;
      const ChunkRows rows{.first = are_listed ? window_row : window_row + head.first_row,
                           .listed_count = head.listed_row_count,
                           .listed = at.rows,
                           .are_added = range.are_added};
      Sums sums(rows, vectors);
      multiply_chunk(head, vectors.p, at, sums);
      sums.store(rows, vectors);
      if (are_listed) at.rows += lanes;
    }
  }
}

}  // namespace row_sell_loops
}  // namespace cg2d::kernels
