// Kernel "sell-rows": SELL-8-256 over whole rows, with vector loads where the columns of eight rows follow each other.

#include <array>

#include "kernels/cpu_features.hpp"
#include "kernels/exact_row_sell.hpp"
#include "kernels/row_sell_kernel.hpp"
#include "kernels/simd.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {
namespace row_sell_loops {
namespace {

/// Sums as usual.
class PlainSums {
 public:
  CG2D_INLINE PlainSums(const ChunkRows&, const RowSellVectors&) {}
  CG2D_INLINE void add(const Lanes& values, const Lanes& operands) { sums_ += values * operands; }
  CG2D_INLINE void store(const ChunkRows& rows, const RowSellVectors& vectors) const {
    store_rows(rows, sums_, vectors.q);
  }

 private:
  Lanes sums_{};
};

void multiply_portable(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<PlainSums>(range, vectors);
}
#if defined(__x86_64__)
CG2D_FMA void multiply_fma(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<PlainSums>(range, vectors);
}
CG2D_AVX512 void multiply_avx512(const RowSellWindows& range, const RowSellVectors& vectors) {
  multiply_windows<PlainSums>(range, vectors);
}
#endif

}  // namespace
}  // namespace row_sell_loops

namespace {
namespace sell_rows {

// In entries: fetches 8 kB of values before their use.
constexpr int default_prefetch_distance = 1024;

/// The sets with a loop here that this processor has.
std::vector<InstructionSet> instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::fma, InstructionSet::avx512};
  return of_this_processor(sets);
}

RowSellLoop loop_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &row_sell_loops::multiply_avx512;
    case InstructionSet::fma:
      return &row_sell_loops::multiply_fma;
#endif
    default:
      return &row_sell_loops::multiply_portable;
  }
}

InstructionSet preferred_instruction_set() { return instruction_sets().back(); }

/// Either form: the usual one where the options have no most_terms.
std::unique_ptr<SpmvKernel> make(CsrBlock block, const KernelOptions& options) {
  const auto set =
      choose_instruction_set(options.instruction_set, instruction_sets(), preferred_instruction_set);
  return std::make_unique<RowSellKernel>(
      RowSellKernel::Form{
          .set = set,
          .loop = options.most_terms > 0.0 ? exact_row_sell_loop(set) : loop_for(set),
          .prefetch_distance = options.tuning.prefetch_distance.value_or(default_prefetch_distance)},
      block, options);
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
      .make_reproducible = sell_rows::make,
  };
}

}  // namespace cg2d::kernels
