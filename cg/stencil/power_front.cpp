#include "cg/stencil/power_front.hpp"

#include <algorithm>

namespace cg2d {
namespace {

constexpr double weight_of_first = 1.0 / 6.0;   // weight of T_1
constexpr double weight_of_others = 1.0 / 3.0;  // weight of T_2, T_3, ...

/// Lines of p, a zero, and r.
PlaneLayout pair_layout(const PlaneLayout& domain) {
  return PlaneLayout({2 * domain.line_length + 1, domain.line_count, 1});
}

/// A step reads planes z-1, z and z+1 of the step before, for n planes.
constexpr int more_planes = 2;

}  // namespace

PowerFront::PowerFront(const PlaneLayout& domain, const PlaneLayout& given, const FrontSize& size)
    : point_count_(domain.line_length),
      given_(given),
      layout_(pair_layout(domain)),
      planes_kept_(size.planes_at_once + more_planes),
      planes_(static_cast<std::size_t>((size.most_steps + 1) * planes_kept_ * layout_.size())),
      zeros_(static_cast<std::size_t>(layout_.stride())) {
  std::ranges::fill(planes_.span(), 0.0);  // the system's part of it belongs to no pass
}

std::int64_t PowerFront::byte_count(const PlaneLayout& domain, const FrontSize& size) {
  return std::int64_t{size.most_steps + 1} * (size.planes_at_once + more_planes) *
         pair_layout(domain).byte_count();
}

double* PowerFront::line(int step, std::int64_t z, std::int64_t y) {
  const auto place = (z % planes_kept_ + planes_kept_) % planes_kept_;
  return planes_.data() + (step * planes_kept_ + place) * layout_.size() + layout_.line(y);
}

const double* PowerFront::line_or_zeros(int step, std::int64_t z, std::int64_t y) {
  const bool is_inside = step >= 0 && 0 <= z && z < pass_.domain_planes && 0 <= y && y < layout_.line_count;
  return is_inside ? line(step, z, y) : zeros_.data();
}

kernels::LinePair PowerFront::pair_of(const double* line) const {
  return {.p = line, .r = line + point_count_ + 1};
}

void PowerFront::advance(std::int64_t first, std::span<const double* const> given, const Visit& visit) {
  const auto n = std::ssize(given);
  for (std::int64_t front = 0; front < layout_.line_count + pass_.step_count; ++front) {
    for (std::int64_t k = 0; k < n && front < layout_.line_count; ++k) {
      if (const double* const plane = given[static_cast<std::size_t>(k)]; plane != nullptr)
        take_line(first + k, front, plane, visit);
    }
    for (int step = 1; step <= pass_.step_count && step <= front; ++step) {
      const auto y = front - step;
      if (y >= layout_.line_count) continue;
      const auto planes = pass_.planes(step);
      const auto begin = std::max(planes.begin, first - step);
      const auto end = std::min(planes.end, first - step + n);
      for (auto z = begin; z < end; ++z) make_line(step, z, y, visit);
    }
  }
}

void PowerFront::take_line(std::int64_t z, std::int64_t y, const double* plane, const Visit& visit) {
  double* const target = line(0, z, y);
  std::copy_n(plane + given_.line(y), layout_.line_length, target);
  visit({.step = 0, .z = z, .y = y, .now = pair_of(target), .before = pair_of(zeros_.data())});
}

void PowerFront::make_line(int step, std::int64_t z, std::int64_t y, const Visit& visit) {
  double* const target = line(step, z, y);
  const double* const before = line(step - 1, z, y);
  loops_.step({.previous = line_or_zeros(step - 1, z, y - 1),
               .lower = line_or_zeros(step - 1, z - 1, y),
               .middle = before,
               .upper = line_or_zeros(step - 1, z + 1, y),
               .next = line_or_zeros(step - 1, z, y + 1),
               .before = line_or_zeros(step - 2, z, y)},
              step == 1 ? weight_of_first : weight_of_others, layout_.line_length, target);
  target[point_count_] = 0.0;  // between p and r
  visit({.step = step, .z = z, .y = y, .now = pair_of(target), .before = pair_of(before)});
}

}  // namespace cg2d
