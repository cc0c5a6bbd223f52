#pragma once

// A small system that can be checked by hand: a line of points, 2 + shift on the diagonal and -1 beside it.

#include <cstdint>
#include <vector>

#include "cg/library/matrix.hpp"

namespace cg2d::test {

inline constexpr double line_shift = 0.25;

/// The entries of some rows.
inline std::vector<MatrixTriple> line_triples(int64_t order, int64_t begin, int64_t end) {
  std::vector<MatrixTriple> triples;
  for (int64_t row = begin; row < end; ++row) {
    if (row > 0) triples.push_back({row, row - 1, -1.0});
    triples.push_back({row, row, 2.0 + line_shift});
    if (row + 1 < order) triples.push_back({row, row + 1, -1.0});
  }
  return triples;
}

/// Element `row` of A x for the x whose element k is k + 1.
inline double line_times_ramp(int64_t order, int64_t row) {
  const auto element = [order](int64_t k) { return k < 0 || k >= order ? 0.0 : static_cast<double>(k + 1); };
  return (2.0 + line_shift) * element(row) - element(row - 1) - element(row + 1);
}

}  // namespace cg2d::test
