#pragma once

// `cg2d simulate`: CG steps on a described machine whose links are shared. One CG step of each rank as operations for the simulator, from the
// schedules that the program executes: no MPI, and no matrix.

#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/simulation/replay_plan.hpp"
#include "cg/studies/model_command.hpp"
#include "comm/schedule.hpp"

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

/// The values of --placement, but for the path of a file.
inline constexpr std::string_view placement_values = "row-major, blocked, random:SEED, file:FILE";

/// The place of each rank: [rank], each once; place / (ranks of a node) is its node. row-major: that of its number, so process rows are
/// together. blocked: tiles of the grid of ranks are together, as nearly square as `together` ranks can be. random: by the seed, the same on
/// every machine. file: a number for each rank. Local: reads the file. Throws InputError: the option, the text, and what would be valid.
std::vector<int> places_from(std::string_view placement, const comm::ProcessGrid& grid, int together);

/// A machine with ranks on it.
struct PlacedRun {
  MachineDescription machine;  ///< with the network of the transport
  InterconnectCost interconnect;
  Interconnect links;
  Configuration configuration;  ///< whose kernel is one of the machine's
  comm::BlockLayout layout;
  RowLengthDistribution row_lengths;
  std::vector<int> places;       ///< [rank]
  std::vector<double> slowness;  ///< [rank]: products take so many times as long
  double work_factor = 1.0;      ///< all work of ranks takes so many times as long
  std::string slow_link{};       ///< a link that has only slow_link_share of its rate; empty: none
  static constexpr double slow_link_share = 0.25;

  int place_of(int rank) const { return places[static_cast<size_t>(rank)]; }
  int node_of(int rank) const { return place_of(rank) / std::max(machine.node.ranks, 1); }
};

/// The ranks of a grid on the machine, or on an interconnect of the shape that the options name; a machine without one has a crossbar. The kernel
/// is that of the options, or the machine's default, or its first. Throws InputError for a kernel or a transport that the machine does not have, for a placement,
/// for slow ranks that there are not, and where the interconnect has too few nodes.
PlacedRun place_run(const SimulateOptions& options, const MachineDescription& machine,
                    const MatrixFacts& matrix, const comm::ProcessGrid& grid);

/// Calls of one CG step, classic form.
struct StepCalls {
  static constexpr int sums = 2;
  static constexpr int updates = 3;
  /// Half storage adds two halves of the product.
  static constexpr int updates_of(bool is_symmetric) { return updates + (is_symmetric ? 1 : 0); }
};
/// The work of a rank in one call.
struct RankCosts {
  double multiply_s = 0.0;
  double waiting_s = 0.0;  ///< that ranks then wait for each other, as it was measured with them
  double dot_s = 0.0;      ///< without the sum over all ranks
  double update_s = 0.0;
};
RankCosts costs_of(const PlacedRun& run, int rank);

/// One CG step of one rank, classic form.
std::vector<RankOperation> step_of_rank(const PlacedRun& run, int rank);

/// The traffic of one phase of a CG step, all ranks together, and the link with most bytes. Links within nodes do not count.
struct PhaseTraffic {
  comm::Traffic all_ranks;
  int64_t used_link_count = 0;
  double mean_link_bytes = 0.0;  ///< of the links that it uses
  std::string busiest_link{};    ///< empty: no link is used
  comm::Traffic busiest{};       ///< on that one
  int most_at_once = 0;          ///< messages of one round on any link; more than one share it
};

/// All ranks, for the simulator.
struct StepPlan {
  ReplayPlan replay;
  std::vector<PhaseTraffic> phases{};  ///< [phase]
};
/// Cost: memory and time of the order of the messages of a step.
StepPlan plan_step(const PlacedRun& run, int repeats);

}  // namespace cg2d
