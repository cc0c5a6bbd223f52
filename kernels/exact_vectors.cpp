#include "kernels/exact_vectors.hpp"

#include <algorithm>
#include <cmath>

namespace cg2d::kernels {

double largest_magnitude(std::span<const double> x) {
  double largest = 0.0;
#pragma omp simd reduction(max : largest)
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x.data()[k]));
  return largest;
}

double largest_product(std::span<const double> x, std::span<const double> y) {
  double largest = 0.0;
#pragma omp simd reduction(max : largest)
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x.data()[k] * y.data()[k]));
  return largest;
}

ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound, double most_terms) {
  const SplitConstants constants(bound, most_terms);
  double high = 0.0;
  double low = 0.0;
#pragma omp simd reduction(+ : high, low)
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double term = x.data()[k] * y.data()[k];
    const double first = (constants.high + term) - constants.high;
    const double second = (constants.low + (term - first)) - constants.low;
    high += first;
    low += second;
  }
  return {.high = high, .low = low};
}

void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y) {
#pragma omp simd
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double product = a * x.data()[k];
    y.data()[k] += product;
  }
}

}  // namespace cg2d::kernels
