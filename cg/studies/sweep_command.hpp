#pragma once

// `cg2d sweep`: complete runs on every grid, in turns, one line of a file for each.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/interface.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/run_options.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "cg/studies/sweep_table.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The machine is not quiet enough for a run that was disturbed so many times.
inline constexpr int most_sweep_retries = 8;

/// The options of the rounds of a sweep, whatever it runs.
struct SweepRounds {
  std::optional<int> round_count;       ///< empty: rounds_for_verdicts()
  int most_retries = 2;                 ///< repetitions of a disturbed run
  std::optional<UntilSure> until_sure;  ///< empty: no rounds are added
  std::string output = "cg2d-sweep.jsonl";
  bool fresh = false;
  ExtraRuns extras;  ///< extra runs, of the benchmark only
  SweepTableOptions tables{};
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The options of `cg2d sweep` for the benchmark.
struct SweepOptions {
  SweepAxes axes;     ///< without rank counts: all ranks started
  RunOptions common;  ///< options of every run, except for the axes
  SweepRounds rounds;
};

/// Cores that a run uses.
inline int core_count_of(const ConfiguredProblem& asked) {
  return asked.configuration.grid.rank_count() * asked.configuration.thread_count;
}

/// Runs that a sweep makes in turns.
class SweptRuns : public Interface {
 public:
  /// Each once; their numbers of ranks are within those started. Collective over all ranks, once, before any run. Throws
  /// RunError on every rank alike.
  [[nodiscard]] virtual std::vector<ConfiguredProblem> configurations() = 0;
  /// One complete run, failed ones included, timed or for another purpose. Returns the maker of its result, as of report_json() or solve_json(), which
  /// rank 0 calls. Collective over `group`, the ranks of the configuration. Throws MpiError.
  virtual std::function<nlohmann::ordered_json()> perform(const SweepStep& step, comm::RankGroup& group,
                                                          const Progress& progress) = 0;
  /// The amount of computing in a run, in any unit, for the expected duration of those that have not run yet.
  [[nodiscard]] virtual double expected_work(const ConfiguredProblem& asked) const {
    return 1.0 / core_count_of(asked);
  }
};

/// Makes the runs that the file does not have yet, in rounds. The rest as for sweep().
ExitCode sweep_rounds(const SweepRounds& options, SweptRuns& runs, comm::RankGroup& group);

/// Makes the runs that the file does not have yet, appends a line for each, adds rounds of what is undecided
/// if it was asked to, then makes the runs with counters, limits and trace, and prints the tables of the file. A disturbed run is repeated at the end of its round;
/// every attempt is a line. Collective. The exit code is that of the first failed run, or `interrupted`.
/// Throws RunError on every rank alike.
ExitCode sweep(const SweepOptions& options, comm::RankGroup& group);

}  // namespace cg2d
