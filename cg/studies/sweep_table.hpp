#pragma once

// The paper's table of a sweep: ranks down, process columns across.

#include <string>
#include <vector>

#include "cg/report/measured_configuration.hpp"

namespace cg2d {

/// One table for each problem and configuration without its grid: medians with spread,
/// the best grid of each rank count (*) and the official one (o), the cost of the official one, failed runs,
/// and predicted beside measured times of the phases where there are any.
std::string sweep_tables(const std::vector<ResultRecord>& records);

}  // namespace cg2d
