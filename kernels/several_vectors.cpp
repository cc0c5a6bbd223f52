// Kernels for several vectors, all but "blocks": the sums of a row are in registers, and each entry takes one contiguous load of as many elements
// as there are vectors.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_vectors.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>
#include <type_traits>

#include "kernels/compiler_vectors-inl.hpp"
#include "kernels/csr_rows_kernel.hpp"
#include "kernels/sell_matrix.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {

namespace several_csr {

constexpr int64_t prefetch_distance = 256;

template <typename Row>
void multiply_rows(const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* starts = block.row_starts.data();
  const int32_t* columns = block.columns.data();
  const double* values = block.values.data();
  for (int64_t row = operands.first_row; row < operands.last_row; ++row) {
    double* const q = operands.q + row * Row::size;
    Row sums{};
    if (operands.are_added) {
      sums.load(q);
    } else {
      sums.clear();
    }
    for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
      prefetch_entries(values + k, columns + k, prefetch_distance);
      Row elements{};
      elements.load(operands.p + columns[k] * Row::size);
      sums.add_scaled(values[k], elements);
    }
    sums.store(q);
  }
}

using Loop = void (*)(const CsrBlock& block, const CsrRowOperands& operands);
Loop loop_for(InstructionSet /*set*/, int vector_count) {
  return with_row_of(vector_count,
                     []<typename Row>(std::type_identity<Row>) -> Loop { return &multiply_rows<Row>; });
}

}  // namespace several_csr

/// SELL-4-1024 in column blocks for several vectors (sell_matrix.hpp): whole storage, kernel "csr-short", and half storage, kernel
/// "symmetric". A block's parts of the vectors stay in the second-level cache, where plain CSR takes each entry's elements from the
/// third-level one. Four rows at once: their sums do not wait for each other, and rows of a chunk end together, so that the processor
/// foresees it.
///
/// An entry takes a contiguous load of p over its column for the sums of its row, which are in registers. With half storage it also adds to q over
/// its column, which is in memory. Lanes may have the same column: they add one after the other.
namespace several_sell {

constexpr auto lanes = several_sell_lanes;
constexpr auto window_rows = several_sell_window_rows;
constexpr int64_t prefetch_distance = 512;

/// Four rows of a window in one column block.
struct Chunk {
  const double* values;
  const uint16_t* columns;
  int64_t steps;
  const uint16_t* rows;     // row of each lane
  const double* p_columns;  // p of the column block
  const double* p_rows;     // p of the window, with half storage
  double* q_rows;           // q of the window
  double* q_columns;        // q of the column block, with half storage
};

/// A window's rows are taken in the order of their lengths, which no processor foresees; between two column blocks
/// they may leave every cache. Addresses after the last row are harmless to fetch.
template <typename Row>
HWY_INLINE void prefetch_next_window(const double* q, int64_t chunk_number) {
  constexpr int64_t line = 8;  // doubles
  constexpr int64_t chunk_size = lanes * Row::size;
  const double* const next = q + window_rows * Row::size + chunk_number * chunk_size;
#pragma GCC unroll 8
  for (int64_t k = 0; k < chunk_size; k += line) __builtin_prefetch(next + k, 1, 2);
}

template <bool StoresHalf, typename Row, int64_t LaneCount>
HWY_INLINE void multiply_lanes(const Chunk& chunk, int64_t first_lane) {
  const double* values = chunk.values + first_lane;
  const uint16_t* columns = chunk.columns + first_lane;
  Row sums[LaneCount];
  [[maybe_unused]] Row p_rows[LaneCount];
#pragma GCC unroll 4
  for (int64_t lane = 0; lane < LaneCount; ++lane) {
    sums[lane].clear();
    if constexpr (StoresHalf) p_rows[lane].load(chunk.p_rows + chunk.rows[first_lane + lane] * Row::size);
  }
  for (auto rest = chunk.steps; rest > 0; --rest, values += lanes, columns += lanes) {
    prefetch_entries(values, columns, prefetch_distance);
#pragma GCC unroll 4
    for (int64_t lane = 0; lane < LaneCount; ++lane) {
      const int64_t column = columns[lane] * Row::size;
      Row elements{};
      elements.load(chunk.p_columns + column);
      sums[lane].add_scaled(values[lane], elements);
      if constexpr (StoresHalf) {
        Row mirrored{};
        mirrored.load(chunk.q_columns + column);
        mirrored.add_scaled(values[lane], p_rows[lane]);
        mirrored.store(chunk.q_columns + column);
      }
    }
  }
  // One lane after the other: lanes without a row of their own add zeros to the row of another one.
#pragma GCC unroll 4
  for (int64_t lane = 0; lane < LaneCount; ++lane) {
    double* const q = chunk.q_rows + chunk.rows[first_lane + lane] * Row::size;
    Row row{};
    row.load(q);
    row.add_scaled(1.0, sums[lane]);
    row.store(q);
  }
}

template <bool StoresHalf, typename Row>
void multiply_blocks(const SellOperands& operands) {
  // As many lanes at once as fit registers: the sums, and with half storage p over the rows.
  constexpr int64_t registers = 8;
  constexpr int64_t lanes_at_once =
      std::clamp<int64_t>(registers * Row::lanes / (Row::size * (StoresHalf ? 2 : 1)), 1, lanes);
  const SellPart& part = operands.part;
  const int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
  const int64_t entry = part.first_step[static_cast<size_t>(operands.first_block)] * lanes;
  Chunk chunk{.values = part.values.data() + entry,
              .columns = part.columns.data() + entry,
              .steps = 0,
              .rows = part.rows.data() + *first_chunk * lanes,
              .p_columns = nullptr,
              .p_rows = nullptr,
              .q_rows = nullptr,
              .q_columns = nullptr};
  for (auto block = operands.first_block; block < operands.last_block; ++block) {
    const int64_t first_column = block * part.shape.block_width;
    chunk.p_columns = operands.p_columns + first_column * Row::size;
    if constexpr (StoresHalf) {
      chunk.q_columns = operands.q_columns + first_column * Row::size;
      if (!operands.is_continued)
        std::fill_n(chunk.q_columns,
                    std::min(part.shape.block_width, part.column_count - first_column) * Row::size, 0.0);
    }
    for (int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
      const int64_t first_row = (part.first_row + window * window_rows) * Row::size;
      if constexpr (StoresHalf) chunk.p_rows = operands.p_rows + first_row;
      chunk.q_rows = operands.q_rows + first_row;
      for (auto number = first_chunk[0]; number < first_chunk[1]; ++number) {
        prefetch_next_window<Row>(chunk.q_rows, number - first_chunk[0]);
        chunk.steps = part.steps[static_cast<size_t>(number)];
        for (int64_t lane = 0; lane < lanes; lane += lanes_at_once)
          multiply_lanes<StoresHalf, Row, lanes_at_once>(chunk, lane);
        chunk.values += chunk.steps * lanes;
        chunk.columns += chunk.steps * lanes;
        chunk.rows += lanes;
      }
    }
  }
}

SellLoop loop_for(InstructionSet /*set*/, int vector_count, Storage storage) {
  return with_row_of(vector_count, [=]<typename Row>(std::type_identity<Row>) -> SellLoop {
    return storage == Storage::half ? &multiply_blocks<true, Row> : &multiply_blocks<false, Row>;
  });
}

}  // namespace several_sell

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <utility>

namespace cg2d::kernels {

std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options) {
  const auto loop = CG2D_OF_SET(*options.instruction_set, several_csr::loop_for, options.vector_count);
  return std::make_unique<CsrRowsKernel>(name, loop, std::move(block), options);
}

/// As many columns in a block as the setting allows and a quarter of a second-level cache of 1 MB has room for: beside them are the
/// rows and the matrix. Zen 5, 2026-11, class B, ms with 256 and 512 KB: 10.0 and 10.5 for 8 vectors, 18.8 and 17.1 for 16.
SellForm several_sell_form(std::string_view name, Storage storage, const KernelOptions& options) {
  constexpr int64_t cached_bytes = int64_t{256} << 10;
  const auto bytes_per_column = static_cast<int64_t>(sizeof(double)) * options.vector_count;
  return {
      .name = name,
      .storage = storage,
      .shape = {.lanes = several_sell_lanes,
                .block_width = std::min<int64_t>(options.tuning.block_width.value_or(max_block_width),
                                                 cached_bytes / bytes_per_column),
                .window_rows = several_sell_window_rows},
      .loop = CG2D_OF_SET(*options.instruction_set, several_sell::loop_for, options.vector_count, storage)};
}

namespace {

/// A row's sums are loaded and stored once per column block where it has entries, so that these must be worth it.
/// On meshes they are not: plain CSR takes few entries per row as fast as the memory gives them. One pass over the
/// entries.
bool are_worthwhile(const CsrBlock& block, int64_t width) {
  constexpr int64_t least_entries = 4;  // mean entries of a row in a column block
  const int shift = std::countr_zero(static_cast<uint64_t>(width));
  int64_t pieces = 0;
  for (int64_t row = 0; row < block.row_count; ++row) {
    int32_t last = -1;
    for (const int32_t column : block.columns_of(row)) {
      const int32_t column_block = column >> shift;
      if (column_block != last) ++pieces;
      last = column_block;
    }
  }
  return pieces > 0 && block.nonzero_count() >= least_entries * pieces;
}

}  // namespace

std::unique_ptr<SpmvKernel> make_several_blocks(std::string_view name, CsrBlock block,
                                                const KernelOptions& options) {
  const auto form = several_sell_form(name, Storage::whole, options);
  if (!are_worthwhile(block, form.shape.block_width))
    return make_several_rows(name, std::move(block), options);
  return make_sell_kernel(form, sell_parts(block, options.thread_count, form.shape), options);
}

}  // namespace cg2d::kernels
#endif
