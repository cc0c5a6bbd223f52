#pragma once

// The part that the usual and the reproducible form of the kernel "sell" have in common: the format, its split over threads, and
// the way through its chunks. A form brings a loop for each instruction set.

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/sell_matrix.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

inline constexpr std::int64_t sell_lanes = 8;

/// Some column blocks of a part, to be multiplied.
struct SellBlocks {
  const SellPart& part;
  std::int64_t first_block;
  std::int64_t last_block;
  std::int64_t prefetch_distance;
};

/// The vectors of a loop, which are those of the whole block.
struct SellVectors {
  const double* p;
  double* q;      // sums are added to it
  double* q_low;  // low parts of reproducible sums
  // SplitConstants::low over the greatest power of two in SplitConstants::high; reproducible sums only.
  double low_share;
};

using SellLoop = void (*)(const SellBlocks& range, const SellVectors& vectors);

/// A chunk, with its part of p.
struct SellChunk {
  const double* values;
  const std::uint16_t* columns;
  std::uint32_t steps;
  const double* p;            // p of the column block
  const std::uint16_t* rows;  // row of each lane, counted from the window's first row
  std::int64_t window_row;    // the window's first row
  std::int64_t prefetch_distance;
};

// The loop over chunks is the same for every instruction set; multiply_chunk is not. This is a macro, because
// an attribute cannot be a template argument, and a function that has it is not inlined into one without it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_SELL_LOOP(function, attribute, multiply_chunk)                                            \
  attribute void function(const SellBlocks& range, const SellVectors& vectors) {                       \
    const SellPart& part = range.part;                                                                 \
    const std::int64_t* first_chunk = part.first_chunk.data() + range.first_block * part.window_count; \
    const std::uint32_t* steps = part.steps.data() + *first_chunk;                                     \
    const std::int64_t first_entry =                                                                   \
        part.first_step[static_cast<std::size_t>(range.first_block)] * sell_lanes;                     \
    SellChunk chunk{.values = part.values.data() + first_entry,                                        \
                    .columns = part.columns.data() + first_entry,                                      \
                    .steps = 0,                                                                        \
                    .p = vectors.p + range.first_block * part.shape.block_width,                       \
                    .rows = part.rows.data() + *first_chunk * sell_lanes,                              \
                    .window_row = 0,                                                                   \
                    .prefetch_distance = range.prefetch_distance};                                     \
    for (std::int64_t block = range.first_block; block < range.last_block; ++block) {                  \
      chunk.window_row = part.first_row;                                                               \
      for (std::int64_t window = 0; window < part.window_count; ++window) {                            \
        for (std::int64_t rest = first_chunk[1] - first_chunk[0]; rest > 0; --rest) {                  \
          chunk.steps = *steps++;                                                                      \
          multiply_chunk(chunk, vectors);                                                              \
          chunk.values += chunk.steps * sell_lanes;                                                    \
          chunk.columns += chunk.steps * sell_lanes;                                                   \
          chunk.rows += sell_lanes;                                                                    \
        }                                                                                              \
        ++first_chunk;                                                                                 \
        chunk.window_row += part.shape.window_rows;                                                    \
      }                                                                                                \
      chunk.p += part.shape.block_width;                                                               \
    }                                                                                                  \
  }

#if defined(__x86_64__)
// Four elements of p, loaded one by one. A core loads two floating-point operands per clock, whatever their
// width, so four values are loaded at once. ns per nonzero of classes S, A and B, one thread:
//   Zen 5, 2026-11: four lanes per register 0.229 0.259 0.37, two lanes 0.254 0.281 0.37,
//     gathers of four 0.40 (A) 0.46 (B), of eight 0.53 0.61
//   Zen 4, 2026-11: four lanes 0.289 (A) 0.455 (B), two lanes 0.312 0.474
CG2D_FMA inline __attribute__((always_inline)) __m256d four_of(const double* p, std::uint64_t columns) {
  return _mm256_set_m128d(two_of(p, column_at<2>(columns), column_at<3>(columns)),
                          two_of(p, column_at<0>(columns), column_at<1>(columns)));
}
#endif

/// A loop with its format.
class SellKernel final : public SpmvKernel {
 public:
  struct Form {
    InstructionSet set = InstructionSet::portable;
    SellLoop loop = nullptr;
    std::int64_t prefetch_distance = 0;
    SellShape shape;
  };

  /// Reproducible where the options have most_terms. Throws std::bad_alloc, std::invalid_argument without a bound for each row then.
  SellKernel(const Form& form, const CsrBlock& block, const KernelOptions& options);
  /// For one thread, and sums as usual. Throws std::invalid_argument for sizes that are not those of such a block.
  SellKernel(const Form& form, const ExternalArrays& block);

  [[nodiscard]] std::string_view name() const override { return "sell"; }
  [[nodiscard]] std::string_view instruction_set() const override { return name_of(form_.set); }
  [[nodiscard]] std::int64_t matrix_byte_count() const override;
  [[nodiscard]] std::vector<StoredArray> stored_arrays() override;
  [[nodiscard]] bool has_columns_in_range() const override;
  /// A share is a share of the column blocks.
  void multiply(const Operands& operands, const ProductMode& mode) override;

 private:
  [[nodiscard]] bool is_exact() const { return low_factor_ > 0.0; }

  Form form_;
  std::vector<SellPart> parts_;  // one per thread
  std::vector<double> row_bounds_;
  double low_factor_;  // SplitConstants::low_factor(); 0: sums as usual
};

}  // namespace cg2d::kernels
