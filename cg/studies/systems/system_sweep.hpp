#pragma once

// `cg2d sweep` for a user's own system: CG iterations on every grid, and every cut of a domain, in turns.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/report/result_file.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/studies/sweep_command.hpp"
#include "comm/domain_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The iterations of a measurement that is not asked for another number: enough to make the first one, which warms up,
/// unimportant, and few enough that systems of some thousand rows are not solved earlier.
inline constexpr int usual_iteration_count = 50;

/// The values that a sweep of a system crosses.
struct SystemAxes {
  std::vector<int> rank_counts;           ///< empty: all ranks started
  std::vector<int> columns;               ///< Px; empty: every divisor of the rank count
  NamedGrids named{};                     ///< grids of a matrix
  std::vector<comm::DomainGrid> domains;  ///< empty: all that have no more parts than points
  std::vector<std::string> cuts;          ///< cuts of a matrix, as --cut takes them
  AxisValues values;                      ///< values of the other axes, by name
};

/// The options of `cg2d sweep` for a system.
struct SystemSweepOptions {
  SystemOptions system;  ///< with measured_system(); assembles: also the matrix of the operator
  SystemAxes axes;
  SweepRounds rounds;
};

/// Every configuration once: without a matrix first where the operator can be applied so. An operator's matrix is only
/// among them where it is to be assembled. Pure. Throws InputError for a number of ranks without a grid or a domain
/// that was asked for.
std::vector<ConfiguredProblem> system_configurations(const SystemSweepOptions& options);

/// The options of one run of these.
SystemOptions system_options_for(const SystemSweepOptions& options, const ConfiguredProblem& asked);

/// sweep() for a system; each of its matrices is read once for each number of ranks. Collective. Throws RunError on
/// every rank alike, also for a file that cannot be read.
ExitCode sweep_system(const SystemSweepOptions& options, comm::RankGroup& group);

}  // namespace cg2d
