#include "cg/base/json_verdicts.hpp"

#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"

namespace cg2d {
namespace {

nlohmann::ordered_json bound_or_null(const RatioInterval& ratio, double bound) {
  return ratio.is_bounded() ? number_or_null(bound) : nlohmann::ordered_json(nullptr);
}

}  // namespace

nlohmann::ordered_json verdict_test_json() {
  return {{"name", "sign test of the ratios of paired rounds"},
          {"wrong_verdict_probability", wrong_verdict_probability},
          {"least_claimed_gain", least_claimed_gain}};
}

nlohmann::ordered_json times_json(const Sample& sample) {
  return {{"count", sample.count},
          {"median_s", sample.median},
          {"minimum_s", sample.minimum},
          {"maximum_s", sample.maximum},
          {"spread", value_or_null(sample.spread())}};
}

nlohmann::ordered_json ratio_json(const RatioInterval& ratio) {
  return {{"ratio", ratio.median},
          {"low", bound_or_null(ratio, ratio.low)},
          {"high", bound_or_null(ratio, ratio.high)},
          {"paired_rounds", ratio.round_count}};
}

}  // namespace cg2d
