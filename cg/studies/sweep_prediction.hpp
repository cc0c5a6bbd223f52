#pragma once

// Predicted beside measured, phase by phase, for the grids of a sweep.

#include <string>
#include <vector>

#include "cg/studies/sweep_table.hpp"

namespace cg2d {

/// For every configuration of a table that has a prediction and did not fail: measured and predicted seconds
/// of each phase and in total, and the difference in per cent of the measured seconds. Empty where there is
/// none. Measured is the run with the median time (of an even number the lower of the middle two).
std::string prediction_lines(const std::vector<MeasuredConfiguration>& cells);

}  // namespace cg2d
