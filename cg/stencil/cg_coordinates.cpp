#include "cg/stencil/cg_coordinates.hpp"

namespace cg2d {
namespace {

/// A product of rᵀr that is smaller than that in comparison with the first one has lost its digits in the products of the basis.
constexpr double digits_used_up = 1e-13;

/// <T_0 ., T_k .> for k = 0 ... 2s, from the sums of T_j with T_j and with T_j-1.
std::vector<double> moments_of(std::span<const kernels::PowerSums> sums, double kernels::PowerSums::*same,
                               double kernels::PowerSums::*before) {
  std::vector<double> moments{sums.front().*same};
  for (std::size_t j = 1; j < sums.size(); ++j) {
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
  for (std::size_t j = 0; j < target.p.size(); ++j) {
    target.p[j] = own * target.p[j] + factor * other.p[j];
    target.r[j] = own * target.r[j] + factor * other.r[j];
  }
}

/// A T_0 = 6 T_0 + 6 T_1; A T_j = 6 T_j + 3 (T_j+1 + T_j-1). The last coordinate must be 0: its product is not in the basis.
std::vector<double> times_operator(const std::vector<double>& x) {
  std::vector<double> product(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    product[j] += 6.0 * x[j];
    if (j + 1 < x.size()) product[j + 1] += (j == 0 ? 6.0 : 3.0) * x[j];
    if (j > 0) product[j - 1] += 3.0 * x[j];
  }
  return product;
}

/// <T_0 ., T_k .> of p with p, r with r, and p with r.
struct Moments {
  std::vector<double> pp;
  std::vector<double> rr;
  std::vector<double> pr;
};

double dot(const Moments& all, const BasisVector& x, const BasisVector& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.p.size(); ++i) {
    for (std::size_t j = 0; j < x.p.size(); ++j) {
      const auto product = [&](const std::vector<double>& moments) {
        return 0.5 * (moments[i + j] + moments[i > j ? i - j : j - i]);
      };
      sum += x.p[i] * y.p[j] * product(all.pp) + x.r[i] * y.r[j] * product(all.rr) +
             (x.p[i] * y.r[j] + x.r[i] * y.p[j]) * product(all.pr);
    }
  }
  return sum;
}

}  // namespace

CoordinateSteps step_in_coordinates(std::span<const kernels::PowerSums> sums, int step_count,
                                    double wanted_square_sum) {
  using Sums = kernels::PowerSums;
  const Moments moments{moments_of(sums, &Sums::pp, &Sums::pp_before),
                        moments_of(sums, &Sums::rr, &Sums::rr_before),
                        moments_of(sums, &Sums::pr, &Sums::pr_before)};
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
    const double curvature = dot(moments, p, product);
    if (!(curvature > 0.0)) break;
    const double alpha = rho / curvature;
    combine(x, 1.0, p, alpha);
    combine(r, 1.0, product, -alpha);
    const double new_rho = dot(moments, r, r);
    const bool is_exact = new_rho > digits_used_up * first_rho;
    result.square_sums.push_back(is_exact ? new_rho : 0.0);
    ++result.step_count;
    combine(p, is_exact ? new_rho / rho : 0.0, r, 1.0);
    if (!is_exact) break;
    rho = new_rho;
  }
  for (std::size_t j = 0; j < zeros.size(); ++j)
    result.weights.push_back({.p = {p.p[j], p.r[j]}, .r = {r.p[j], r.r[j]}, .x = {x.p[j], x.r[j]}});
  return result;
}

}  // namespace cg2d
