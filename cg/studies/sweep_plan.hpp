#pragma once

// The runs of a sweep, their order, and the time that the rest will take. Pure: no MPI, no files.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cg/matrix/problem.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/run_verdict.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/studies/study.hpp"
#include "comm/block_layout.hpp"
#include "comm/domain_layout.hpp"

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

/// Counted runs of so many configurations, then runs with the machine's limits. The trace is of the best one, which is
/// not known before.
std::vector<StudyStep> extra_steps(std::size_t configuration_count, const ExtraRuns& extras);

/// The configuration to trace: the best, sure or not, of the greatest number of ranks and threads, of the last
/// problem. Empty where nothing succeeded.
std::optional<ConfiguredProblem> traced_configuration(const std::vector<ResultRecord>& records);

/// The file beside that of a sweep: "a.jsonl" has "a.trace.json".
std::string trace_file_of(const std::string& sweep_file);

/// Whether the configuration has the official program's grid. Systems have no official program.
bool is_official(const ConfiguredProblem& asked);

/// The configurations that a verdict on these records leaves open, by open_alternatives(), each once.
std::vector<ConfiguredProblem> open_configurations(const std::vector<ResultRecord>& records,
                                                   double precision);

}  // namespace cg2d
