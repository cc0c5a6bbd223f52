#pragma once

// A line through measured times: a start-up time, and a time per byte (or element).

#include <vector>

namespace cg2d {

/// y = intercept + slope * x, both at least 0, by least squares of the relative differences.
struct Line {
  double intercept = 0.0;
  double slope = 0.0;
};
struct LinePoint {
  double x = 0.0;
  double y = 0.0;
};
Line fit_line(const std::vector<LinePoint>& points);

}  // namespace cg2d
