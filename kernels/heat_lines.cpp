#include "kernels/heat_lines.hpp"

#include <array>

#include "kernels/simd.hpp"

namespace cg2d::kernels {
namespace {

CG2D_INLINE void step_on_line(const HeatLines& all_lines, const HeatWeights& all_weights, std::int64_t count,
                              double* target) {
  const HeatLines lines = all_lines;  // local copies: no store can change them
  const HeatWeights weights = all_weights;
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x) {
    const double next = lines.next[x];
    const double sum = (lines.middle[x - 1] + lines.middle[x + 1]) + (lines.lower[x] + lines.upper[x]) +
                       (lines.previous[x] + next);
    target[x] = weights.centre * lines.middle[x] + weights.side * sum;
    lines.previous[x] = next;
  }
}

// The portable loop, compiled for each instruction set: see CG2D_STENCIL_LOOP in stencil_lines.cpp.
void heat_loop_portable(const HeatLines& lines, const HeatWeights& weights, std::int64_t count,
                        double* target) {
  step_on_line(lines, weights, count, target);
}
#if defined(__x86_64__)
CG2D_AVX2 void heat_loop_avx2(const HeatLines& lines, const HeatWeights& weights, std::int64_t count,
                              double* target) {
  step_on_line(lines, weights, count, target);
}
CG2D_AVX512 void heat_loop_avx512(const HeatLines& lines, const HeatWeights& weights, std::int64_t count,
                                  double* target) {
  step_on_line(lines, weights, count, target);
}
#endif

}  // namespace

std::vector<InstructionSet> heat_instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};
  return of_this_processor(sets);
}

HeatLoop heat_loop(std::optional<InstructionSet> set) {
  switch (
      choose_instruction_set(set, heat_instruction_sets(), [] { return heat_instruction_sets().back(); })) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return &heat_loop_avx512;
    case InstructionSet::avx2:
      return &heat_loop_avx2;
#endif
    default:
      return &heat_loop_portable;
  }
}

}  // namespace cg2d::kernels
