#include "kernels/unfused_lines.hpp"

#include <array>
#include <cstring>

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unfused_lines.cpp"
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

namespace power_lines {

void step_on_line(const PowerLines& all_lines, double weight, int64_t count, double* target) {
  const PowerLines lines = all_lines;  // a local copy: no store can change it
#pragma omp simd
  for (int64_t x = 0; x < count; ++x) {
    const double sum = (lines.middle[x - 1] + lines.middle[x + 1]) + (lines.lower[x] + lines.upper[x]) +
                       (lines.previous[x] + lines.next[x]);
    target[x] = -weight * sum - lines.before[x];
  }
}

void combine_lines(const LinePair& polynomial, const PowerWeights& all_weights, int64_t count,
                   const SumLines& sums) {
  const PowerWeights weights = all_weights;
  const double* const of_p = polynomial.p;
  const double* const of_r = polynomial.r;
  double* const p = sums.p;
  double* const r = sums.r;
  double* const x = sums.x;
#pragma omp simd
  for (int64_t k = 0; k < count; ++k) {
    const double from_p = of_p[k];
    const double from_r = of_r[k];
    p[k] += weights.p[0] * from_p + weights.p[1] * from_r;
    r[k] += weights.r[0] * from_p + weights.r[1] * from_r;
    x[k] += weights.x[0] * from_p + weights.x[1] * from_r;
  }
}

/// Point x belongs to part x modulo 8 of a sum, in registers of whatever width.
constexpr size_t part_count = 8;
using Parts = std::array<double, part_count>;

constexpr double sum_of(const Parts& parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

constexpr size_t lane_count = sizeof(Register) / sizeof(double);
/// One of the six sums.
using LaneSum = Register[part_count / lane_count];

void add_sums_of_lines(const LinePair& now, const LinePair& before, int64_t count, PowerSums& sums) {
  LaneSum pp{};
  LaneSum rr{};
  LaneSum pr{};
  LaneSum pp_before{};
  LaneSum rr_before{};
  LaneSum pr_before{};
  const auto whole = static_cast<size_t>(count) / part_count * part_count;
  for (size_t x = 0; x < whole; x += part_count) {
    for (size_t part = 0; part < part_count / lane_count; ++part) {
      const auto place = x + part * lane_count;
      Register p{};
      Register r{};
      Register p_before{};
      Register r_before{};
      load_register(p, now.p + place);
      load_register(r, now.r + place);
      load_register(p_before, before.p + place);
      load_register(r_before, before.r + place);
      pp[part] += p * p;
      rr[part] += r * r;
      pr[part] += p * r;
      pp_before[part] += p * p_before;
      rr_before[part] += r * r_before;
      pr_before[part] += p * r_before;
    }
  }
  const auto add = [&](const LaneSum& sum, const double* left, const double* right, double& total) {
    Parts parts{};
    std::memcpy(parts.data(), sum, sizeof(parts));
    for (auto x = whole; x < static_cast<size_t>(count); ++x) parts[x - whole] += left[x] * right[x];
    total += sum_of(parts);
  };
  add(pp, now.p, now.p, sums.pp);
  add(rr, now.r, now.r, sums.rr);
  add(pr, now.p, now.r, sums.pr);
  add(pp_before, now.p, before.p, sums.pp_before);
  add(rr_before, now.r, before.r, sums.rr_before);
  add(pr_before, now.p, before.r, sums.pr_before);
}

PowerLoops loops_for(InstructionSet /*set*/) {
  return {.step = &step_on_line, .add_sums = &add_sums_of_lines, .combine = &combine_lines};
}

}  // namespace power_lines

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {

HeatLoop heat_loop(std::optional<InstructionSet> set) {
  return CG2D_OF_SET(choose_instruction_set(set, sets_without_gathers), heat_lines::loop_for);
}

PowerLoops power_loops(std::optional<InstructionSet> set) {
  return CG2D_OF_SET(choose_instruction_set(set, sets_without_gathers), power_lines::loops_for);
}

}  // namespace cg2d::kernels
#endif
