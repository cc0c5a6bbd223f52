#pragma once

// Parts that the JSON of all verdicts has in common.

#include <nlohmann/json_fwd.hpp>

#include "cg/base/paired_comparison.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {

/// How alternatives are compared: name and probabilities of the test.
nlohmann::ordered_json verdict_test_json();
/// Count, median, minimum, maximum and spread of times in seconds.
nlohmann::ordered_json times_json(const Sample& sample);
/// Median and interval of the ratios of paired rounds; the interval is null where there are too few rounds.
nlohmann::ordered_json ratio_json(const RatioInterval& ratio);

}  // namespace cg2d
