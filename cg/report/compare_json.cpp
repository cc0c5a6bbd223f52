// The comparison of two sets of results for programs.

#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/json_values.hpp"
#include "cg/base/json_verdicts.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/session_json.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

constexpr int comparison_schema_version = 1;

const char* name_of(Change change) {
  switch (change) {
    case Change::regression:
      return "regression";
    case Change::faster:
      return "faster";
    case Change::none:
      return "none";
    case Change::undecided:
      return "undecided";
    case Change::unknown:
      break;
  }
  return "unknown";
}

Json ratio_or_null(const RatioInterval& ratio) {
  return ratio.round_count > 0 ? ratio_json(ratio) : Json(nullptr);
}

Json compared_json(const ComparedConfiguration& pair) {
  const auto times = [](const auto& sample) { return sample ? times_json(*sample) : Json(nullptr); };
  return {{"key", pair.asked.key()},          {"problem", pair.asked.problem},
          {"grid", pair.asked.arrangement()}, {"before", times(pair.before)},
          {"after", times(pair.after)},       {"ratio", ratio_or_null(pair.ratio)},
          {"change", name_of(pair.change)},   {"suggested_rounds", value_or_null(pair.suggested_rounds)},
          {"text", verdict_on(pair)}};
}

Json keys_json(const std::vector<ConfiguredProblem>& all) {
  Json keys = Json::array();
  for (const auto& asked : all) keys.push_back(asked.key());
  return keys;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  Json compared = Json::array();
  for (const auto& pair : comparison.common) compared.push_back(compared_json(pair));
  Json left_out = Json::array();
  for (const auto& run : comparison.left_out)
    left_out.push_back({{"place", run.place}, {"key", run.key}, {"reason", run.reason}});
  return json_text({{"schema_version", comparison_schema_version},
                    {"program", program_json()},
                    {"test", verdict_test_json()},
                    {"threshold", comparison.threshold},
                    {"compared", std::move(compared)},
                    {"overall", ratio_or_null(comparison.overall)},
                    {"overall_change", name_of(comparison.overall_change)},
                    {"only_before", keys_json(comparison.only_before)},
                    {"only_after", keys_json(comparison.only_after)},
                    {"left_out", std::move(left_out)},
                    {"exit_code", static_cast<int>(comparison.exit_code())}},
                   2) +
         "\n";
}

}  // namespace cg2d
