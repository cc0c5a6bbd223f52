#pragma once

// Results of runs as files hold them: one object (cg2d run --format json), or JSON Lines (cg2d sweep).

#include "cg/base/build_info.hpp"
#include "cg/report/phase_figures.hpp"
#include "cg/report/shown_figures.hpp"

namespace cg2d {

/// The beginning of the form of a system without a matrix whose domain is cut: "domain 1x2x2".
inline constexpr std::string_view domain_form = "domain";

/// The form of the NAS matrix that is applied by its factors.
inline constexpr std::string_view factor_form = "factors";

/// The form of every system with a matrix.
inline constexpr std::string_view matrix_form = "matrix";

/// One problem with one configuration: the run that a sweep makes and that results are compared by.
struct ConfiguredProblem {
  std::string problem;  ///< by problem_name(); of a system by system_name()
  Configuration configuration{};
  /// The form of a system: "matrix", "domain 1x2x2" or "factors". A domain that is still to be cut: "domain". Empty for the benchmark.
  std::string form{};
  /// Where the matrix was: "streamed within 105 MB", "streamed" without a limit that was given; empty: in memory.
  std::string storage{};

  bool is_system() const { return !form.empty(); }
  bool cuts_domain() const { return form.starts_with(domain_form); }
  bool is_matrix_free() const { return cuts_domain() || form == factor_form; }
  /// The cut of its pieces where none is asked for.
  std::string_view usual_cut() const;
  /// The arrangement of the ranks: the grid, "2x4", or the parts of the domain, "1x2x2".
  std::string arrangement() const;
  /// This problem and its choices with the arrangement left open.
  ConfiguredProblem without_arrangement() const;
  /// All but the problem: "2x4 auto two-sided 1 thread".
  std::string choices() const;
  /// Its unique text: "A 2x4 auto two-sided 1 thread".
  std::string key() const { return problem + " " + choices(); }
  friend bool operator==(const ConfiguredProblem&, const ConfiguredProblem&) = default;
};

struct Environment;
struct SystemOptions;

/// The purpose of a run in a sweep. All but the first are made beside timed runs; their times never count.
enum class RunPurpose { time, counters, limits };
std::span<const NamedValue<RunPurpose>> words_of(RunPurpose purpose);

/// Work and waiting of the repetition that a run reports.
struct RecordedWork {
  double step_count = 0.0;  ///< CG steps
  PhaseShares phases{};
};

/// A value for each phase of the benchmark, for the whole timed region, means over the ranks.
using PhaseValues = std::array<double, benchmark_phase_count>;

/// A metric of a result, whichever it has.
struct RecordedMetric {
  const ShownFigure* figure = nullptr;
  double value = 0.0;
};

/// A run of a sweep, as it was asked for: the member "sweep" of a result.
struct SweptRun {
  ConfiguredProblem asked{};    ///< kernel and transport may be automatic_choice
  std::string problem_class{};  ///< of the benchmark
  int round = 1;
  int round_count = 1;      ///< as many as were asked for
  int attempt = 1;          ///< in the round: a disturbed run may be repeated
  double duration_s = 0.0;  ///< seconds of the whole run with its set-up
  std::string session{};    ///< the file's study, with all its resumptions; empty for a single run
  int sitting = 1;          ///< the call of its command on that session's file that made it
  RunPurpose purpose = RunPurpose::time;
  bool is_arrangement_open = false;  ///< what `asked` has was chosen by the run
};
void describe(Members& m, SweptRun& run);

/// The time of a run by its use, as parts of its timed region; means over the ranks.
struct CommunicationShares {
  double moving = 0.0;   ///< phases that communicate, without waiting
  double waiting = 0.0;  ///< in these, for other ranks
};

/// The part of a result that tables need.
struct ResultRecord : SweptRun {
  bool is_replaced = false;  ///< a later attempt of its round is there
  std::string disturbance;   ///< why its times are disturbed; empty: quiet, or not known (schema_version 1)
  std::string status;        ///< as status_name() has it
  std::string reason;        ///< empty on success
  int exit_code = 0;
  std::string kernel_used;  ///< the kernel that ran; empty if the run ended before it was known
  std::string
      arrangement;  ///< of the ranks that ran: "2x1", of a system "grid 2x1" or "domain 1x2x2"; empty as the kernel
  int64_t n = 0;                      ///< order of the matrix
  int iteration_count = 0;            ///< CG iterations in a system's timed region; 0 for the benchmark
  std::vector<double> times_s;        ///< seconds of each timed repetition; empty if the run failed
  std::vector<bool> were_disturbed;   ///< each of these; empty: all alike
  double time_s = 0.0;                ///< seconds of the repetition that the run reports, the median one
  std::optional<double> zeta;         ///< of the benchmark, unless the run failed
  CommunicationShares shares{};       ///< of that repetition
  std::optional<RecordedWork> work;   ///< work of that repetition; empty if phases were not timed
  Named<PhaseValues> events;          ///< counts of each event; empty: none was counted
  std::optional<PhaseShares> limits;  ///< of that repetition
  std::optional<Prediction> prediction;
  std::vector<RecordedMetric> metrics;
  std::vector<std::string> warnings;
  /// Labelled figures that may tell it from others of the same configuration, as kernel or compiler: as far as the result says them.
  Named<std::string> facts;
  std::string maker;  ///< program and machine, see maker_of(); empty where the result does not say

  // Which runs it is comparable with: see comparable_runs().
  std::string place;         ///< file and line, or empty
  bool is_in_sweep = false;  ///< whether runs of the same round were made in turns with it
  std::string conditions;    ///< conditions of the machine and the measurement; empty if the run failed early
  std::string slowed_by;     ///< the option that made it slower than it would be, as --papi; empty: none

  bool succeeded() const { return status == "success" && !times_s.empty(); }
  bool is_disturbed() const { return !disturbance.empty(); }
  bool was_disturbed(size_t repetition) const {
    return is_disturbed() && (were_disturbed.empty() || were_disturbed[repetition]);
  }
  /// Whether phases were timed, over a known number of CG steps.
  bool has_steps() const { return work && work->step_count > 0.0; }
};

/// The name of a system in sweeps and their results, from the part "system" of a result: runs of the same name do
/// the same work. "A.mtx, 100 iterations", then preconditioner and form of CG where these are not the usual ones.
std::string system_name(const SystemOptions& system);

/// The record of a result as RunDocument or SolveDocument has it, with the key "sweep" in a sweep. Throws InputError, and
/// the JSON library's exceptions where keys are missing.
ResultRecord record_from(const nlohmann::ordered_json& run);

/// Notes which records of one file a later attempt replaces.
void mark_replaced(std::vector<ResultRecord>& records);

/// The records of a text; anything else throws InputError, without the name of the file. A text that ends
/// within a line of JSON Lines is no error here: see complete_lines().
std::vector<ResultRecord> parse_results(std::string_view text);
/// The records of a file; an error names it.
std::vector<ResultRecord> read_results(const std::string& path);
/// The records of several files, one after the other; of a file that is named twice once.
std::vector<ResultRecord> read_all_results(const std::vector<std::string>& paths);

/// The records of the whole lines of a sweep's file. An incomplete last line is skipped. Throws InputError,
/// without the name of the file, for any text that is not a sweep's, as the result of a single run.
std::vector<ResultRecord> parse_sweep(std::string_view text);

/// The origin of a result: program version, compiler and flags, MPI, and processor with caches. Results of
/// different makers do not share a sweep's file.
std::string maker_of(const Environment& environment, std::string_view program_version = build_info::version);

// Results in the formats of other tools.

/// JSON Lines as Extra-P reads them: one measured value per line, seconds, with the parameters p (ranks) and
/// px (process columns), and n (order of the matrix) and the axes that are numbers (threads) where they vary.
/// The call path is "total" or a phase (mean over the ranks), after the problem, where several have the same order, and the values of
/// the other axes that vary: "sell->multiply". Failed runs are left out, and disturbed ones that were repeated.
std::string extra_p_lines(const std::vector<ResultRecord>& records);

/// A header and a line for each timed repetition of each run, numbered in the last column, or one with an empty time for a
/// run that failed. Phases stand with the repetition that the result reports, the median one.
std::string csv_lines(const std::vector<ResultRecord>& records);

}  // namespace cg2d
