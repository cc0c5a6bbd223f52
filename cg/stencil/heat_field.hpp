#pragma once

// The start values of the heat equation, and what they become: a sum of eigenvectors of the step, so that the value of every point
// after any number of steps has a closed form. No MPI.

#include <cstdint>
#include <vector>

#include "cg/stencil/plane_layout.hpp"
#include "comm/domain_layout.hpp"
#include "kernels/heat_lines.hpp"

namespace cg2d {

/// u_new = u + c (sum of the 6 neighbours - 6 u), zero outside of the domain, c = 1/8: stable, as c <= 1/6, and exact in binary.
inline constexpr double heat_side_weight = 0.125;
inline constexpr kernels::HeatWeights heat_weights{.centre = 1.0 - 6.0 * heat_side_weight,
                                                   .side = heat_side_weight};

/// Three eigenvectors: the smoothest one, one with several waves in each direction, and the roughest one, whose sign changes from point
/// to point.
class HeatField {
 public:
  explicit HeatField(const comm::Extents& shape);

  /// Writes the start values of plane z. Zeros around the lines are left as they are.
  void fill_start(std::int64_t z, double* plane) const;
  /// Compares plane z after so many steps with the closed form.
  [[nodiscard]] PlaneFigures compare(std::int64_t z, int step_count, const double* plane) const;
  /// The largest difference from the closed form that rounding explains: each step rounds about eight operations, none of which makes an
  /// earlier error larger, as the weights are positive and add up to 1; the powers of the closed form lose as much.
  [[nodiscard]] double tolerance(int step_count) const;

 private:
  struct Mode {
    double amplitude = 0.0;
    double decay = 0.0;  ///< factor per step
    std::vector<double> along_x{};
    std::vector<double> along_y{};
    std::int64_t wave_z = 1;
  };
  void fill_line(std::int64_t y, const std::vector<double>& weights, double* line) const;
  /// The factor of each mode in a plane.
  [[nodiscard]] std::vector<double> plane_weights(std::int64_t z, int step_count) const;

  PlaneLayout layout_;
  std::int64_t plane_count_;
  std::vector<Mode> modes_;
};

}  // namespace cg2d
