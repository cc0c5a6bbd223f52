#pragma once

// Measured times: a stopwatch, several measurements of the same thing, and a line through them: a start-up,
// and what comes on top of it for each byte or element.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace cg2d {

/// Runs from its construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Median, and how far the values lie apart. Quartiles lie between the two nearest values in proportion
/// (Hyndman and Fan's type 7, the default of NumPy), as the median of an even number does.
struct Sample {
  double median = 0.0;  ///< of an even number: the mean of the middle two
  double lower_quartile = 0.0;
  double upper_quartile = 0.0;
  double minimum = 0.0;
  double maximum = 0.0;
  std::size_t count = 0;
  /// (maximum - minimum) / median: "spread" in every table and file of the program. A single value has none.
  [[nodiscard]] std::optional<double> spread() const {
    if (count < 2) return std::nullopt;
    return (maximum - minimum) / median;
  }
};

/// values: at least one.
Sample sample_of(std::vector<double> values);

/// The run with the median of the times that time_of() gives; of an even number the lower of the middle two,
/// of equals the first. runs: at least one.
template <typename Run, typename TimeOf>
const Run& median_run_of(const std::vector<Run>& runs, const TimeOf& time_of) {
  std::vector<const Run*> order;
  order.reserve(runs.size());
  for (const auto& run : runs) order.push_back(&run);
  std::ranges::stable_sort(order, {}, [&](const Run* run) { return std::invoke(time_of, *run); });
  return *order[(order.size() - 1) / 2];
}

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
