#pragma once

// Two sets of results against each other, configuration by configuration.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/sample.hpp"
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

/// A metric beside the time, as the median of the runs of each set.
struct ComparedFigure {
  const ShownFigure* figure = nullptr;
  double before = 0.0;
  double after = 0.0;
  /// Whether they differ by more than this share of the smaller one.
  [[nodiscard]] bool differs(double share) const;
};

/// The names of the two sets.
struct SetNames {
  std::string before = "A";
  std::string after = "B";
};

/// A fact in which the runs of a configuration differ, although the same was asked for: RunFact of each set, several with commas.
struct SetDifference {
  std::string name;
  std::string before;
  std::string after;
};

/// Runs that other work on the machine disturbed.
struct DisturbedRuns {
  std::int64_t count = 0;
  std::int64_t of = 0;  ///< all runs

  DisturbedRuns& operator+=(const DisturbedRuns& other) {
    count += other.count;
    of += other.of;
    return *this;
  }
};

/// One configuration that both sets have.
struct ComparedConfiguration {
  ConfiguredProblem asked;
  SetNames names{};
  std::optional<Sample> before;  ///< empty: a run failed
  std::optional<Sample> after;
  RatioInterval ratio;  ///< after / before, round by round in the order of measurement
  Change change = Change::unknown;
  std::optional<int> suggested_rounds{};  ///< where undecided, the rounds that should decide, if any would
  std::vector<ComparedFigure> figures{};  ///< metrics that both have; no verdict depends on them
  std::vector<SetDifference> differences{};
  DisturbedRuns disturbed_before{};
  DisturbedRuns disturbed_after{};

  [[nodiscard]] bool is_mostly_disturbed() const {
    return are_mostly_disturbed(disturbed_before.count + disturbed_after.count,
                                disturbed_before.of + disturbed_after.of);
  }
};

struct Comparison {
  SetNames names{};
  double threshold = 0.0;
  std::vector<ComparedConfiguration> common;
  RatioInterval overall;  ///< ratio of all common configurations together
  Change overall_change = Change::unknown;
  std::vector<ConfiguredProblem> only_before;
  std::vector<ConfiguredProblem> only_after;
  std::vector<LeftOutRun> left_out;

  [[nodiscard]] int count(Change change) const;
  /// regression where a configuration or all together are one, else undecided where one is, else success.
  [[nodiscard]] ExitCode exit_code() const;
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
/// The comparison as JSON, with all figures.
std::string comparison_json(const Comparison& comparison);
void describe(Members& m, Comparison& comparison);
/// "REGRESSION: slower by 12 % (8 ... 15 %)", "no regression", or why nothing can be said; then how many runs were disturbed.
std::string verdict_on(const ComparedConfiguration& pair);

/// "5%", "5 %" or "5" -> 0.05. Nothing for anything else, or below 0.
std::optional<double> percentage_from(std::string text);

}  // namespace cg2d
