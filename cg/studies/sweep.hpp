#pragma once

// `cg2d sweep`: complete runs on every grid, in turns, one line of a file for each; the paper's table of them, ranks down, process columns
// across, and the verdicts on it.

#include "cg/studies/study.hpp"

namespace cg2d {

// ---------------------------------------------------------------- the plan. Pure: no MPI, no files

/// The grids of --grid. None: every grid.
struct NamedGrids {
  std::vector<comm::ProcessGrid> grids;
  bool has_official = false;  ///< takes the official program's grid of each number of ranks, too

  bool are_all() const { return grids.empty() && !has_official; }
};

/// The grids for that many ranks, in their order, the official one last. Throws InputError where it is named
/// and does not exist.
std::vector<comm::ProcessGrid> grids_for(const NamedGrids& named, int rank_count);

/// The numbers of ranks of a sweep that names none: those of its grids, and all that were started where it names no
/// grids, or the official ones.
std::vector<int> usual_rank_counts(const NamedGrids& named, int started);

/// The values that a sweep crosses.
struct SweepAxes {
  std::vector<Problem> problems;  ///< of the benchmark
  std::vector<int> rank_counts;
  std::vector<int> columns;  ///< Px; empty: every divisor of the rank count
  NamedGrids named{};
  AxisValues values;                        ///< values of the other axes, by name
  std::vector<comm::DomainGrid> domains{};  ///< of a system; empty: all that have no more parts than points
};

/// The forms in which work is measured, with all that a sweep crosses left open: of each problem of the benchmark one, in its order; of a system
/// without a matrix first where the operator can be applied so. An operator's matrix is only among them where it is to be assembled.
std::vector<ConfiguredProblem> forms_of(const std::vector<Problem>& problems, const Configuration& common);
std::vector<ConfiguredProblem> forms_of(const SystemOptions& system);

/// Every form with every configuration once: forms outermost, then rank counts, grids or domains (of the operator), and the other
/// axes. An axis without values stays as the form has it. Throws InputError when a rank count has no grid
/// with any of the columns, or none that is named, when no rank count has a grid that is named, for a number of ranks without a domain that
/// was asked for, and for a value that its axis does not have.
std::vector<ConfiguredProblem> configurations_of(const SweepAxes& axes,
                                                 const std::vector<ConfiguredProblem>& forms,
                                                 const std::string& operator_text = {});

/// The fewest rounds after which every verdict on these configurations can be decided: those of one problem, number
/// of ranks and number of threads are alternatives of each other.
int rounds_for_verdicts(const std::vector<ConfiguredProblem>& configurations);

// ---------------------------------------------------------------- the command

/// Further contents of a sweep's tables.
struct SweepTableOptions {
  std::optional<GridPair> why{};  ///< these grids against each other, instead of the best against others
  bool has_paper = false;         ///< also the clocks of the paper's Tables 3 to 5
};

/// The machine is not quiet enough for a run that was disturbed so many times.
inline constexpr int most_sweep_retries = 8;

/// The options of `cg2d sweep`.
struct SweepOptions : StudyOptions {
  SweepOptions() {
    most_retries = 2;
    file = "cg2d-sweep.jsonl";
  }

  SweepAxes axes;  ///< without rank counts: all ranks started
  SweepTableOptions tables{};
};

/// Makes the runs that the file does not have yet, appends a line for each, adds rounds of what is undecided
/// if it was asked to, then makes the runs with counters and limits, and prints the tables of the file. A disturbed run is
/// repeated at the end of its round; every attempt is a line. Collective. As Study::execute().
ExitCode sweep(const SweepOptions& options, comm::RankGroup& group);

/// One table for each problem and configuration without its grid, by verdicts_of(): medians with spread, the
/// best grid of each rank count (*) or those that may be (~), the official one (o) and its cost, failed runs. Below each of them why the
/// next best and the worst grid of the most ranks are slower, and phase_table_of_grids(). Then the best of all tables, and the runs that
/// were left out.
std::string sweep_tables(const std::vector<ResultRecord>& records, const SweepTableOptions& options = {});

/// All verdicts with their figures.
std::string sweep_verdict_json(const std::vector<ResultRecord>& records);
/// The document, for its schema.
void visit_sweep_verdicts(Members& m);

}  // namespace cg2d
