#pragma once

// The verdicts on a sweep for people, as parts of its tables, and for programs.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// "best is 4x1 with 0.0873 s, better than 2x2 by 12 % (8 ... 15 %); the official 2x2 costs 12 % (8 ... 15 %)
/// more", or the grids that cannot be told from the best one. Without a full stop.
std::string grid_verdict_text(const GridVerdict& row);
/// The verdict on the configurations of several tables, in words as grid_verdict_text().
std::string choice_verdict_text(const ChoiceVerdict& choice);

/// All verdicts with their figures.
std::string sweep_verdict_json(const std::vector<ResultRecord>& records);
nlohmann::ordered_json sweep_verdict_type();

}  // namespace cg2d
