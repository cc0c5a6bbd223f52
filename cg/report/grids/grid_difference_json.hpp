#pragma once

// Differences of grids as JSON.

#include <vector>

#include "cg/base/json_record.hpp"
#include "cg/report/grids/grid_differences.hpp"

namespace cg2d {

const Record<GridDifference>& grid_difference_record();

/// The differences of a row: the candidate against the next one and the last one. An array.
Json row_differences_json(const GridVerdict& row, const std::vector<ResultRecord>& records);

}  // namespace cg2d
