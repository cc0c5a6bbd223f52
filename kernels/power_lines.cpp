#include "kernels/power_lines.hpp"

#include <cstring>

#include "kernels/simd.hpp"

namespace cg2d::kernels {
namespace {
namespace power_lines {

CG2D_INLINE void step_on_line(const PowerLines& all_lines, double weight, std::int64_t count,
                              double* target) {
  const PowerLines lines = all_lines;  // a local copy: no store can change it
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x) {
    const double sum = (lines.middle[x - 1] + lines.middle[x + 1]) + (lines.lower[x] + lines.upper[x]) +
                       (lines.previous[x] + lines.next[x]);
    target[x] = -weight * sum - lines.before[x];
  }
}

CG2D_INLINE void combine_lines(const LinePair& polynomial, const PowerWeights& all_weights,
                               std::int64_t count, const SumLines& sums) {
  const PowerWeights weights = all_weights;
  const double* const of_p = polynomial.p;
  const double* const of_r = polynomial.r;
  double* const p = sums.p;
  double* const r = sums.r;
  double* const x = sums.x;
#pragma omp simd
  for (std::int64_t k = 0; k < count; ++k) {
    const double from_p = of_p[k];
    const double from_r = of_r[k];
    p[k] += weights.p[0] * from_p + weights.p[1] * from_r;
    r[k] += weights.r[0] * from_p + weights.r[1] * from_r;
    x[k] += weights.x[0] * from_p + weights.x[1] * from_r;
  }
}

/// Point x belongs to part x modulo 8 of a sum, in registers of whatever width.
constexpr std::size_t part_count = 8;
using Parts = std::array<double, part_count>;

constexpr double sum_of(const Parts& parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

/// One of the six sums, in registers.
template <typename Lanes>
struct LaneSum {
  static constexpr std::size_t lane_count = sizeof(Lanes) / sizeof(double);
  std::array<Lanes, part_count / lane_count> lanes{};

  [[nodiscard]] CG2D_INLINE Parts parts() const {
    Parts result{};
    std::memcpy(result.data(), lanes.data(), sizeof(result));
    return result;
  }
};

template <typename Lanes>
CG2D_INLINE void add_sums_of_lines(const LinePair& now, const LinePair& before, std::int64_t count,
                                   PowerSums& sums) {
  constexpr auto lane_count = LaneSum<Lanes>::lane_count;
  LaneSum<Lanes> pp{};
  LaneSum<Lanes> rr{};
  LaneSum<Lanes> pr{};
  LaneSum<Lanes> pp_before{};
  LaneSum<Lanes> rr_before{};
  LaneSum<Lanes> pr_before{};
  const auto whole = static_cast<std::size_t>(count) / part_count * part_count;
  for (std::size_t x = 0; x < whole; x += part_count) {
    for (std::size_t part = 0; part < part_count / lane_count; ++part) {
      const auto place = x + part * lane_count;
      Lanes p{};
      Lanes r{};
      Lanes p_before{};
      Lanes r_before{};
      load_lanes(p, now.p + place);
      load_lanes(r, now.r + place);
      load_lanes(p_before, before.p + place);
      load_lanes(r_before, before.r + place);
      pp.lanes[part] += p * p;
      rr.lanes[part] += r * r;
      pr.lanes[part] += p * r;
      pp_before.lanes[part] += p * p_before;
      rr_before.lanes[part] += r * r_before;
      pr_before.lanes[part] += p * r_before;
    }
  }
  const auto add = [&](const LaneSum<Lanes>& sum, const double* left, const double* right, double& total) {
    auto parts = sum.parts();
    for (auto x = whole; x < static_cast<std::size_t>(count); ++x) parts[x - whole] += left[x] * right[x];
    total += sum_of(parts);
  };
  add(pp, now.p, now.p, sums.pp);
  add(rr, now.r, now.r, sums.rr);
  add(pr, now.p, now.r, sums.pr);
  add(pp_before, now.p, before.p, sums.pp_before);
  add(rr_before, now.r, before.r, sums.rr_before);
  add(pr_before, now.p, before.r, sums.pr_before);
}

// The portable loops, compiled for each instruction set: see CG2D_STENCIL_LOOP in stencil_lines.cpp.
// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): an attribute has no parentheses
#define CG2D_POWER_LOOPS(suffix, target_attribute, Lanes)                                                  \
  target_attribute void step_##suffix(const PowerLines& lines, double weight, std::int64_t count,          \
                                      double* target) {                                                    \
    step_on_line(lines, weight, count, target);                                                            \
  }                                                                                                        \
  target_attribute void add_sums_##suffix(const LinePair& now, const LinePair& before, std::int64_t count, \
                                          PowerSums& sums) {                                               \
    add_sums_of_lines<Lanes>(now, before, count, sums);                                                    \
  }                                                                                                        \
  target_attribute void combine_##suffix(const LinePair& polynomial, const PowerWeights& weights,          \
                                         std::int64_t count, const SumLines& sums) {                       \
    combine_lines(polynomial, weights, count, sums);                                                       \
  }                                                                                                        \
  constexpr PowerLoops loops_##suffix {                                                                    \
    .step = step_##suffix, .add_sums = add_sums_##suffix, .combine = combine_##suffix                      \
  }

// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
CG2D_POWER_LOOPS(portable, , TwoLanes);
#if defined(__x86_64__)
CG2D_POWER_LOOPS(avx2, CG2D_AVX2, FourLanes);
CG2D_POWER_LOOPS(avx512, CG2D_AVX512, EightLanes);
#endif
#undef CG2D_POWER_LOOPS

}  // namespace power_lines
}  // namespace

std::vector<InstructionSet> power_instruction_sets() {
  constexpr std::array sets{InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512};
  return of_this_processor(sets);
}

PowerLoops power_loops(std::optional<InstructionSet> set) {
  switch (
      choose_instruction_set(set, power_instruction_sets(), [] { return power_instruction_sets().back(); })) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return power_lines::loops_avx512;
    case InstructionSet::avx2:
      return power_lines::loops_avx2;
#endif
    default:
      return power_lines::loops_portable;
  }
}

}  // namespace cg2d::kernels
