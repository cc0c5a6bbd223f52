// SELL-4-512 in column blocks on a half-stored block: 10 bytes for two nonzeros. The column block's parts of
// p and of q lie in the first-level cache; a step multiplies one entry of each of 4 rows, and adds to the
// sums of the rows, which are in registers, and to q over the columns, which is not: those additions are one
// after the other, so that lanes may share a column.

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/column_sums.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/half_spmv_kernels.hpp"
#include "kernels/sell_matrix.hpp"

namespace cg2d::kernels {
namespace {

constexpr std::int64_t lanes = 4;
constexpr int default_block_width = 2048;
constexpr std::int64_t window_rows = 512;

// In entries: 8 kB of values and 2 kB of columns ahead of their use.
constexpr int default_prefetch_distance = 1024;

/// One thread's part of a product. p_rows and q_rows: of the whole block.
using PartLoop = void (*)(const SellPart& part, const HalfOperands& operands, double* q_columns,
                          std::int64_t distance);

/// Number `Place` in memory of the four 16-bit columns of a word.
template <int Place>
constexpr std::uint64_t column_at(std::uint64_t word) {
  constexpr int shift = 16 * (std::endian::native == std::endian::little ? Place : 3 - Place);
  return (word >> shift) & 0xffff;
}

// A macro, because an attribute cannot be a template argument.
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define CG2D_HALF_LANE(lane)                            \
  {                                                     \
    const double value = values[lane];                  \
    const std::uint64_t column = column_at<lane>(word); \
    sum##lane += value * p_block[column];               \
    q_block[column] += value * p_row##lane;             \
  }

#define CG2D_HALF_LOOP(function, attribute)                                                                 \
  attribute void function(const SellPart& part, const HalfOperands& operands, double* q_columns,            \
                          std::int64_t distance) {                                                          \
    const double* values = part.values.data();                                                              \
    const std::uint16_t* columns = part.columns.data();                                                     \
    const std::uint16_t* rows = part.rows.data();                                                           \
    const std::uint32_t* steps = part.steps.data();                                                         \
    const std::int64_t* first_chunk = part.first_chunk.data();                                              \
    std::fill_n(operands.q_rows.data() + part.first_row, part.row_count, 0.0);                              \
    for (std::int64_t block = 0; block < part.block_count; ++block) {                                       \
      const double* p_block = operands.p_columns.data() + block * part.shape.block_width;                   \
      double* q_block = q_columns + block * part.shape.block_width;                                         \
      for (std::int64_t window = 0; window < part.window_count; ++window, ++first_chunk) {                  \
        const double* p_window = operands.p_rows.data() + part.first_row + window * part.shape.window_rows; \
        double* q_window = operands.q_rows.data() + part.first_row + window * part.shape.window_rows;       \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest, rows += lanes) {        \
          const double p_row0 = p_window[rows[0]];                                                          \
          const double p_row1 = p_window[rows[1]];                                                          \
          const double p_row2 = p_window[rows[2]];                                                          \
          const double p_row3 = p_window[rows[3]];                                                          \
          double sum0 = 0.0;                                                                                \
          double sum1 = 0.0;                                                                                \
          double sum2 = 0.0;                                                                                \
          double sum3 = 0.0;                                                                                \
          for (std::uint32_t step = *steps++; step > 0; --step, values += lanes, columns += lanes) {        \
            prefetch(values, columns, distance);                                                            \
            std::uint64_t word = 0;                                                                         \
            std::memcpy(&word, columns, sizeof(word));                                                      \
            CG2D_HALF_LANE(0)                                                                               \
            CG2D_HALF_LANE(1)                                                                               \
            CG2D_HALF_LANE(2)                                                                               \
            CG2D_HALF_LANE(3)                                                                               \
          }                                                                                                 \
          q_window[rows[0]] += sum0;                                                                        \
          q_window[rows[1]] += sum1;                                                                        \
          q_window[rows[2]] += sum2;                                                                        \
          q_window[rows[3]] += sum3;                                                                        \
        }                                                                                                   \
      }                                                                                                     \
    }                                                                                                       \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)

/// Into the second-level cache: the first-level one is the operands'.
inline void prefetch(const double* values, const std::uint16_t* columns, std::int64_t distance) {
  constexpr int for_reading = 0;
  constexpr int second_level = 2;
  __builtin_prefetch(values + distance, for_reading, second_level);
  __builtin_prefetch(columns + distance, for_reading, second_level);
}

CG2D_HALF_LOOP(multiply_portable, )
#if defined(__x86_64__)
CG2D_HALF_LOOP(multiply_fma, __attribute__((target("avx2,fma"))))
#endif

/// The widest instruction set that this kernel has a loop for here.
InstructionSet used_instruction_set() {
#if defined(__x86_64__)
  if (widest_instruction_set() >= InstructionSet::fma) return InstructionSet::fma;
#endif
  return InstructionSet::portable;
}

PartLoop loop_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set == InstructionSet::fma) return &multiply_fma;
#endif
  static_cast<void>(set);
  return &multiply_portable;
}

SellShape shape_for(const KernelOptions& options) {
  return {.lanes = lanes,
          .block_width = options.tuning.block_width.value_or(default_block_width),
          .window_rows = window_rows};
}

class HalfSellKernel final : public HalfSpmvKernel {
 public:
  HalfSellKernel(const CsrBlock& block, const KernelOptions& options)
      : set_(used_instruction_set()),
        loop_(loop_for(set_)),
        prefetch_distance_(options.tuning.prefetch_distance.value_or(default_prefetch_distance)),
        parts_(sell_parts(block, options.thread_count, shape_for(options))),
        column_sums_(block.column_count, options.thread_count) {}

  [[nodiscard]] std::string_view name() const override { return "symmetric"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(set_); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) bytes += part.byte_count();
    return bytes;
  }

  void multiply(const HalfOperands& operands) override {
    const int part_count = static_cast<int>(parts_.size());
#pragma omp parallel num_threads(part_count) if (part_count > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) {
        loop_(parts_[static_cast<std::size_t>(part)], operands,
              column_sums_.cleared(part, operands.q_columns), prefetch_distance_);
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < part_count; ++part) column_sums_.add_to(operands.q_columns, part, part_count);
    }
  }

 private:
  InstructionSet set_;
  PartLoop loop_;
  std::int64_t prefetch_distance_;
  std::vector<SellPart> parts_;  // one per thread
  ColumnSums column_sums_;
};

}  // namespace

HalfKernelRow half_sell_kernel() {
  return {
      .name = "symmetric",
      .description =
          "symmetric storage: one entry of each mirrored pair; SELL-4-512 in column blocks, 16-bit columns",
      .bytes_per_nonzero = 5.25,
      .converts = true,
      .defaults = {.prefetch_distance = default_prefetch_distance, .block_width = default_block_width},
      .why_unavailable = [] { return std::string(); },
      .make = [](CsrBlock block, const KernelOptions& options) -> std::unique_ptr<HalfSpmvKernel> {
        return std::make_unique<HalfSellKernel>(block, options);
      },
  };
}

}  // namespace cg2d::kernels
