#pragma once

// Vector operations with the same bits for every element wherever it stands in a vector, and dot products that do not depend on
// the order of their terms.

#include <cstddef>
#include <span>

#include "kernels/exact_sums.hpp"

namespace cg2d::kernels {

/// The largest magnitude, 0 for no elements; NaN is passed over.
[[nodiscard]] double largest_magnitude(std::span<const double> x);
/// The largest magnitude of the products x1 y1, ..., xn yn.
[[nodiscard]] double largest_product(std::span<const double> x, std::span<const double> y);
/// This part of x . y. bound, most_terms: those of exact_sums.hpp for the whole vectors.
[[nodiscard]] ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound,
                                 double most_terms);
/// y := y + a x, each product rounded before the addition.
void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y);

}  // namespace cg2d::kernels
