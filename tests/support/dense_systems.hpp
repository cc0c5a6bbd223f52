#pragma once

// Small symmetric matrices, given whole: lines, and matrices of a given spectrum.

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "support/dense_operator.hpp"

namespace cg2d::test {

/// The second difference on a line, with a diagonal that grows by the factor `growth` from row to row.
inline DenseRows line_rows(size_t size, double growth) {
  DenseRows rows(size, std::vector<double>(size));
  for (size_t k = 0; k < size; ++k) {
    rows[k][k] = 2.0 * std::pow(growth, static_cast<double>(k));
    if (k > 0) rows[k][k - 1] = -1.0;
    if (k + 1 < size) rows[k][k + 1] = -1.0;
  }
  return rows;
}

inline DenseRows negated(DenseRows rows) {
  for (auto& row : rows) {
    for (auto& entry : row) entry = -entry;
  }
  return rows;
}

/// Each entry for every one of `count` vectors, whose elements of one row are neighbours.
inline DenseRows repeated(const DenseRows& rows, size_t count) {
  DenseRows wide(rows.size() * count, std::vector<double>(rows.size() * count));
  for (size_t row = 0; row < wide.size(); ++row) {
    for (size_t column = 0; column < rows.size(); ++column)
      wide[row][column * count + row % count] = rows[row / count][column];
  }
  return wide;
}

/// H D H with the eigenvalues D and H = 1 - 2 v v^T / v . v for a random v: symmetric to the bit.
inline DenseRows rows_with_spectrum(std::span<const double> eigenvalues, unsigned seed) {
  const size_t size = eigenvalues.size();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v(size);
  double square = 0.0;
  for (auto& element : v) {
    element = normal(random);
    square += element * element;
  }
  double v_d_v = 0.0;
  for (size_t k = 0; k < size; ++k) v_d_v += v[k] * eigenvalues[k] * v[k];
  // H D H = D - 2 (v w^T + w v^T) / v . v + 4 (v . w) v v^T / (v . v)^2, w = D v
  DenseRows rows(size, std::vector<double>(size));
  for (size_t row = 0; row < size; ++row) {
    for (size_t column = 0; column <= row; ++column) {
      const double vv = v[row] * v[column];
      double entry =
          4.0 * v_d_v * vv / (square * square) - 2.0 * vv * (eigenvalues[row] + eigenvalues[column]) / square;
      if (row == column) entry += eigenvalues[row];
      rows[row][column] = entry;
      rows[column][row] = entry;
    }
  }
  return rows;
}

/// 1, 2, 3, ...
inline std::vector<double> one_two_three(size_t size) {
  std::vector<double> vector(size);
  for (size_t k = 0; k < size; ++k) vector[k] = static_cast<double>(k + 1);
  return vector;
}

}  // namespace cg2d::test
