#pragma once

// The time of every phase on a described machine, for any configuration: from the schedules that the program
// executes and the expected rows of the blocks. Nothing here calls MPI.

#include "cg/machine/machine_description.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/npb_iteration.hpp"

namespace cg2d {

/// Seconds by phase, in the order of Phase.
using PhaseSeconds = std::array<double, benchmark_phase_count>;

/// The predicted times of one configuration.
struct Prediction {
  std::string machine;
  Configuration configuration;  ///< with the kernel that was counted with
  PhaseSeconds phases{};        ///< seconds of each phase in all outer steps
  double outside_s = 0.0;       ///< outside of the phases

  double total_s() const;
  double phase_s(Phase phase) const { return phases[index_of(phase)]; }
};

/// Seconds of one call per operation, at its phase: one product's communication, the columns of Table 4 of the paper, and the sum of a
/// number over all ranks (dot). Each step of a schedule takes a start-up, its bytes,
/// and the additions of the received elements; the busiest rank counts, since the others wait for it. At most
/// most_sampled_ranks ranks are looked at, evenly spread. ranks_per_node makes no difference.
inline constexpr int most_sampled_ranks = 32;
PhaseSeconds communication_costs(const MachineDescription& machine, const comm::BlockLayout& layout,
                                 const comm::CommunicatorOptions& options);

/// Seconds of one rank's work on its block and its vectors.
struct BlockCosts {
  double multiply_s = 0.0;  ///< one product
  double waiting_s = 0.0;   ///< time that the ranks then wait for each other
  double dot_s_per_element = 0.0;
  double update_s_per_element = 0.0;
};

/// The costs of a block with that many rows of the distribution. `columns` matters to measured shapes only,
/// the machine's vectors to loops only.
BlockCosts block_costs(const MachineDescription& machine, const KernelCost& kernel, double rows,
                       double columns, const RowLengthDistribution& lengths);

/// The phase in which ranks wait for slower ones after a product: the first one with messages.
Phase waiting_phase(const comm::ProcessGrid& grid, bool is_symmetric);

/// Ranks whose products take longer or shorter than the description says of all.
struct UnevenRanks {
  std::vector<double> slowness{};  ///< [rank]: times as long; empty: 1
  SlowRanks slow{};                ///< these on purpose, besides
};

/// The time of outer_step_count outer steps in a configuration, whose grid must be known. The kernel is the
/// configuration's; where that one is automatic, the machine's default kernel, or the fastest where it names
/// none. The network is that of the transport, where the machine knows it. Pieces are those of the matrix; in each product all wait for the
/// rank that takes longest for its block. Throws InputError where the machine does not have the kernel. Cost: of the order of
/// (Px + Py) * most_sampled_ranks, and where pieces are uneven Px * Py.
Prediction predict(const MachineDescription& machine, const MatrixFacts& matrix,
                   const Configuration& configuration, int outer_step_count, const UnevenRanks& ranks = {});

/// Throws InputError (bad_data) where all costs of a description add up to no time: nothing can be related to that.
void require_some_time(double seconds, std::string_view machine, std::string_view kernel);

}  // namespace cg2d
