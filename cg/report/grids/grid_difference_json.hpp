#pragma once

// Differences of grids as JSON.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cg/report/grids/grid_differences.hpp"

namespace cg2d {

/// As "why" in cg/studies/sweep_verdict.schema.json.
nlohmann::ordered_json difference_json(const GridDifference& difference);

/// The differences of a row: the candidate against the next one and the last one. An array.
nlohmann::ordered_json row_differences_json(const GridVerdict& row, const std::vector<ResultRecord>& records);

}  // namespace cg2d
