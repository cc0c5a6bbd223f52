#pragma once

// The runs of a sweep, their order, and the time that the rest will take. Pure: no MPI, no files.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/remaining_time.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/report/result_file.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The grids of --grid. None: every grid.
struct NamedGrids {
  std::vector<comm::ProcessGrid> grids;
  bool has_official = false;  ///< takes the official program's grid of each number of ranks, too

  [[nodiscard]] bool are_all() const { return grids.empty() && !has_official; }
};

/// The grids for that many ranks, in their order, the official one last. Throws InputError where it is named
/// and does not exist.
std::vector<comm::ProcessGrid> grids_for(const NamedGrids& named, int rank_count);

/// The numbers of ranks of a sweep that names none: those of its grids, and all that were started where it names no
/// grids, or the official ones.
std::vector<int> usual_rank_counts(const NamedGrids& named, int started);

/// The values that a sweep crosses.
struct SweepAxes {
  std::vector<Problem> problems;
  std::vector<int> rank_counts;
  std::vector<int> columns;  ///< Px; empty: every divisor of the rank count
  NamedGrids named{};
  AxisValues values;  ///< values of the other axes, by name
};

/// Every configuration on every grid: rank counts outermost, then grids, and the other axes. The rest as for
/// configurations_of().
std::vector<Configuration> configurations_on_grids(const SweepAxes& axes, const Configuration& common);

/// Every problem with every configuration once: problems outermost, then rank counts, grids, and the other
/// axes. An axis without values stays as it is in `common`. Throws InputError when a rank count has no grid
/// with any of the columns, or none that is named, when no rank count has a grid that is named, and for a value that its axis does not have.
std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes, const Configuration& common = {});

/// The fewest rounds after which every verdict on these configurations can be decided: those of one problem, number
/// of ranks and number of threads are alternatives of each other.
int rounds_for_verdicts(const std::vector<ConfiguredProblem>& configurations);

/// One run: a problem with a configuration in one round, from 1 on. Disturbed runs have several attempts.
struct SweepStep {
  ConfiguredProblem asked;
  int round = 1;
  int attempt = 1;
  RunPurpose purpose = RunPurpose::time;
};

/// The runs that a sweep makes beside the timed ones, one for each configuration and purpose.
struct ExtraRuns {
  CounterOptions counters{.reads_environment = false};  ///< without events: none
  TraceOptions trace;                                   ///< its steps; the file is trace_file_of()
  bool measures_limits = false;
  bool traces_best = false;

  [[nodiscard]] bool count_events() const { return !counters.events.empty(); }
};

/// Counted runs of all configurations, then runs with the machine's limits. The trace is of the best one, which is
/// not known before.
std::vector<SweepStep> extra_steps(const std::vector<ConfiguredProblem>& configurations,
                                   const ExtraRuns& extras);

/// The configuration to trace: the best, sure or not, of the greatest number of ranks and threads, of the last
/// problem. Empty where nothing succeeded.
std::optional<ConfiguredProblem> traced_configuration(const std::vector<ResultRecord>& records);

/// The file beside that of a sweep: "a.jsonl" has "a.trace.json".
std::string trace_file_of(const std::string& sweep_file);

/// Inserts the next attempt of steps[index] after all other steps of its round: later, since a disturbance
/// lasts, and within the round, whose runs are compared with each other. steps[index] has been performed, and
/// steps of later rounds have not.
void repeat_step(std::vector<SweepStep>& steps, std::size_t index);

/// Rounds from the first to the last one.
struct RoundRange {
  int first = 1;
  int last = 1;
};

/// All configurations in one round, then all in the next and so on: a drift of the machine affects all alike.
/// Rounds of even numbers go backwards, so that a steady drift favours none.
std::vector<SweepStep> interleaved(const std::vector<ConfiguredProblem>& configurations, RoundRange rounds);

/// Whether the configuration has the official program's grid. Systems have no official program.
bool is_official(const ConfiguredProblem& asked);

/// The expected amount of computing in a run of the benchmark on that many cores, generation included: in nonzeros that
/// one core multiplies.
double expected_work(const Problem& problem, int core_count);

/// Seconds that runs took as a whole, set-up included, by the key of their configuration.
class RunDurations {
 public:
  using WorkOf = std::function<double(const ConfiguredProblem&)>;
  /// work_of: the expected amount of computing, in any unit.
  explicit RunDurations(WorkOf work_of) : work_of_(std::move(work_of)) {}

  void add(const ConfiguredProblem& asked, double seconds) { times_.add(work(asked), seconds); }
  /// Expected seconds of these steps: the median of the same configuration; if it has not run yet, by the seconds per
  /// work of its problem, else of all. Nothing before the first run.
  [[nodiscard]] std::optional<double> expected(const std::vector<SweepStep>& steps) const;

 private:
  [[nodiscard]] Work work(const ConfiguredProblem& asked) const {
    return {.key = asked.key(), .kind = asked.problem, .amount = work_of_(asked)};
  }

  WorkOf work_of_;
  WorkTimes times_;
};

/// The configurations that a verdict on these records leaves open, by open_alternatives(), each once.
std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision);

/// The next block of rounds for these configurations: see rounds_after_next_block().
RoundRange added_rounds(const std::vector<ResultRecord>& records, const std::vector<ConfiguredProblem>& open);

}  // namespace cg2d
