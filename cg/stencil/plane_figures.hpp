#pragma once

#include <cstdint>

namespace cg2d {

/// One plane of a result.
struct PlaneFigures {
  double sum = 0.0;             ///< of all points, line by line
  double largest_error = 0;     ///< heat: largest difference from the closed form; NaN if a point is NaN
  double squared_residual = 0;  ///< s-step CG: of this plane's equations
  std::uint32_t checksum{};     ///< CRC-32C of the points, without the zeros around the lines
};

}  // namespace cg2d
