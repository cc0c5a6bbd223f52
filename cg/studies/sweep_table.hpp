#pragma once

// The paper's table of a sweep: ranks down, process columns across.

#include <string>
#include <vector>

#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// One table for each problem and configuration without its grid, by verdicts_of(): medians with spread, the
/// best grid of each rank count (*) or those that may be (~), the official one (o) and its cost, failed runs,
/// and predicted beside measured times of the phases where there are any. Then the best of all tables, and the
/// runs that were left out.
std::string sweep_tables(const std::vector<ResultRecord>& records);

/// For every configuration of a table that has a prediction and did not fail: measured and predicted seconds
/// of each phase and in total, and the difference in per cent of the measured seconds. Empty where there is
/// none. Measured is the run with the median time (of an even number the lower of the middle two).
std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells);

}  // namespace cg2d
