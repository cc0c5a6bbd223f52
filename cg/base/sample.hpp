#pragma once

// Several measurements of the same thing.

#include <cstddef>
#include <vector>

namespace cg2d {

/// Median, and how far the values lie apart.
struct Sample {
  double median = 0.0;  ///< of an even number: the mean of the middle two
  double minimum = 0.0;
  double maximum = 0.0;
  std::size_t count = 0;
  /// (maximum - minimum) / median: "spread" in every table and file of the program.
  [[nodiscard]] double spread() const { return (maximum - minimum) / median; }
};

/// values: at least one.
Sample sample_of(std::vector<double> values);

}  // namespace cg2d
