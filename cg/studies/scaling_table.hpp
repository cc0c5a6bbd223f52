#pragma once

// The measurements of the ways to use a node, the figures that follow, and the formats that show them. Pure.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
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

namespace cg2d {

/// The time of a run by its use, as parts of its timed region; means over the ranks.
struct CommunicationShares {
  double moving = 0.0;   ///< collection, summation, shuffle and dot, without waiting
  double waiting = 0.0;  ///< in these, for other ranks
};

/// One run of one way.
struct ScalingRun {
  ScalingWay way;
  int round = 1;
  ExitCode code = ExitCode::success;
  std::string reason;  ///< empty on success
  Problem problem;     ///< as this number of cores has it
  /// The configuration as run; empty if the run ended before it was known.
  std::optional<Configuration> configuration{};
  double time_s = 0.0;  ///< seconds of the timed region; this and the following members only on success
  double zeta = 0.0;
  CommunicationShares shares{};
  std::string disturbance{};  ///< disturbance of its timed region, one line; empty: it was quiet

  [[nodiscard]] bool succeeded() const { return code == ExitCode::success; }
  [[nodiscard]] bool is_disturbed() const { return !disturbance.empty(); }
};

/// The options and all measurements.
struct ScalingStudy {
  Problem problem;  ///< on one core
  bool weak = false;
  std::vector<int> core_counts;
  std::vector<std::string> transports;
  Configuration configuration;  ///< configuration of every way, except for threads and transport
  int round_count = 0;
  std::vector<ScalingWay> ways;  ///< in the order of the plan
  std::vector<ScalingRun> runs;  ///< in the order in which they ran
  std::vector<std::string> warnings;
  bool is_interrupted = false;
  std::optional<Environment> machine;    ///< environment of all ranks started
  std::optional<Provenance> provenance;  ///< on rank 0
};

/// One way with its figures.
struct ScalingRow {
  ScalingWay way;
  std::vector<ScalingRun> runs;
  /// Times of its runs, if there are any and all succeeded; otherwise this and the following members are not
  /// set.
  std::optional<Sample> time_s;
  ScalingRun median_run;  ///< run of the median time; of an even number the lower of the middle two
  double mops_total = 0.0;
  std::optional<double> speed_up;    ///< its Mop/s by those on one core
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

/// A row for each way, in the order of the plan.
std::vector<ScalingRow> rows_of(const ScalingStudy& study);

/// The ways to use one number of cores whose runs succeeded, by their times in the same rounds.
struct WayRanking {
  int core_count = 1;
  std::vector<ScalingWay> ways;  ///< in the order of the plan
  BestVerdict verdict;           ///< its indices are those of `ways`
};
/// One for each number of cores that has a way.
std::vector<WayRanking> rankings_of(const ScalingStudy& study);

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
/// Every problem once, in the order of the runs.
std::vector<ZetaAgreement> agreements_of(const ScalingStudy& study);

/// The end of the comparison: that of its first failed run; interrupted; or a failed verification where runs
/// of one problem without reference disagree.
struct ScalingVerdict {
  ExitCode code = ExitCode::success;
  std::string reason;  ///< one line, empty on success
};
ScalingVerdict verdict_on(const ScalingStudy& study);

/// The machine as results of scaling describe it; null where it was not inspected.
nlohmann::ordered_json machine_json(const std::optional<Environment>& seen);

/// One format; a new one is a function that makes a row, and its entry in the table.
struct ScalingFormat {
  std::string_view name;
  std::string (*write)(const ScalingStudy& study);
};
std::span<const ScalingFormat> scaling_format_table();
const ScalingFormat& scaling_format(std::string_view name);

}  // namespace cg2d
