#include "kernels/heat_lines.hpp"

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/heat_lines.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace heat_lines {

void step_on_line(const HeatLines& all_lines, const HeatWeights& all_weights, int64_t count, double* target) {
  const HeatLines lines = all_lines;  // local copies: no store can change them
  const HeatWeights weights = all_weights;
#pragma omp simd
  for (int64_t x = 0; x < count; ++x) {
    const double next = lines.next[x];
    const double sum = (lines.middle[x - 1] + lines.middle[x + 1]) + (lines.lower[x] + lines.upper[x]) +
                       (lines.previous[x] + next);
    target[x] = weights.centre * lines.middle[x] + weights.side * sum;
    lines.previous[x] = next;
  }
}

HeatLoop loop_for(InstructionSet /*set*/) { return &step_on_line; }

}  // namespace heat_lines
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {

HeatLoop heat_loop(std::optional<InstructionSet> set) {
  return CG2D_OF_SET(choose_instruction_set(set, sets_without_gathers), heat_lines::loop_for);
}

}  // namespace cg2d::kernels
#endif
