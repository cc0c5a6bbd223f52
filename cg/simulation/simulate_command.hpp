#pragma once

// `cg2d simulate`: CG steps on a described machine whose links are shared.

#include <string>

#include "cg/base/errors.hpp"
#include "cg/studies/model_command.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d simulate`.
struct SimulateOptions : MachineStudyOptions {
  std::string interconnect;  ///< TOPOLOGY:AxB...; empty: the machine's
  int rank_count = 0;        ///< 0: those of the grids
  std::string placement = "row-major";
  int step_count = 1;
  std::string trace;          ///< file of a time line of the only grid; empty: none
  bool asks_what_if = false;  ///< also with other links, nodes and latencies
};

/// The largest number of ranks that is simulated.
inline constexpr int most_simulated_ranks = 1 << 16;

/// The document, for its schema.
void visit_simulation(Members& m);

/// Collective. Throws RunError on every rank alike.
ExitCode simulate(const SimulateOptions& options, comm::RankGroup& group);

}  // namespace cg2d
