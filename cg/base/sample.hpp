#pragma once

// Measured times: a stopwatch, several measurements of the same thing, and a line through them: a start-up,
// and what comes on top of it for each byte or element.
//
// Medians and quartiles of the whole program, its files and its page:
//   of times           the inverse of the empirical distribution (R. J. Hyndman, Y. Fan, The American Statistician 50,
//                      1996, definition 1; numpy's "inverted_cdf", Python's statistics.median_low): the least value that at
//                      least this share of all values does not exceed. The median of an even number is the lower of the
//                      middle two. So each of them was measured: phases, counts and outer steps of "the run with the
//                      median time" belong to the time that is printed.
//   of all else:       ratios, differences, errors, speeds. No run is shown beside them, and the lower of the middle two would favour
//                      one of the two that are compared: the middle between the middle two, of ratios by their logarithms. middle_of().

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
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Median, and how far the values lie apart; each of the five is one of the values.
struct Sample {
  double median = 0.0;
  double minimum = 0.0;
  double maximum = 0.0;
  double lower_quartile = 0.0;
  double upper_quartile = 0.0;
  size_t count = 0;
  /// (maximum - minimum) / median: "spread" in every table and file of the program. A single value has none.
  std::optional<double> spread() const {
    if (count < 2) return std::nullopt;
    return (maximum - minimum) / median;
  }
};

class Members;
void describe(Members& m, Sample& times);

/// values: at least one.
Sample sample_of(std::vector<double> values);

/// (upper quartile - lower quartile) / median: a single spike counts for little. 0 of fewer than four values.
double spread_of_repeats(std::vector<double> seconds);

/// The value in the middle; of an even number the mean of the middle two. For differences, errors, speeds, slopes and logarithms
/// of ratios. values: at least one.
double middle_of(std::vector<double> values);

/// The run with the median of the times that time_of() gives, as sample_of() has it; of equals the first. runs: at least
/// one.
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
