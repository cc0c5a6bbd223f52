#pragma once

// `cg2d scaling`: the ways to use a node, each with the same number of cores, in turns; the problem that each number gets, the figures that
// follow from the measurements, and the formats that show them. All but compare_cases() is pure: no MPI, no files.

#include "cg/machine/provenance.hpp"
#include "cg/studies/study.hpp"

namespace cg2d {

/// The options of `cg2d scaling`. Problem and system are those on one core.
struct ScalingOptions : StudyOptions {
  bool weak = false;             ///< n, or the box of a Laplacian, grows with the cores
  std::vector<int> core_counts;  ///< empty: the usual ones, up to the ranks started
  /// Values of the axes that are compared, transport and cut. No transport: those of the usual ones that are available.
  AxisValues values;
  std::string format = "text";
  std::string output;  ///< empty: standard output
};

/// Makes the runs that the file of the options does not have yet, of every case in every round, adds rounds of what is undecided if it was
/// asked to, and writes the comparison. Collective. The exit code is that of the first
/// failed run, `interrupted`, or `verification_failed` where runs disagree. Throws RunError on every rank
/// alike: usage, or unavailable for a transport or kernel that was named.
ExitCode compare_cases(const ScalingOptions& options, comm::RankGroup& group);

/// A case is one way to use a number of cores: ranks, and the threads, transport and cut of its configuration, whose grid, 1 x ranks, only
/// says how many ranks there are: each run chooses their arrangement. A single rank moves no data and has one piece: its transport and cut
/// are the usual ones.
int core_count_of(const ConfiguredProblem& one);
/// "matrix" or "matrix-free"; empty for the benchmark.
std::string form_of(const ConfiguredProblem& one);
/// For messages: "4 cores, ranks x threads, shared, 2 x 2", with the cut where it is not the usual one.
std::string label_of(const ConfiguredProblem& one);

/// 1, 2, 4 and so on, and the number of ranks itself.
std::vector<int> usual_core_counts(int rank_count);

/// Every way to use each number of cores: ranks only, every split into several ranks of several threads, both with each combination of
/// these values, and threads only. On one core they are all the same: there is one way. Splits of more than most_threads are left out.
/// common: what all have in common but for threads and these values. Throws InputError as crossed().
std::vector<ConfiguredProblem> cases_of(const std::vector<int>& core_counts, const AxisValues& values,
                                        const ConfiguredProblem& common = {});

/// The operator for a number of cores. Weak scaling: every extent is multiplied by the parts along it of the cut with the
/// smallest faces of as many equal boxes, so each core has the box of one core. Throws InputError for an operator that is no
/// Laplacian.
std::string scaled_operator(const std::string& text, int core_count, bool weak);

/// Whether the ranks of a case may use a core for each of their threads, where there are as many: not where these are on other nodes, or the
/// launcher keeps the ranks away from them. all: as all started ranks see it. of_case: as its ranks see it, the first ones.
bool has_room(const ConfiguredProblem& one, const Environment& all, const Environment& of_case);

/// The options and all measurements.
struct ScalingStudy {
  ScalingOptions options;                ///< with all that the command line left open
  std::vector<ConfiguredProblem> cases;  ///< in the order of the plan
  std::vector<ResultRecord> runs;        ///< of these, in the order in which they ran
  std::vector<std::string> warnings;
  bool is_interrupted = false;
  std::optional<Environment> machine;    ///< environment of all ranks started
  std::optional<Provenance> provenance;  ///< on rank 0
};

/// One case with its figures.
struct ScalingRow {
  ConfiguredProblem asked;
  std::vector<ResultRecord> runs;
  MeasuredConfiguration measured;  ///< of these; unless it is sound, the following members are not set
  double rate = 0.0;  ///< operations per second by the official count; of a system: rows per second
  std::optional<double> speed_up;    ///< its rate by that of the same form on one core
  std::optional<double> efficiency;  ///< speed-up by cores
  double ratio_to_best = 1.0;        ///< median of paired rounds by those of the candidate on as many cores
  bool is_candidate = false;         ///< see BestVerdict
  bool may_be_best = false;          ///< the candidate, or not known to be worse than it
  Certainty certainty = Certainty::alone;  ///< certainty of the verdict on as many cores

  bool is_sound() const { return measured.is_sound(); }
  /// The median time with its spread, and its run; empty unless it is sound.
  Sample time_s() const { return is_sound() ? sample_of(measured.times_s) : Sample(); }
  ResultRecord median_run() const { return is_sound() ? measured.median_run() : ResultRecord(); }
  bool is_best() const { return is_candidate && certainty == Certainty::decided; }
};

/// A row for each case, in the order of the plan.
std::vector<ScalingRow> rows_of(const ScalingStudy& study);

/// zeta of all successful runs of one problem: the verification where there is no reference.
struct ZetaAgreement {
  Problem problem;
  int run_count = 0;
  double minimum = 0.0;
  double maximum = 0.0;

  double relative_difference() const;
  /// Within the tolerance of the benchmark, of each other or of the reference. One run agrees with itself.
  bool holds() const;
  /// "n 2800: zeta of 6 runs agrees within 1.2e-14 (1e-10 allowed)", or meets the reference.
  std::string text() const;
};
/// Every problem of the benchmark once, in the order of the runs.
std::vector<ZetaAgreement> agreements_of(const ScalingStudy& study);

/// The end of the comparison: that of its first failed run; interrupted; or a failed verification where runs
/// of one problem disagree, or miss the reference.
struct ScalingVerdict {
  ExitCode code = ExitCode::success;
  std::string reason;  ///< one line, empty on success
};
ScalingVerdict verdict_on(const ScalingStudy& study);

inline const std::vector<std::string> scaling_formats{"text", "json", "csv"};
/// format: one of these.
std::string write_scaling(const ScalingStudy& study, std::string_view format);

/// Its JSON.
void describe(Members& m, ScalingStudy& study);

}  // namespace cg2d
