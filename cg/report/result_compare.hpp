#pragma once

// Two sets of results against each other, configuration by configuration.

#include "cg/base/errors.hpp"
#include "cg/report/run_verdict.hpp"

namespace cg2d {

/// The change of one configuration from the first set to the second.
enum class Change {
  regression,  ///< slower by more than the threshold, or failed in the second set only
  faster,      ///< by more than the threshold
  none,        ///< the interval of the ratio excludes a regression
  undecided,   ///< it does not, and does not show one either
  unknown,     ///< failed in the first set
};

std::span<const NamedValue<Change>> words_of(Change change);

/// The names of the two sets.
struct SetNames {
  std::string before = "A";
  std::string after = "B";
};

/// One configuration that both sets have.
struct ComparedConfiguration {
  MeasuredConfiguration before;
  MeasuredConfiguration after;
  RatioInterval ratio{};  ///< after / before, round by round in the order of measurement
  Change change = Change::unknown;
  std::optional<int> suggested_rounds{};  ///< where undecided, the rounds that should decide, if any would

  /// Whether no run failed.
  bool is_sound() const { return before.is_sound() && after.is_sound(); }
};

struct Comparison {
  SetNames names{};
  double threshold = 0.0;
  std::vector<ComparedConfiguration> common{};
  RatioInterval overall{};  ///< ratio of all common configurations together
  Change overall_change = Change::unknown;
  std::vector<ConfiguredProblem> only_before{};
  std::vector<ConfiguredProblem> only_after{};
  std::vector<LeftOutRun> left_out{};

  int count(Change change) const;
  /// regression where a configuration or all together are one, else undecided where one is, else success.
  ExitCode exit_code() const;
};

/// Compares the runs that comparable_runs() leaves in each set. Round k of the second set is paired with round
/// k of the first. A regression is a configuration whose interval of the ratio is above 1 + threshold (0.05:
/// 5 %), or that failed after and did not before; the configurations share wrong_verdict_probability, and all
/// of them together are one more comparison: common_interval(), which finds a uniform change in fewer rounds.
Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold, const SetNames& names = {});

/// For two sets without a common configuration: what differs between the first of each, and the sweep that measures both in
/// turns where that is an option of one.
std::string difference_between(const Comparison& comparison);

/// The table, the configurations that only one set has, the runs that were left out, and the verdict.
std::string comparison_text(const Comparison& comparison);
/// With all figures.
void describe(Members& m, Comparison& comparison);

/// "5%", "5 %" or "5" -> 0.05. Nothing for anything else, or below 0.
std::optional<double> percentage_from(std::string text);

}  // namespace cg2d
