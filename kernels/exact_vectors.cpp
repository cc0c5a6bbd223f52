#include "kernels/exact_vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cg2d::kernels {

namespace {

// The largest of value(0), value(1), ..., all of which are at least 0. Eight running maxima beside each other, since clang does
// not vectorize a reduction by maximum unless NaN is ruled out; compared so that an instruction for maxima does it.
template <typename Value>
double largest_of(std::size_t count, Value value) {
  std::array<double, 8> largest{};
  const std::size_t whole = count - count % largest.size();
  for (std::size_t first = 0; first < whole; first += largest.size()) {
#pragma omp simd
    for (std::size_t lane = 0; lane < largest.size(); ++lane) {
      const double candidate = value(first + lane);
      largest[lane] = largest[lane] < candidate ? candidate : largest[lane];
    }
  }
  for (std::size_t k = whole; k < count; ++k) largest[0] = std::max(largest[0], value(k));
  return std::ranges::max(largest);
}

}  // namespace

double largest_magnitude(std::span<const double> x) {
  return largest_of(x.size(), [x](std::size_t k) { return std::abs(x.data()[k]); });
}

double largest_product(std::span<const double> x, std::span<const double> y) {
  return largest_of(x.size(), [x, y](std::size_t k) { return std::abs(x.data()[k] * y.data()[k]); });
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
