#pragma once

// Laplacians on a box of points: the second differences of every dimension, or HPCG's stencil of 27 points, with
// zeros outside of the box (Dirichlet). Symmetric and positive definite.

#include <string_view>

#include "comm/domain_layout.hpp"

namespace cg2d {

/// Point (x, y, z) is row x + NX * (y + NY * z). An entry is -1 for each neighbour and point_count - 1 on the
/// diagonal, whether the point has all neighbours or not.
struct Stencil {
  comm::Extents extents{1, 1, 1};  ///< NZ is 1 in two dimensions
  int point_count = 5;             ///< 5 (two dimensions), 7 or 27 (three): the most nonzeros of a row

  int64_t order() const { return comm::whole_domain(extents).size(); }
  double diagonal() const { return point_count - 1.0; }
  /// Whether points are neighbours across edges and corners, too.
  bool has_corners() const { return point_count == 27; }
  /// As stencil_from() takes it: "laplace2d:40x30", "laplace3d:40x30x20:27".
  std::string name() const;
  friend bool operator==(const Stencil&, const Stencil&) = default;
};

/// "laplace2d:NXxNY", "laplace3d:NXxNYxNZ" (7 points) or "laplace3d:NXxNYxNZ:27"; the usual number of points may
/// be given, too. Throws InputError: the text, what it must be, and what it is.
Stencil stencil_from(std::string_view text);

/// Nonzeros of the whole matrix, counted by row lengths: entry l is the number of rows with l nonzeros.
std::vector<int64_t> rows_by_length(const Stencil& stencil);

}  // namespace cg2d
