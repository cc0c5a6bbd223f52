#pragma once

// Results in the formats of other tools.

#include <string>
#include <vector>

#include "cg/report/result_reader.hpp"

namespace cg2d {

/// JSON Lines as Extra-P reads them: one measured value per line, seconds, with the parameters p (ranks) and
/// px (process columns), and n (order of the matrix) and the axes that are numbers (threads) where they vary.
/// The call path is "total" or a phase (mean over the ranks), after the values of the other axes that vary:
/// "sell->multiply". Failed runs are left out, and disturbed ones that were repeated.
std::string extra_p_lines(const std::vector<ResultRecord>& records);

/// A header and a line for each timed repetition of each run, numbered in the last column, or one with an empty time for a
/// run that failed. Phases stand with the repetition that the result reports, the median one.
std::string csv_lines(const std::vector<ResultRecord>& records);

}  // namespace cg2d
