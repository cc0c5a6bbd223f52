// Whole storage in column blocks for several vectors: SELL-4-1024, see sell_matrix.hpp. A block's part of the operand
// stays in the second-level cache, where plain CSR takes each entry's elements from the third-level one. Four rows at
// once: their sums do not wait for each other, and rows of a chunk end together, so that the processor foresees it.

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "kernels/parallel_parts.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/several_vectors.hpp"

namespace cg2d::kernels {
namespace {
namespace several_blocks {

constexpr std::int64_t lanes = 4;
constexpr std::int64_t window_rows = 1024;
constexpr std::int64_t default_prefetch_distance = 512;

/// Some column blocks of a part, and the vectors of the whole block.
struct PartOperands {
  const SellPart& part;
  std::int64_t first_block = 0;
  std::int64_t last_block = 0;
  std::int64_t prefetch_distance = 0;
  const double* p = nullptr;
  double* q = nullptr;
};

/// Four rows of a window in one column block.
struct Chunk {
  const double* values;
  const std::uint16_t* columns;
  std::int64_t steps;
  const std::uint16_t* rows;  // of each lane
  const double* p;            // of the column block
  double* q;                  // of the window
  std::int64_t prefetch_distance;
};

struct BlocksLoop {
  using Operands = PartOperands;

  template <typename Row>
  static inline __attribute__((always_inline)) void run(const Operands& operands) {
    const SellPart& part = operands.part;
    const std::int64_t* first_chunk = part.first_chunk.data() + operands.first_block * part.window_count;
    std::int64_t entry = part.first_step[static_cast<std::size_t>(operands.first_block)] * lanes;
    Chunk chunk{.values = part.values.data() + entry,
                .columns = part.columns.data() + entry,
                .steps = 0,
                .rows = part.rows.data() + *first_chunk * lanes,
                .p = nullptr,
                .q = nullptr,
                .prefetch_distance = operands.prefetch_distance};
    for (auto block = operands.first_block; block < operands.last_block; ++block) {
      chunk.p = operands.p + block * part.shape.block_width * Row::size;
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {
        chunk.q = operands.q + (part.first_row + window * window_rows) * Row::size;
        for (auto number = first_chunk[0]; number < first_chunk[1]; ++number) {
          prefetch_next_window<Row>(chunk.q, number - first_chunk[0]);
          chunk.steps = part.steps[static_cast<std::size_t>(number)];
          multiply_chunk<Row>(chunk);
          chunk.values += chunk.steps * lanes;
          chunk.columns += chunk.steps * lanes;
          chunk.rows += lanes;
        }
      }
    }
  }

 private:
  /// A window's rows are taken in the order of their lengths, which no processor foresees; between two column blocks
  /// they may leave every cache. Addresses after the last row are harmless to fetch.
  template <typename Row>
  static inline __attribute__((always_inline)) void prefetch_next_window(const double* q,
                                                                         std::int64_t chunk_number) {
    constexpr std::int64_t line = 8;  // doubles
    constexpr std::int64_t chunk_size = lanes * Row::size;
    const double* const next = q + window_rows * Row::size + chunk_number * chunk_size;
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < chunk_size; k += line) __builtin_prefetch(next + k, 1, 2);
  }

  /// As many lanes at once as there are registers for their sums.
  template <typename Row>
  static inline __attribute__((always_inline)) void multiply_chunk(const Chunk& chunk) {
    constexpr std::int64_t registers = 8;
    constexpr std::int64_t lanes_at_once =
        std::clamp<std::int64_t>(registers * Row::lanes / Row::size, 1, lanes);
    for (std::int64_t lane = 0; lane < lanes; lane += lanes_at_once)
      multiply_lanes<Row, lanes_at_once>(chunk, lane);
  }

  template <typename Row, std::int64_t LaneCount>
  static inline __attribute__((always_inline)) void multiply_lanes(const Chunk& chunk,
                                                                   std::int64_t first_lane) {
    const double* values = chunk.values + first_lane;
    const std::uint16_t* columns = chunk.columns + first_lane;
    Row sums[LaneCount];
#pragma GCC unroll 4
    for (std::int64_t lane = 0; lane < LaneCount; ++lane) sums[lane].clear();
    for (auto rest = chunk.steps; rest > 0; --rest, values += lanes, columns += lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
#pragma GCC unroll 4
      for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
        Row elements{};
        elements.load(chunk.p + columns[lane] * Row::size);
        sums[lane].add_scaled(values[lane], elements);
      }
    }
    // One lane after the other: lanes without a row of their own add zeros to the row of another one.
#pragma GCC unroll 4
    for (std::int64_t lane = 0; lane < LaneCount; ++lane) {
      double* const q = chunk.q + chunk.rows[first_lane + lane] * Row::size;
      Row row{};
      row.load(q);
      row.add_scaled(1.0, sums[lane]);
      row.store(q);
    }
  }
};

class SeveralBlocks final : public SpmvKernel {
 public:
  SeveralBlocks(const CsrBlock& block, std::int64_t block_width, const KernelOptions& options)
      : set_(several::chosen_set(options)),
        loop_(several::loop_for<BlocksLoop>(set_, options.vector_count)),
        vector_count_(options.vector_count),
        parts_(sell_parts(block, options.thread_count,
                          {.lanes = lanes, .block_width = block_width, .window_rows = window_rows})) {}

  [[nodiscard]] std::string_view name() const override { return "csr-short"; }
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

  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel for num_threads(part_count) schedule(static, 1) if (part_count > 1)
    for (int index = 0; index < part_count; ++index) {
      const auto& part = parts_[static_cast<std::size_t>(index)];
      if (!mode.is_added && mode.share == 0)
        std::fill_n(operands.q_rows.data() + part.first_row * vector_count_, part.row_count * vector_count_,
                    0.0);
      const ShareRange blocks(part.block_count, mode);
      loop_({.part = part,
             .first_block = blocks.begin,
             .last_block = blocks.end,
             .prefetch_distance = default_prefetch_distance,
             .p = operands.p_columns.data(),
             .q = operands.q_rows.data()});
    }
  }

 private:
  InstructionSet set_;
  several::LoopFunction<BlocksLoop> loop_;
  std::int64_t vector_count_;
  std::vector<SellPart> parts_;  // one per thread
};

/// As many columns as the setting allows and a quarter of a second-level cache of 1 MB has room for: beside them are the
/// rows and the matrix. Zen 5, 2026-11, class B, ms with 256 and 512 KB: 10.0 and 10.5 for 8 vectors, 18.8 and 17.1 for 16.
std::int64_t block_width(const KernelOptions& options) {
  constexpr std::int64_t cached_bytes = std::int64_t{256} << 10;
  const auto bytes_per_column = static_cast<std::int64_t>(sizeof(double)) * options.vector_count;
  return std::min<std::int64_t>(options.tuning.block_width.value_or(max_block_width),
                                cached_bytes / bytes_per_column);
}

/// A row's sums are loaded and stored once per column block where it has entries, so that these must be worth it.
/// On meshes they are not: plain CSR takes few entries per row as fast as the memory gives them. One pass over the
/// entries.
bool are_worthwhile(const CsrBlock& block, std::int64_t width) {
  constexpr std::int64_t least_entries = 4;  // of a row in a column block, on average
  const int shift = std::countr_zero(static_cast<std::uint64_t>(width));
  std::int64_t pieces = 0;
  for (std::int64_t row = 0; row < block.row_count; ++row) {
    std::int32_t last = -1;
    for (auto k = block.row_starts[static_cast<std::size_t>(row)];
         k < block.row_starts[static_cast<std::size_t>(row) + 1]; ++k) {
      const std::int32_t column_block = block.columns[static_cast<std::size_t>(k)] >> shift;
      if (column_block != last) ++pieces;
      last = column_block;
    }
  }
  return pieces > 0 && block.nonzero_count() >= least_entries * pieces;
}

}  // namespace several_blocks
}  // namespace

std::unique_ptr<SpmvKernel> make_several_blocks(CsrBlock block, const KernelOptions& options) {
  static_cast<void>(
      several::loop_for<several_blocks::BlocksLoop>(several::chosen_set(options), options.vector_count));
  const auto width = several_blocks::block_width(options);
  if (!several_blocks::are_worthwhile(block, width))
    return make_several_rows("csr-short", std::move(block), options);
  const CsrBlock taken = std::move(block);  // given back when the format is made
  return std::make_unique<several_blocks::SeveralBlocks>(taken, width, options);
}

}  // namespace cg2d::kernels
