#pragma once

// The measurements of the ways to use a number of cores, the figures that follow, and the formats that show them. Pure.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/sample.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/provenance.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/studies/scaling_plan.hpp"
#include "cg/studies/studied_work.hpp"

namespace cg2d {

/// One run of one case.
struct ScalingRun : StudiedRun {
  ScalingCase scaled;
  int round = 1;
};

/// The options and all measurements.
struct ScalingStudy {
  std::optional<Problem> problem;  ///< of the benchmark, on one core
  std::string system;              ///< or a user's: its name, on one core
  int iteration_count = 0;         ///< of each run of a system
  bool weak = false;
  std::vector<int> core_counts;
  AxisValues values;            ///< values of the axes that are compared, by name: transport and cut
  Configuration configuration;  ///< configuration of every case, except for threads and these
  int round_count = 0;
  std::vector<ScalingCase> cases;  ///< in the order of the plan
  std::vector<ScalingRun> runs;    ///< in the order in which they ran
  std::vector<std::string> warnings;
  bool is_interrupted = false;
  std::optional<Environment> machine;    ///< environment of all ranks started
  std::optional<Provenance> provenance;  ///< on rank 0

  /// Order of the matrix on a number of cores; 0 where it is a system that never ran.
  [[nodiscard]] std::int64_t order_of(const ScalingCase& one) const;
};

/// One case with its figures.
struct ScalingRow {
  ScalingCase scaled;
  std::vector<ScalingRun> runs;
  /// Times of its runs, if there are any and all succeeded; otherwise this and the following members are not
  /// set.
  std::optional<Sample> time_s;
  ScalingRun median_run;  ///< run of the median time; of an even number the lower of the middle two
  double rate = 0.0;      ///< operations per second by the official count; of a system: rows per second
  std::optional<double> speed_up;    ///< its rate by that of the same form on one core
  std::optional<double> efficiency;  ///< speed-up by cores
  double ratio_to_best = 1.0;        ///< median of paired rounds by those of the candidate on as many cores
  bool is_candidate = false;         ///< see BestVerdict
  bool may_be_best = false;          ///< the candidate, or not known to be worse than it
  Certainty certainty = Certainty::alone;  ///< certainty of the verdict on as many cores

  [[nodiscard]] bool is_sound() const { return time_s.has_value(); }
  [[nodiscard]] bool is_best() const { return is_candidate && certainty == Certainty::decided; }
  [[nodiscard]] std::int64_t disturbed_count() const {
    return std::ranges::count_if(runs, &ScalingRun::is_disturbed);
  }
};

/// A row for each case, in the order of the plan.
std::vector<ScalingRow> rows_of(const ScalingStudy& study);

/// The cases on one number of cores whose runs succeeded, by their times in the same rounds.
struct CaseRanking {
  int core_count = 1;
  std::vector<std::size_t> places;  ///< of these cases in the plan
  std::vector<double> medians_s;
  BestVerdict verdict;  ///< its indices are those of `places`
};
/// One for each number of cores that has a case.
std::vector<CaseRanking> rankings_of(const ScalingStudy& study);

/// zeta of all successful runs of one problem: the verification where there is no reference.
struct ZetaAgreement {
  Problem problem;
  int run_count = 0;
  double minimum = 0.0;
  double maximum = 0.0;

  [[nodiscard]] double relative_difference() const;
  /// Within the tolerance of the benchmark. One run agrees with itself.
  [[nodiscard]] bool holds() const { return relative_difference() <= Problem::tolerance; }
  /// "n 2800: zeta of 6 runs agrees within 1.2e-14".
  [[nodiscard]] std::string text() const;
};
/// Every problem of the benchmark once, in the order of the runs.
std::vector<ZetaAgreement> agreements_of(const ScalingStudy& study);

/// The end of the comparison: that of its first failed run; interrupted; or a failed verification where runs
/// of one problem without reference disagree.
struct ScalingVerdict {
  ExitCode code = ExitCode::success;
  std::string reason;  ///< one line, empty on success
};
ScalingVerdict verdict_on(const ScalingStudy& study);

inline const std::vector<std::string> scaling_formats{"text", "json", "csv"};
/// format: one of these.
std::string write_scaling(const ScalingStudy& study, std::string_view format);
std::string scaling_text(const ScalingStudy& study);

/// The document, for its schema.
void visit_scaling(Members& m);

}  // namespace cg2d
