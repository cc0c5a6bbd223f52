#include "cg/base/sample.hpp"

#include <utility>

#include "cg/base/describe.hpp"

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

/// The least value that at least so many quarters of the sorted values do not exceed.
double value_at_quarter(const std::vector<double>& sorted, size_t quarters) {
  return sorted[(quarters * sorted.size() + 3) / 4 - 1];
}

}  // namespace

Sample sample_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {.median = value_at_quarter(values, 2),
          .minimum = values.front(),
          .maximum = values.back(),
          .lower_quartile = value_at_quarter(values, 1),
          .upper_quartile = value_at_quarter(values, 3),
          .count = values.size()};
}

double spread_of_repeats(std::vector<double> seconds) {
  constexpr size_t fewest = 4;
  if (seconds.size() < fewest) return 0.0;
  const auto sample = sample_of(std::move(seconds));
  return (sample.upper_quartile - sample.lower_quartile) / sample.median;
}

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
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

void describe(Members& m, Sample& times) {
  m("count", times.count, at_least(1));
  m("median_s", times.median, positive());
  m("minimum_s", times.minimum, positive());
  m("maximum_s", times.maximum, positive());
  m.derived("spread", times.spread(), or_null("(maximum - minimum) / median."));
}

}  // namespace cg2d
