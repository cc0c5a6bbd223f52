#pragma once

// Chebyshev polynomials of the 7-point Laplacian applied to two vectors, in one pass over the planes of a slab; and steps of CG in their
// coordinates. No MPI.

#include <functional>

#include "cg/stencil/plane_store.hpp"
#include "kernels/unfused_lines.hpp"

namespace cg2d {

/// The Laplacian A has 6 on its diagonal and -1 for each neighbour; its eigenvalues are between 0 and 12. T_j are the Chebyshev polynomials of
/// the first kind, moved to this interval: T_0 = 1, T_1 = (A - 6) / 6, T_j+1 = (A - 6) / 3 T_j - T_j-1. None makes a vector longer, and
/// together they stay far from being dependent, so that a basis of many of them serves.
///
/// A pass moves along z by n planes at a time, a wavefront step, with the T_j of planes t-j ... t-j+n-1 when planes t ... t+n-1 are given. In a wavefront step
/// all T_j move along y, each one line behind the one before, so that the lines that it reads are in caches.
class PowerFront {
 public:
  /// A line of T_step p and T_step r, with that of the polynomial before (zeros for step 0).
  struct Line {
    int step = 0;
    int64_t z = 0;
    int64_t y = 0;
    kernels::LinePair now{};
    kernels::LinePair before{};
  };
  using Visit = std::function<void(const Line& line)>;

  /// domain: points along x of p, and lines of a plane. given: the layout of the planes that passes get, whose lines begin with p, a zero, and
  /// r. Throws std::bad_alloc.
  PowerFront(const PlaneLayout& domain, const PlaneLayout& given, const FrontSize& size);
  /// Memory of such an object.
  static int64_t byte_count(const PlaneLayout& domain, const FrontSize& size);

  /// Before the first wavefront step of a pass.
  void begin(const SlabPass& pass) { pass_ = pass; }
  const SlabPass& pass() const { return pass_; }
  /// given[k]: plane first + k, nullptr where planes(0) of the pass does not have it. Visits the lines of all steps, 0 among them, that the
  /// pass computes; those of a plane and step in the order of y, and those of a place (z, y) in the order of steps. Lines are valid during
  /// the visit.
  void advance(int64_t first, std::span<const double* const> given, const Visit& visit);

 private:
  [[nodiscard]] double* line(int step, int64_t z, int64_t y);
  [[nodiscard]] const double* line_or_zeros(int step, int64_t z, int64_t y);
  kernels::LinePair pair_of(const double* line) const;
  void make_line(int step, int64_t z, int64_t y, const Visit& visit);

  int64_t point_count_;  // points of a line of p
  PlaneLayout given_;
  PlaneLayout layout_;  // lines of p, a zero, and r
  kernels::PowerLoops loops_ = kernels::power_loops();
  int64_t planes_kept_;  // planes kept of each step
  SlabPass pass_;
  kernels::PageBuffer<double> planes_;
  std::vector<double> zeros_;
};

// Several steps of CG in the coordinates of a basis: no vector is touched. Source: Carson, Communication-avoiding Krylov subspace methods in
// theory and practice, 2015, algorithm 13; that a Gram matrix of Chebyshev polynomials comes from moments is our own use of
// T_i T_j = (T_i+j + T_|i-j|) / 2.

/// The end of the steps.
struct CoordinateSteps {
  /// Fewer than asked for: r is short enough, or its digits are used up; 0: the direction p leads nowhere.
  int step_count = 0;
  /// (rᵀr) after each step.
  std::vector<double> square_sums{};
  /// New p, r and x, in polynomials of the old p and r: element j for T_j, 0 ... s.
  std::vector<kernels::PowerWeights> weights{};
};

/// sums[j], j = 0 ... s: those of T_j p and T_j r (PowerFront), over all points. They give <T_i p, T_j p> and so on for all i and j, since A is
/// symmetric and T_i T_j = (T_i+j + T_|i-j|) / 2: 6 s + 3 sums, where products of all pairs would be (2s+1)(s+1). step_count: s at most.
/// wanted_square_sum: r . r at which the steps end. Cost: s (2s+1)².
CoordinateSteps step_in_coordinates(std::span<const kernels::PowerSums> sums, int step_count,
                                    double wanted_square_sum = 0.0);

}  // namespace cg2d
