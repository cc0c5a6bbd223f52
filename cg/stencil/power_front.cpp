#include "cg/stencil/power_front.hpp"

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

/// A product of rᵀr that is smaller than that in comparison with the first one has lost its digits in the products of the basis.
constexpr double digits_used_up = 1e-13;

/// <T_0 ., T_k .> for k = 0 ... 2s, from the sums of T_j with T_j and with T_j-1.
std::vector<double> moments_of(std::span<const kernels::PowerSums> sums, double kernels::PowerSums::*same,
                               double kernels::PowerSums::*before) {
  std::vector<double> moments{sums.front().*same};
  for (size_t j = 1; j < sums.size(); ++j) {
    const double odd = sums[j].*before;
    moments.push_back(j == 1 ? odd : 2.0 * odd - moments[1]);
    moments.push_back(2.0 * (sums[j].*same) - moments[0]);
  }
  return moments;
}

/// A vector in the basis T_0 p ... T_s p, T_0 r ... T_s r.
struct BasisVector {
  std::vector<double> p;
  std::vector<double> r;
};

/// this = this * own + other * factor.
void combine(BasisVector& target, double own, const BasisVector& other, double factor) {
  for (size_t j = 0; j < target.p.size(); ++j) {
    target.p[j] = own * target.p[j] + factor * other.p[j];
    target.r[j] = own * target.r[j] + factor * other.r[j];
  }
}

/// A T_0 = 6 T_0 + 6 T_1; A T_j = 6 T_j + 3 (T_j+1 + T_j-1). The last coordinate must be 0: its product is not in the basis.
std::vector<double> times_operator(const std::vector<double>& x) {
  std::vector<double> product(x.size());
  for (size_t j = 0; j < x.size(); ++j) {
    product[j] += 6.0 * x[j];
    if (j + 1 < x.size()) product[j + 1] += (j == 0 ? 6.0 : 3.0) * x[j];
    if (j > 0) product[j - 1] += 3.0 * x[j];
  }
  return product;
}

}  // namespace

PowerFront::PowerFront(const PlaneLayout& domain, const PlaneLayout& given, const FrontSize& size)
    : point_count_(domain.line_length),
      given_(given),
      layout_(pair_layout(domain)),
      planes_kept_(size.planes_at_once + more_planes),
      planes_(written_zeros((size.most_steps + 1) * planes_kept_ * layout_.size())),
      zeros_(static_cast<size_t>(layout_.stride())) {}

int64_t PowerFront::byte_count(const PlaneLayout& domain, const FrontSize& size) {
  return int64_t{size.most_steps + 1} * (size.planes_at_once + more_planes) *
         pair_layout(domain).byte_count();
}

double* PowerFront::line(int step, int64_t z, int64_t y) {
  const auto place = (z % planes_kept_ + planes_kept_) % planes_kept_;
  return planes_.data() + (step * planes_kept_ + place) * layout_.size() + layout_.line(y);
}

const double* PowerFront::line_or_zeros(int step, int64_t z, int64_t y) {
  const bool is_inside = step >= 0 && 0 <= z && z < pass_.domain_planes && 0 <= y && y < layout_.line_count;
  return is_inside ? line(step, z, y) : zeros_.data();
}

kernels::LinePair PowerFront::pair_of(const double* line) const {
  return {.p = line, .r = line + point_count_ + 1};
}

void PowerFront::advance(int64_t first, std::span<const double* const> given, const Visit& visit) {
  const auto n = std::ssize(given);
  for (int64_t front = 0; front < layout_.line_count + pass_.step_count; ++front) {
    for (int64_t k = 0; k < n && front < layout_.line_count; ++k) {
      const double* const plane = given[static_cast<size_t>(k)];
      if (plane == nullptr) continue;
      double* const target = line(0, first + k, front);
      std::copy_n(plane + given_.line(front), layout_.line_length, target);
      visit(
          {.step = 0, .z = first + k, .y = front, .now = pair_of(target), .before = pair_of(zeros_.data())});
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

void PowerFront::make_line(int step, int64_t z, int64_t y, const Visit& visit) {
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

CoordinateSteps step_in_coordinates(std::span<const kernels::PowerSums> sums, int step_count,
                                    double wanted_square_sum) {
  using Sums = kernels::PowerSums;
  const auto pp = moments_of(sums, &Sums::pp, &Sums::pp_before);
  const auto rr = moments_of(sums, &Sums::rr, &Sums::rr_before);
  const auto pr = moments_of(sums, &Sums::pr, &Sums::pr_before);
  const auto dot = [&](const BasisVector& one, const BasisVector& other) {
    double sum = 0.0;
    for (size_t i = 0; i < sums.size(); ++i) {
      for (size_t j = 0; j < sums.size(); ++j) {
        const auto product = [&](const std::vector<double>& moments) {
          return 0.5 * (moments[i + j] + moments[i > j ? i - j : j - i]);
        };
        sum += one.p[i] * other.p[j] * product(pp) + one.r[i] * other.r[j] * product(rr) +
               (one.p[i] * other.r[j] + one.r[i] * other.p[j]) * product(pr);
      }
    }
    return sum;
  };
  const std::vector<double> zeros(sums.size());
  BasisVector p{zeros, zeros};
  auto r = p;
  auto x = p;
  p.p[0] = 1.0;
  r.r[0] = 1.0;
  CoordinateSteps result;
  const double first_rho = sums.front().rr;
  double rho = first_rho;
  while (result.step_count < step_count && rho > wanted_square_sum) {
    const BasisVector product{times_operator(p.p), times_operator(p.r)};
    const double curvature = dot(p, product);
    if (!(curvature > 0.0)) break;
    const double alpha = rho / curvature;
    combine(x, 1.0, p, alpha);
    combine(r, 1.0, product, -alpha);
    const double new_rho = dot(r, r);
    const bool is_exact = new_rho > digits_used_up * first_rho;
    result.square_sums.push_back(is_exact ? new_rho : 0.0);
    ++result.step_count;
    combine(p, is_exact ? new_rho / rho : 0.0, r, 1.0);
    if (!is_exact) break;
    rho = new_rho;
  }
  for (size_t j = 0; j < zeros.size(); ++j)
    result.weights.push_back({.p = {p.p[j], p.r[j]}, .r = {r.p[j], r.r[j]}, .x = {x.p[j], x.r[j]}});
  return result;
}

}  // namespace cg2d
