#pragma once

// The 7-point Laplacian and CG on a whole domain, plainly: what s-step CG is held against.

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "comm/domain_layout.hpp"

namespace cg2d::test {

using Vector = std::vector<double>;

inline double dot(const Vector& x, const Vector& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// Adds factor * y to x.
inline void add(Vector& x, double factor, const Vector& y) {
  for (size_t k = 0; k < x.size(); ++k) x[k] += factor * y[k];
}

/// A x, points along x first.
inline Vector laplacian(const comm::Extents& shape, const Vector& values) {
  const auto index = [&](int64_t x, int64_t y, int64_t z) {
    return static_cast<size_t>((z * shape[1] + y) * shape[0] + x);
  };
  const auto at = [&](int64_t x, int64_t y, int64_t z) {
    const bool is_inside = 0 <= x && x < shape[0] && 0 <= y && y < shape[1] && 0 <= z && z < shape[2];
    return is_inside ? values[index(x, y, z)] : 0.0;
  };
  Vector product(values.size());
  for (int64_t z = 0; z < shape[2]; ++z) {
    for (int64_t y = 0; y < shape[1]; ++y) {
      for (int64_t x = 0; x < shape[0]; ++x)
        product[index(x, y, z)] = 6.0 * at(x, y, z) - at(x - 1, y, z) - at(x + 1, y, z) - at(x, y - 1, z) -
                                  at(x, y + 1, z) - at(x, y, z - 1) - at(x, y, z + 1);
    }
  }
  return product;
}

/// T_0 ... T_last of the Laplacian, moved to its interval 0 ... 12, applied to a vector.
inline std::vector<Vector> chebyshev_basis(const comm::Extents& shape, const Vector& vector, int last) {
  std::vector<Vector> basis{vector};
  for (int j = 1; j <= last; ++j) {
    auto next = laplacian(shape, basis.back());
    add(next, -6.0, basis.back());
    for (auto& value : next) value *= j == 1 ? 1.0 / 6.0 : 1.0 / 3.0;
    if (j > 1) add(next, -1.0, basis[static_cast<size_t>(j - 2)]);
    basis.push_back(std::move(next));
  }
  return basis;
}

/// Textbook CG for A x = 1, beginning with x = 0.
struct PlainCg {
  comm::Extents shape;
  Vector x;
  Vector r;
  Vector p;

  explicit PlainCg(const comm::Extents& domain)
      : shape(domain), x(static_cast<size_t>(comm::whole_domain(domain).size())), r(x.size(), 1.0), p(r) {}
  void step() {
    const auto product = laplacian(shape, p);
    const double rho = dot(r, r);
    const double alpha = rho / dot(p, product);
    add(x, alpha, p);
    add(r, -alpha, product);
    const double beta = dot(r, r) / rho;
    for (size_t k = 0; k < p.size(); ++k) p[k] = r[k] + beta * p[k];
  }
  /// || r ||, relative to b.
  double residual() const { return std::sqrt(dot(r, r) / static_cast<double>(r.size())); }
};

}  // namespace cg2d::test
