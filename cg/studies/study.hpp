#pragma once

// The engine of studies: complete runs of several cases in rounds, in turns. A study is a list of cases, and a view of their results.

#include <map>
#include <memory>
#include <tuple>
#include <variant>

#include "cg/base/interface.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/files/system_matrix.hpp"
#include "cg/report/report.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/run/solve/solve_run.hpp"

namespace cg2d {

/// The runs that a study makes beside the timed ones, one for each case and purpose. Of the benchmark only.
struct ExtraRuns {
  CounterOptions counters{.reads_environment = false};  ///< without events: none
  bool measures_limits = false;

  bool count_events() const { return !counters.events.empty(); }
};

/// The iterations of a measurement that is not asked for another number: enough to make the first one, which warms up,
/// unimportant, and few enough that systems of some thousand rows are not solved earlier.
inline constexpr int usual_iteration_count = 50;

/// The options of a measurement: all of its most_iterations are done. In the end the residual is about what rounding leaves, or
/// larger: a smaller one would mean that the system was solved earlier.
SystemOptions measured_system(SystemOptions options);

/// "best is 4x1 with 0.0873 s, better than 2x2 by 12 % (8 ... 15 %)", or the alternatives that cannot be told from the best one; or that
/// `nothing` has succeeded. name_of: by which they are told apart. Without a full stop.
std::string ranking_text(const Ranking& ranking,
                         const std::function<std::string(const ConfiguredProblem&)>& name_of,
                         std::string_view nothing = {});

/// A line for the failed runs of a configuration, and one for the disturbed ones: those that count, and those that were repeated.
std::string troubles_text(const MeasuredConfiguration& measured, const std::string& name);

// ---------------------------------------------------------------- the rounds

/// A case of a study. Studies number theirs from 0.
struct StudyCase {
  Work work;                    ///< its key is its name in messages; the engine adds the amount
  ConfiguredProblem asked{};    ///< with a grid, see Study::leaves_arrangement_open_
  Problem problem{};            ///< of the benchmark
  std::string operator_text{};  ///< of a system; empty: its file

  int rank_count() const { return asked.configuration.grid.rank_count(); }
};

/// The fewest rounds after which every verdict on these cases can be decided. question_of(case): the same of those that are alternatives.
template <typename QuestionOf>
int rounds_for_verdicts(const std::vector<ConfiguredProblem>& cases, const QuestionOf& question_of) {
  std::map<std::invoke_result_t<QuestionOf, const ConfiguredProblem&>, size_t> case_counts;
  size_t most = 1;
  for (const auto& one : cases) most = std::max(most, ++case_counts[question_of(one)]);
  return rounds_for_verdict(most);
}

/// One run of a case in a round, from 1 on. Disturbed runs have several attempts.
struct StudyStep {
  size_t number = 0;
  int round = 1;
  int attempt = 1;
  RunPurpose purpose = RunPurpose::time;
};

/// All cases in the first round, then all in the next and so on to the last: a drift of the machine affects all alike. Rounds of even
/// numbers go backwards, so that a steady drift favours none.
std::vector<StudyStep> interleaved(const std::vector<size_t>& numbers, int first = 1, int last = 1);

/// Adds the configurations that are open_alternatives() of a ranking, each once.
void add_open(const Ranking& ranking, double precision, std::vector<ConfiguredProblem>& open);
/// Those of all verdicts on these records.
std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision);

/// Inserts the next attempt of steps[index] after all other steps of its round: later, since a disturbance
/// lasts, and within the round, whose runs are compared with each other. steps[index] has been performed, and
/// steps of later rounds have not.
void repeat_step(std::vector<StudyStep>& steps, size_t index);

/// The results of a study's runs. With a path also a file that has a line for each, and is locked against a second study during the
/// object's life.
class StudyFile {
 public:
  /// Without a path: no file. Opens or makes the file and drops an incomplete last line, which a killed writer leaves. With `fresh` it
  /// is emptied. Throws RunError: cannot_create, or usage for a file that is in use, or holds anything but
  /// results of a study by this maker (see maker_of()). A file that is refused stays as it is.
  StudyFile(const std::string& path, bool fresh, const std::string& maker);

  /// The records that it had when it was opened, and those appended since.
  const std::vector<ResultRecord>& records() const { return records_; }

  /// The session that the file's records belong to; a new one where there is none yet.
  const std::string& session() const { return session_; }
  /// The number of this sitting, from 1 on.
  int sitting() const { return sitting_; }

  /// A line for a result of RunDocument or SolveDocument, with the key "sweep". It is on disk when this returns. Throws RunError
  /// (cannot_write).
  void append(const nlohmann::ordered_json& run);

 private:
  std::optional<LineFile> file_;
  std::string session_;
  int sitting_ = 1;
  std::vector<ResultRecord> records_;
};

/// The options of every study.
struct StudyOptions {
  RunOptions common;  ///< of every run of the benchmark, except for what its case says
  /// A user's system instead of the benchmark, of measured_system(). assembles: also the matrix of the operator.
  std::optional<SystemOptions> system;
  ExtraRuns extras;
  std::optional<int> round_count;       ///< empty: rounds_for_verdicts()
  std::optional<UntilSure> until_sure;  ///< empty: no rounds are added
  int most_retries = 0;                 ///< repetitions of a disturbed run
  std::string file;                     ///< of StudyFile, whose runs are not made again; empty: none
  bool fresh = false;                   ///< the file is emptied first
  ProgressMode progress = ProgressMode::on_a_terminal;

  /// The options of every run.
  [[nodiscard]] SessionOptions& session() { return system ? static_cast<SessionOptions&>(*system) : common; }
};

/// A study that runs. Each matrix of a system is read once for each number of ranks, and stays until the end, spread over its ranks: 14 bytes
/// for each entry and 18 for each row. Ranks that take no part in a run sleep in the agreement that follows it. Collective in every operation that does not say
/// "on rank 0".
///
/// A study of one's own overrides plan() and view():
///
///   class CutStudy final : public Study {
///    public:
///     CutStudy(const StudyOptions& options, comm::RankGroup& group) : Study(options, group) {}
///
///    private:
///     void plan(const Environment& environment) override;  // fills cases_ and sets round_count_
///     std::string view() const override { return sweep_tables(file_->records()); }
///   };
class Study : public Interface {
 public:
  /// Makes the runs that the file does not have yet, every case in every round, rounds of what is undecided if it was asked to, then the
  /// extra runs, which must not disturb the timed ones; and shows what there is. The exit code is that of the first failed run, or
  /// `interrupted`. Throws RunError on every rank alike, MpiError, std::bad_alloc.
  ExitCode execute();

 protected:
  /// Keeps a reference to the group.
  Study(const StudyOptions& options, comm::RankGroup& group);

  /// Sets the cases, the number of rounds and all else that the study needs. environment: that of all ranks started.
  virtual void plan(const Environment& environment) = 0;
  /// The results for people. On rank 0.
  virtual std::string view() const = 0;
  /// The cases that need more rounds, in any order: open_alternatives() of all verdicts. On rank 0.
  virtual std::vector<ConfiguredProblem> undecided(double precision) const {
    return open_configurations(records_of_plan(), precision);
  }
  /// Shows the view. is_complete: no signal asked to end.
  virtual ExitCode conclude(bool is_complete);
  /// The results of this study's cases, which have asked for them. On rank 0.
  std::vector<ResultRecord> records_of_plan() const;
  /// The code of rank 0 for all, with its reason on stderr unless it is a success.
  ExitCode ended(ExitCode code, const std::string& reason);
  /// The group of the first ranks, which is made on the first request and kept; nullptr on ranks that do not belong to it. Collective over
  /// these when it makes the group.
  [[nodiscard]] comm::RankGroup* first_ranks(int rank_count);

  StudyOptions options_;
  comm::RankGroup& group_;
  Progress progress_;
  std::vector<StudyCase> cases_;
  int round_count_ = 1;
  bool ends_when_refused_ = false;  // at a run whose options or transport are refused
  /// Each run chooses the arrangement of its ranks: the grid of a case, 1 x ranks, only says how many there are.
  bool leaves_arrangement_open_ = false;
  std::unique_ptr<StudyFile> file_;  // on rank 0

 private:
  /// Reads what the runs of all cases have in common. A file that is no profile, or no matrix, or an event that cannot be counted, is an
  /// error of this command line, not a result of each of its runs.
  void prepare(const Environment& environment);
  /// The request of a run as a case has it; that of no case where it left open what cases do not, or the other way round.
  ConfiguredProblem request_of(const SweptRun& run) const;
  /// As many as there are cases where none has this request.
  size_t number_of(const ConfiguredProblem& asked) const;
  Configuration configuration_of(const ConfiguredProblem& asked) const;
  SystemOptions system_of(const StudyCase& one) const;
  /// Makes those of rank 0's runs that have no result yet. False where a signal asked to end.
  bool perform(const std::vector<StudyStep>& steps);
  /// Counted runs, and runs with the machine's limits.
  std::vector<StudyStep> extra_steps() const;
  /// Makes those of all cases in `round_count_` rounds that have no result, then, with --until-sure, adds blocks of rounds of the cases
  /// whose verdicts are open, until none is, or no further round is expected to fit into the time. False where a signal asked to end.
  bool perform_rounds();
  KeptSystem kept_for(const SystemOptions& options, comm::RankGroup& ranks, const Progress& progress);
  std::variant<RunDocument, SolveDocument> result_of(const StudyStep& step, comm::RankGroup& ranks,
                                                     const Progress& progress);
  void perform_step(size_t index);
  bool must_repeat(const ResultRecord& record) const;
  int next_attempt(const StudyStep& step) const;
  bool lacks_events(const ResultRecord& record) const;
  std::vector<StudyStep> more_rounds(const UntilSure& until_sure, double spent_s) const;
  const StudyCase& case_of(const StudyStep& step) const { return cases_[step.number]; }
  std::optional<double> expected_s(std::span<const StudyStep> steps) const;
  void expect_from(size_t index) const;

  std::map<int, std::unique_ptr<comm::RankGroup>> first_ranks_;
  std::optional<InterruptWatch> watch_;   // from the first run on
  DurationModel durations_;               // of whole runs, on rank 0
  std::vector<StudyStep> steps_;          // of the last perform()
  std::vector<std::string> event_names_;  // that counted runs have
  /// By text, ranks and seed of the permutation.
  std::map<std::tuple<std::string, int, std::optional<uint64_t>>, std::unique_ptr<SystemMatrix>> matrices_;
  /// By all that a block and its steps depend on.
  std::map<std::string, std::optional<KernelTrial>> kernel_trials_;
};

}  // namespace cg2d
