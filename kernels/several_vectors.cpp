// Kernels for several vectors, all but "blocks": the sums of a row are in registers, and each entry takes one contiguous load of as many elements
// as there are vectors.

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/several_vectors.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/several_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {

namespace several_csr {

constexpr int64_t prefetch_distance = 256;

struct CsrLoop {
  using Operands = std::pair<const CsrBlock&, const CsrRowOperands&>;

  template <typename Row>
  static HWY_INLINE void run(const Operands& operands) {
    const auto& [block, rows] = operands;
    const int64_t* starts = block.row_starts.data();
    const int32_t* columns = block.columns.data();
    const double* values = block.values.data();
    for (int64_t row = rows.first_row; row < rows.last_row; ++row) {
      double* const q = rows.q + row * Row::size;
      Row sums{};
      if (rows.are_added) {
        sums.load(q);
      } else {
        sums.clear();
      }
      for (int64_t k = starts[row]; k < starts[row + 1]; ++k) {
        prefetch_entries(values + k, columns + k, prefetch_distance);
        Row elements{};
        elements.load(rows.p + columns[k] * Row::size);
        sums.add_scaled(values[k], elements);
      }
      sums.store(q);
    }
  }
};

using Loops = several::LoopsByCount<CsrLoop::Operands>;
Loops loops_for(InstructionSet set) { return several_loops_for<CsrLoop>(set); }

}  // namespace several_csr

/// SELL-4-1024 in column blocks for several vectors (sell_matrix.hpp): whole storage, kernel "csr-short", and half storage, kernel
/// "symmetric". A block's parts of the vectors stay in the second-level cache, where plain CSR takes each entry's elements from the
/// third-level one. Four rows at once: their sums do not wait for each other, and rows of a chunk end together, so that the processor
/// foresees it.
///
/// An entry takes a contiguous load of p over its column for the sums of its row, which are in registers. With half storage it also adds to q over
/// its column, which is in memory. Lanes may have the same column: they add one after the other.
namespace several_sell {

constexpr auto lanes = several::lanes_of_sell;
constexpr auto window_rows = several::window_rows_of_sell;
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

template <bool StoresHalf>
struct Loop {
  using Operands = several::SellOperands;

  template <typename Row>
  static HWY_INLINE void run(const Operands& operands) {
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
      const int64_t first_column = block * part.shape.block_width * Row::size;
      chunk.p_columns = operands.p_columns + first_column;
      if constexpr (StoresHalf) chunk.q_columns = operands.q_columns + first_column;
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
};

using Loops = several::LoopsByCount<several::SellOperands>;
Loops whole_loops_for(InstructionSet set) { return several_loops_for<Loop<false>>(set); }
Loops half_loops_for(InstructionSet set) { return several_loops_for<Loop<true>>(set); }

}  // namespace several_sell

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <utility>

#include "kernels/column_sums.hpp"
#include "kernels/parts_kernel.hpp"

namespace cg2d::kernels {

std::unique_ptr<SpmvKernel> make_several_rows(std::string_view name, CsrBlock block,
                                              const KernelOptions& options) {
  const auto set = several::chosen_set(options);
  const auto loop = CG2D_OF_SET(set, several_csr::loops_for)[several::place_of_count(options.vector_count)];
  const auto multiply_rows = [=](const CsrBlock& rows_block, const CsrRowOperands& operands) {
    loop({rows_block, operands});
  };
  return std::make_unique<CsrRowsKernel>(name, name_of(set), multiply_rows, std::move(block),
                                         options.thread_count);
}

namespace {
namespace several_sell {

/// As many columns in a block as the setting allows and a quarter of a second-level cache of 1 MB has room for: beside them are the
/// rows and the matrix. Zen 5, 2026-11, class B, ms with 256 and 512 KB: 10.0 and 10.5 for 8 vectors, 18.8 and 17.1 for 16.
/// Throws what place_of_count() throws.
SellShape shape_for(const KernelOptions& options) {
  constexpr int64_t cached_bytes = int64_t{256} << 10;
  static_cast<void>(several::place_of_count(options.vector_count));
  const auto bytes_per_column = static_cast<int64_t>(sizeof(double)) * options.vector_count;
  return {.lanes = several::lanes_of_sell,
          .block_width = std::min<int64_t>(options.tuning.block_width.value_or(max_block_width),
                                           cached_bytes / bytes_per_column),
          .window_rows = several::window_rows_of_sell};
}

several::LoopFunction<several::SellOperands> loop_for(Storage storage, const KernelOptions& options) {
  const auto set = several::chosen_set(options);
  const auto loops = storage == Storage::half ? CG2D_OF_SET(set, several_sell::half_loops_for)
                                              : CG2D_OF_SET(set, several_sell::whole_loops_for);
  return loops[several::place_of_count(options.vector_count)];
}

class Kernel final : public PartsKernel<SellPart> {
 public:
  Kernel(Storage storage, std::vector<SellPart> parts, const KernelOptions& options)
      : PartsKernel(storage == Storage::half ? "symmetric" : "csr-short", several::chosen_set(options),
                    std::move(parts)),
        stores_half_(storage == Storage::half),
        loop_(loop_for(storage, options)),
        vector_count_(options.vector_count),
        column_sums_(part_at(0).column_count * vector_count_, stores_half_ ? part_count() : 1) {}

  /// A share is a share of the column blocks, which are the same for all threads: their sums over the columns of
  /// the share are added up before it ends.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int count = part_count();
    if (!stores_half_) {
#pragma omp parallel for num_threads(count) schedule(static, 1) if (count > 1)
      for (int index = 0; index < count; ++index) multiply_part(index, operands, mode);
      return;
    }
    const auto elements = elements_of_share(mode);
    const auto element_count = elements.end - elements.begin;
#pragma omp parallel num_threads(count) if (count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int index = 0; index < count; ++index) multiply_part(index, operands, mode);
#pragma omp for schedule(static, 1)
      for (int index = 0; index < count; ++index) {
        column_sums_.add_to(operands.q_columns, elements.begin + element_count * index / count,
                            elements.begin + element_count * (index + 1) / count);
      }
    }
  }

 private:
  void multiply_part(int index, const Operands& operands, const ProductMode& mode) {
    const auto& part = part_at(index);
    if (!mode.is_added && mode.share == 0)
      std::fill_n(operands.q_rows.data() + part.first_row * vector_count_, part.row_count * vector_count_,
                  0.0);
    double* q_columns = nullptr;
    if (stores_half_) {
      q_columns = column_sums_.of_thread(index, operands.q_columns).data();
      const auto elements = elements_of_share(mode);
      if (!mode.is_continued || index > 0)
        std::fill_n(q_columns + elements.begin, elements.end - elements.begin, 0.0);
    }
    const ShareRange blocks(part.block_count, mode);
    loop_({.part = part,
           .first_block = blocks.begin,
           .last_block = blocks.end,
           .p_columns = operands.p_columns.data(),
           .p_rows = operands.p_rows.data(),
           .q_rows = operands.q_rows.data(),
           .q_columns = q_columns});
  }
  /// The columns of a share, as elements of a vector: those of its column blocks.
  RowRange elements_of_share(const ProductMode& mode) const {
    const auto& any = part_at(0);
    const ShareRange blocks(any.block_count, mode);
    return {.begin = vector_count_ * std::min(blocks.begin * any.shape.block_width, any.column_count),
            .end = vector_count_ * std::min(blocks.end * any.shape.block_width, any.column_count)};
  }

  bool stores_half_;
  several::LoopFunction<several::SellOperands> loop_;
  int64_t vector_count_;
  ColumnSums column_sums_;
};

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

std::unique_ptr<SpmvKernel> make(Storage storage, CsrBlock block, const KernelOptions& options) {
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return std::make_unique<Kernel>(storage, sell_parts(taken, options.thread_count, shape_for(options)),
                                  options);
}

}  // namespace several_sell
}  // namespace

std::unique_ptr<SpmvKernel> make_several_blocks(CsrBlock block, const KernelOptions& options) {
  if (several_sell::are_worthwhile(block, several_sell::shape_for(options).block_width))
    return several_sell::make(Storage::whole, std::move(block), options);
  return make_several_rows("csr-short", std::move(block), options);
}

std::unique_ptr<SpmvKernel> make_several_symmetric(CsrBlock block, const KernelOptions& options) {
  return several_sell::make(Storage::half, std::move(block), options);
}

std::unique_ptr<SpmvKernel> make_several_symmetric_external(const ExternalArrays& block,
                                                            const KernelOptions& options) {
  return std::make_unique<several_sell::Kernel>(
      Storage::half, external_sell_parts(block, several_sell::shape_for(options)), options);
}

}  // namespace cg2d::kernels
#endif
