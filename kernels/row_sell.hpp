#pragma once

// SELL-C-sigma over whole rows, for matrices whose neighbouring rows have neighbouring columns: meshes, bands, images.
//
//   chunk, in memory:      lane 0   lane 1   ...  lane 7      columns of the step
//     consecutive step       a        b             h           base                     base, base + 1, ... base + 7
//     near step              a        b             h           base, 8 x 16 bits        base + 0 ... 65535
//     far step               a        b             h           8 x 32 bits              any
//
// Eight rows of about the same length lie side by side as in sell_matrix.hpp, one entry of each in a step. There the operand
// is cut into column blocks, and a row is looked at once for each of them; here it is looked at once. That is better where a
// row has few entries for its many columns, as matrices of meshes have: their operand is in the caches anyway. The steps of a
// chunk are ordered by kind. A lane whose row has no more entries repeats the row's last column with a zero.
//
// Source: M. Kreutzer, G. Hager, G. Wellein, H. Fehske, A. R. Bishop, SIAM J. Sci. Comput. 36(5), 2014 (SELL-C-sigma).

#include <cstdint>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

inline constexpr int64_t row_sell_lanes = 8;
/// sigma: the rows that are ordered by length. A multiple of the lanes.
inline constexpr int64_t row_sell_window_rows = 256;

/// The elements of p for a far step are fetched so many far steps before: they are anywhere. Zen 5, the 5-point Laplacian of
/// 1000 x 1000 points in a random order, 2 ranks, 2026-11: 5.1 ms without, 3.9 with 4, 3.3 with 16, 3.5 with 64.
inline constexpr int64_t row_sell_far_ahead = 16;

/// Eight rows of a window.
struct RowChunk {
  uint32_t consecutive_steps;
  uint32_t near_steps;
  uint32_t far_steps;
  uint16_t first_row;         ///< row of lane 0, counted from the window's first row
  uint16_t listed_row_count;  ///< 0: the lanes' rows follow each other; else so many are in RowSellPart::rows
};

/// Places in the arrays of a part.
struct RowSellPlace {
  int64_t chunk = 0;
  int64_t step = 0;          ///< in values
  int64_t base = 0;          ///< in bases
  int64_t near_step = 0;     ///< in near_columns
  int64_t far_step = 0;      ///< in far_columns
  int64_t listed_chunk = 0;  ///< in rows
};

/// The consecutive rows of a block that one thread multiplies.
struct RowSellPart {
  int64_t first_row = 0;
  int64_t row_count = 0;
  int64_t column_count = 0;
  PageBuffer<double> values;          ///< row_sell_lanes per step
  PageBuffer<int32_t> bases;          ///< one per consecutive or near step
  PageBuffer<uint16_t> near_columns;  ///< row_sell_lanes per near step, counted from the step's base
  PageBuffer<int32_t>
      far_columns;  ///< row_sell_lanes per far step; after the last one row_sell_far_ahead steps of zeros
  PageBuffer<RowChunk> chunks;
  PageBuffer<uint16_t>
      rows;  ///< row_sell_lanes per chunk with listed rows, counted from the window's first row
  std::vector<RowSellPlace> windows;  ///< where each window begins, and the end

  int64_t window_count() const { return static_cast<int64_t>(windows.size()) - 1; }
  [[nodiscard]] std::vector<StoredArray> stored_arrays();
  /// Whether every step's columns are in [0, column_count).
  bool has_columns_in_range() const;
};

/// Makes the whole block, one part per thread, rows split by nonzeros, each by the thread that will use it. Cost: two passes
/// over the entries. Throws std::bad_alloc.
std::vector<RowSellPart> row_sell_parts(const CsrBlock& block, int thread_count);

// ---------------------------------------------------------------- loops of the kernel "sell-rows" (row_sell_loops-inl.hpp)

/// Some windows of a part, to be multiplied. The vectors are those of the whole block.
struct RowSellOperands {
  const RowSellPart& part;
  int64_t first_window;
  int64_t last_window;
  int64_t prefetch_distance;
  bool are_added;
  const double* p;
  double* q;  // the part's rows are set, or added to
  // Operands of reproducible sums only: see Operands and KernelOptions.
  double* q_low;
  const double* row_bounds;
  double p_bound;
  double low_factor;  // SplitConstants::low_factor()
};

using RowSellLoop = void (*)(const RowSellOperands& operands);

/// The loops of the reproducible form, for an instruction set of the kernel.
RowSellLoop exact_row_sell_loop(InstructionSet set);

}  // namespace cg2d::kernels
