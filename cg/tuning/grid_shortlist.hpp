#pragma once

// The grids that are worth a trial when the user leaves the grid open.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cg/machine/machine_description.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The most promising first; at least one.
struct GridShortlist {
  std::vector<comm::ProcessGrid> grids;
  std::string made_by;  ///< "model" or "rule"
};

/// A run whose grid is still open.
struct ShortlistConfig {
  const MatrixFacts& matrix;
  const Configuration& configuration;  ///< with the kernel that the rule is to count with
  /// The description of this machine, on rank 0; the others need none.
  const std::optional<MachineDescription>& machine;
  /// The kernel that a grid would get.
  std::function<const kernels::KernelRow&(const comm::ProcessGrid&)> kernel_for;
};

/// The four best grids of the group's ranks. By the model where the machine's description has all their
/// kernels, without grids that are predicted to take more than 1.25 times the best one's time; else by the
/// rule of choose_grid(). Collective: the same answer on every rank.
GridShortlist make_grid_shortlist(comm::RankGroup& group, const ShortlistConfig& config);

}  // namespace cg2d
