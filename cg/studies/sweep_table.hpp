#pragma once

// The paper's table of a sweep: ranks down, process columns across.

#include <string>
#include <vector>

#include "cg/report/result_file.hpp"

namespace cg2d {

/// One table for each problem and configuration without its grid: medians with spread,
/// the best grid of each rank count (*) and the official one (o), the cost of the official one, failed runs,
/// and predicted beside measured times of the phases where there are any.
std::string sweep_tables(const std::vector<ResultRecord>& records);

/// For every configuration of a table that has a prediction and did not fail: measured and predicted seconds
/// of each phase and in total, and the difference in per cent of the measured seconds. Empty where there is
/// none. Measured is the run with the median time (of an even number the lower of the middle two).
std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells);

}  // namespace cg2d
