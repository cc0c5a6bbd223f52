#include "cg/base/sample.hpp"

#include <algorithm>

namespace cg2d {

Sample sample_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[middle] : 0.5 * (values[middle - 1] + values[middle]);
  return {.median = median, .minimum = values.front(), .maximum = values.back(), .count = values.size()};
}

}  // namespace cg2d
