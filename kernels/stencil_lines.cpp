#include "kernels/stencil_lines.hpp"

#include <algorithm>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stencil_lines.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace stencil_lines {

/// The places of the lines around the middle one that a stencil reads.
template <bool HasCorners, size_t... Outer>
struct Neighbours {
  static constexpr bool has_corners = HasCorners;
  static constexpr double diagonal = static_cast<double>((HasCorners ? 3 : 1) * sizeof...(Outer) + 2);

  static HWY_INLINE double outer(const StencilLines& lines, int64_t x) { return (lines[Outer][x] + ...); }
  static HWY_INLINE double side(const StencilLines& lines, int64_t x) {
    return HasCorners ? outer(lines, x) + lines[middle_line][x] : lines[middle_line][x];
  }
};

using FivePoints = Neighbours<false, stencil_line(-1, 0), stencil_line(1, 0)>;
using SevenPoints =
    Neighbours<false, stencil_line(-1, 0), stencil_line(1, 0), stencil_line(0, -1), stencil_line(0, 1)>;
using TwentySevenPoints =
    Neighbours<true, stencil_line(-1, -1), stencil_line(0, -1), stencil_line(1, -1), stencil_line(-1, 0),
               stencil_line(1, 0), stencil_line(-1, 1), stencil_line(0, 1), stencil_line(1, 1)>;

/// Without corners: the neighbours of a point one by one. The vectors begin where the middle line is on a border of
/// cache lines, and with it, in runs of whole cache lines, all but two of what is read: 0.33 ns per point, not 0.36
/// (7 points in lines of 1024, second-level cache, avx512, Zen 5, 2026-11-22).
template <typename Points>
HWY_INLINE void compute_star(const StencilLines& all_lines, int64_t begin, int64_t end, double* q) {
  const StencilLines lines = all_lines;  // a local copy: no store to q can change it
  const double* const middle = lines[middle_line];
  const auto from_border = static_cast<int64_t>(reinterpret_cast<uintptr_t>(middle + begin) / 8 % 8);
  const auto border = std::min(end, begin + (8 - from_border) % 8);
  const auto point = [&](int64_t x) HWY_ATTR {
    return Points::diagonal * middle[x] - (middle[x - 1] + middle[x + 1]) - Points::outer(lines, x);
  };
  for (int64_t x = begin; x < border; ++x) q[x - begin] = point(x);
#pragma omp simd
  for (int64_t x = border; x < end; ++x) q[x - begin] = point(x);
}

/// With corners: the nine points at x once for their three uses, in a buffer that stays in the first-level cache.
template <typename Points>
HWY_INLINE void compute_full(const StencilLines& all_lines, int64_t begin, int64_t end, double* q) {
  constexpr int64_t chunk = 512;
  const StencilLines lines = all_lines;
  const double* const middle = lines[middle_line];
  alignas(64) double outer[chunk + 2];
  alignas(64) double side[chunk + 2];
  for (auto first = begin; first < end; first += chunk) {
    const auto count = std::min(chunk, end - first);
#pragma omp simd
    for (int64_t k = 0; k < count + 2; ++k) {
      outer[k] = Points::outer(lines, first - 1 + k);
      side[k] = outer[k] + middle[first - 1 + k];
    }
    double* const target = q + (first - begin);
#pragma omp simd
    for (int64_t k = 0; k < count; ++k)
      target[k] = Points::diagonal * middle[first + k] - (side[k] + side[k + 2]) - outer[k + 1];
  }
}

template <typename Points>
void compute_ends(const StencilLines& lines, const LineRun& run, double* q) {
  const auto point = [&](int64_t x, double side) {
    q[x] = Points::diagonal * lines[middle_line][x] - side - Points::outer(lines, x);
  };
  if (run.length == 1) {
    for (int64_t x = 0; run.begins && run.ends && x < run.count; ++x) point(x, 0.0);
    return;
  }
  for (int64_t k = 0; k < run.count; ++k) {
    const auto first = k * run.length;
    const auto last = first + run.length - 1;
    if (run.begins) point(first, Points::side(lines, first + 1));
    if (run.ends) point(last, Points::side(lines, last - 1));
  }
}

template <typename Points>
void compute(const StencilLines& lines, int64_t begin, int64_t end, double* q) {
  if constexpr (Points::has_corners) {
    compute_full<Points>(lines, begin, end, q);
  } else {
    compute_star<Points>(lines, begin, end, q);
  }
}

template <typename Points>
StencilKernel kernel_of() {
  return {.diagonal = Points::diagonal,
          .loop = &compute<Points>,
          .ends = &compute_ends<Points>,
          .outer = &Points::outer,
          .side = &Points::side};
}

StencilKernel kernel(InstructionSet /*set*/, int point_count) {
  switch (point_count) {
    case 5:
      return kernel_of<FivePoints>();
    case 7:
      return kernel_of<SevenPoints>();
    case 27:
      return kernel_of<TwentySevenPoints>();
    default:
      throw std::invalid_argument("no stencil of " + std::to_string(point_count) + " points");
  }
}

#if defined(__x86_64__)
constexpr int64_t numbers_of_line = 8;

/// Writes whole cache lines past the caches.
void stream_lines(InstructionSet /*set*/, const double* from, double* to, int64_t count) {
#if HWY_TARGET == HWY_STATIC_TARGET
  for (int64_t k = 0; k < count * numbers_of_line; k += 2) _mm_stream_pd(to + k, _mm_loadu_pd(from + k));
#else
  const hn::ScalableTag<double> d;
  for (int64_t k = 0; k < count * numbers_of_line; k += hn::MaxLanes(d))
    hn::Stream(hn::LoadU(d, from + k), d, to + k);
#endif
}

#endif

}  // namespace stencil_lines
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cg2d::kernels {

StencilKernel stencil_kernel(int point_count, std::optional<InstructionSet> set) {
  // The loop alone is the set's. Single points are computed without fused multiply-adds in every set, so that they keep their bits.
  auto kernel = HWY_STATIC_DISPATCH(stencil_lines::kernel)(InstructionSet::portable, point_count);
  const auto chosen = choose_instruction_set(set, sets_without_gathers);
  kernel.loop = CG2D_OF_SET(chosen, stencil_lines::kernel, point_count).loop;
  return kernel;
}

void fetch_ahead(const double* numbers, int64_t count) {
  constexpr int64_t numbers_of_a_line = 8;
  constexpr int for_reading = 0;
  constexpr int second_level = 2;
  for (int64_t k = 0; k < count; k += numbers_of_a_line)
    __builtin_prefetch(numbers + k, for_reading, second_level);
}

double* StreamWriter::room(double* target, int64_t count) {
  if (target != target_ + count_) {
    write_all();
    target_ = target;
  } else if (count_ + count > capacity) {
    write_lines();
  }
  double* const place = buffer_.data() + count_;
  count_ += count;
  return place;
}

void StreamWriter::write_lines() {
#if defined(__x86_64__)
  const auto is_at_line = [&](int64_t k) { return reinterpret_cast<uintptr_t>(target_ + k) % 64 == 0; };
  int64_t done = 0;
  for (; done < count_ && !is_at_line(done); ++done) target_[done] = buffer_[static_cast<size_t>(done)];
  const auto line_count = (count_ - done) / line;
  CG2D_OF_SET(widest_instruction_set(), stencil_lines::stream_lines, buffer_.data() + done, target_ + done,
              line_count);
  done += line_count * line;
  std::copy(buffer_.data() + done, buffer_.data() + count_, buffer_.data());
  target_ += done;
  count_ -= done;
#else
  write_all();
#endif
}

void StreamWriter::write_all() {
#if defined(__x86_64__)
  write_lines();
#endif
  std::copy_n(buffer_.data(), count_, target_);
  target_ += count_;
  count_ = 0;
}

void StreamWriter::finish() {
  write_all();
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace cg2d::kernels
#endif
