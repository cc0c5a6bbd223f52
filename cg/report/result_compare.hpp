#pragma once

// Two sets of results against each other, configuration by configuration.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/sample.hpp"
#include "cg/report/result_file.hpp"

namespace cg2d {

/// One configuration that both sets have.
struct ComparedConfiguration {
  ConfiguredProblem asked;
  std::optional<Sample> before;  ///< empty: a run failed
  std::optional<Sample> after;
  bool is_regression = false;

  /// Median after / median before; both must be there.
  [[nodiscard]] double ratio() const { return after->median / before->median; }
};

struct Comparison {
  std::vector<ComparedConfiguration> common;
  std::vector<ConfiguredProblem> only_before;
  std::vector<ConfiguredProblem> only_after;

  [[nodiscard]] int regression_count() const;
};

/// A regression: the median grew by more than `threshold` (0.05: 5 %) and the fastest run after is slower
/// than the slowest before, so that no spread explains it; or it failed after and did not before.
Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold);

/// The table, the configurations that only one set has, and the verdict.
std::string comparison_text(const Comparison& comparison, double threshold);

/// "5%", "5 %" or "5" -> 0.05. Nothing for anything else, or below 0.
std::optional<double> percentage_from(std::string text);

}  // namespace cg2d
