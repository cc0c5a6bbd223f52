#pragma once

// Results in the forms of other tools.

#include <string>
#include <vector>

#include "cg/report/result_file.hpp"

namespace cg2d {

/// JSON Lines as Extra-P reads them: one measured value per line, seconds, with the parameters p (ranks) and
/// px (process columns), n (order of the matrix) and threads where they vary. The call path is "total" or a
/// phase (mean over the ranks), behind the kernel, transport and form of the sum where these vary:
/// "sell->multiply". Runs that failed are left out.
std::string extra_p_lines(const std::vector<ResultRecord>& records);

/// A header and a line for each run, those that failed with empty times.
std::string csv_lines(const std::vector<ResultRecord>& records);

}  // namespace cg2d
