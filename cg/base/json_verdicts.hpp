#pragma once

// The descriptions of what all verdicts on times have in common.

#include "cg/base/json_record.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {

/// certainty_name().
FigureType certainty_type();
/// How alternatives are compared: name and probabilities of the test. The string is its name.
const Record<std::string>& verdict_test_record();
Json verdict_test_json();
/// Count, median, minimum, maximum and spread of times in seconds.
const Record<Sample>& times_record();
/// Median and interval of the ratios of paired rounds.
const Record<RatioInterval>& ratio_record();

}  // namespace cg2d
