#pragma once

// The time of every phase on a described machine, for any grid: from the schedules that the program executes
// and the expected rows of the blocks. No MPI.

#include <array>
#include <string>
#include <vector>

#include "cg/machine/machine_description.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/matrix/row_length_distribution.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/timing/phase.hpp"
#include "comm/block_layout.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// Seconds by phase, in the order of Phase.
using PhaseSeconds = std::array<double, phase_count>;

/// What a grid is predicted to take.
struct Prediction {
  std::string machine;
  std::string kernel;
  comm::ProcessGrid grid;
  PhaseSeconds phases{};  ///< of the whole timed region

  [[nodiscard]] double total_s() const;
  [[nodiscard]] double phase_s(Phase phase) const { return phases[static_cast<std::size_t>(phase)]; }
};

/// Seconds of one call of each: what Table 4 of the paper shows, and one sum of a number over all ranks.
struct CommunicationCosts {
  double collection_s = 0.0;
  double summation_s = 0.0;
  double shuffle_s = 0.0;
  double dot_s = 0.0;
};

/// Which sum and storage the communication is for.
struct ModelledTransport {
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  bool is_symmetric = false;
};

/// One product's communication, and one dot product's. Each step of a schedule takes a start-up, its bytes,
/// and the additions of what it receives; the busiest rank counts, since the others wait for it. Of more than
/// most_sampled_ranks ranks so many are looked at, evenly spread.
inline constexpr int most_sampled_ranks = 32;
CommunicationCosts communication_costs(const MachineDescription& machine, const comm::BlockLayout& layout,
                                       const ModelledTransport& transport);

/// What one rank's block costs.
struct BlockCosts {
  double multiply_s = 0.0;  ///< one product
  double waiting_s = 0.0;   ///< what the ranks then wait for each other
  double dot_s_per_element = 0.0;
  double update_s_per_element = 0.0;
};

/// A block of that many rows of that distribution. `columns` matters to measured shapes only, the machine's
/// vectors to loops only.
BlockCosts block_costs(const MachineDescription& machine, const KernelCost& kernel, double rows,
                       double columns, const RowLengthDistribution& lengths);

/// The whole timed region on one grid. Cost: of the order of (Px + Py) * most_sampled_ranks.
Prediction predict(const MachineDescription& machine, const KernelCost& kernel, const Problem& problem,
                   const comm::ProcessGrid& grid, comm::SumForm sum_form);

/// With the machine's default kernel, or with the fastest where it names none, and its own form of the sum.
Prediction predict(const MachineDescription& machine, const Problem& problem, const comm::ProcessGrid& grid);

}  // namespace cg2d
