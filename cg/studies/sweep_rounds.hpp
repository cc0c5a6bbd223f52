#pragma once

// The rounds that a sweep adds until its verdicts are sure. Pure.

#include <vector>

#include "cg/report/run_verdict.hpp"
#include "cg/studies/sweep_plan.hpp"

namespace cg2d {

/// The configurations that a verdict on these records leaves open, by open_alternatives(), each once.
std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision);

/// The next block of rounds for these configurations: see rounds_after_next_block().
RoundRange added_rounds(const std::vector<ResultRecord>& records, const std::vector<ConfiguredProblem>& open);

}  // namespace cg2d
