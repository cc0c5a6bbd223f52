#pragma once

// `cg2d simulate`: CG steps on a described machine whose links are shared.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d simulate`.
struct SimulateOptions {
  std::string machine;       ///< a name or a file
  std::string interconnect;  ///< TOPOLOGY:AxB...; empty: the machine's
  std::vector<Problem> problems;
  int rank_count = 0;  ///< 0: those of the grids
  NamedGrids grids;    ///< none: all of the rank count
  Configuration configuration;
  std::string placement = "row-major";
  SlowRanks slow;
  int step_count = 1;
  std::string trace;          ///< file of a time line of the only grid; empty: none
  bool asks_what_if = false;  ///< also with other links, nodes and latencies
  std::string format = "text";
  std::string output;
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The largest number of ranks that is simulated.
inline constexpr int most_simulated_ranks = 1 << 16;

/// The document, for its schema.
void visit_simulation(Members& m);

/// Collective. Throws RunError on every rank alike.
ExitCode simulate(const SimulateOptions& options, comm::RankGroup& group);

}  // namespace cg2d
