#include "cg/base/sample.hpp"

#include <algorithm>
#include <utility>

namespace cg2d {
namespace {

/// Solves w00 a + w01 b = r0, w01 a + w11 b = r1 with weights 1 / y^2; empty if all points have the same x.
std::pair<double, double> weighted_solution(const std::vector<LinePoint>& points) {
  double ones = 0.0;
  double x_sum = 0.0;
  double xx_sum = 0.0;
  double y_sum = 0.0;
  double xy_sum = 0.0;
  for (const auto& point : points) {
    const double weight = 1.0 / (point.y * point.y);
    ones += weight;
    x_sum += weight * point.x;
    xx_sum += weight * point.x * point.x;
    y_sum += weight * point.y;
    xy_sum += weight * point.x * point.y;
  }
  const double determinant = ones * xx_sum - x_sum * x_sum;
  constexpr double all_at_one_x = 1e-12;
  if (determinant <= all_at_one_x * ones * xx_sum) return {0.0, xy_sum / xx_sum};
  return {(y_sum * xx_sum - xy_sum * x_sum) / determinant, (ones * xy_sum - x_sum * y_sum) / determinant};
}

/// Value below which quarters / 4 of the sorted values lie. values: at least one.
double quartile(const std::vector<double>& sorted, std::size_t quarters) {
  const auto place = quarters * (sorted.size() - 1);
  const auto below = place / 4;
  const double fraction = static_cast<double>(place % 4) / 4.0;
  if (place % 4 == 0) return sorted[below];
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

}  // namespace

Sample sample_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
  return {.median = median,
          .lower_quartile = quartile(values, 1),
          .upper_quartile = quartile(values, 3),
          .minimum = values.front(),
          .maximum = values.back(),
          .count = values.size()};
}

Line fit_line(const std::vector<LinePoint>& all_points) {
  auto points = all_points;
  std::erase_if(points, [](const auto& point) { return !(point.y > 0.0) || !(point.x > 0.0); });
  if (points.empty()) return {};
  const auto [intercept, slope] = weighted_solution(points);
  if (intercept >= 0.0 && slope >= 0.0) return {.intercept = intercept, .slope = slope};
  // The nearest line that is allowed goes through the origin, or is level.
  double squares = 0.0;
  double linear = 0.0;
  for (const auto& point : points) {
    const double share = slope < 0.0 ? 1.0 / point.y : point.x / point.y;
    squares += share * share;
    linear += share;
  }
  return slope < 0.0 ? Line{.intercept = linear / squares, .slope = 0.0}
                     : Line{.intercept = 0.0, .slope = linear / squares};
}

}  // namespace cg2d
