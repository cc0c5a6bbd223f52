#pragma once

// Which grids are worth a trial when the user leaves the grid open.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cg/machine/machine_description.hpp"
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

/// What a run on a grid would be, beside its problem.
struct ShortlistSetting {
  const Problem& problem;
  const Configuration& configuration;  ///< with a kernel, for the rule
  int rank_count = 1;
  /// Of this machine, on rank 0; the others need none.
  const std::optional<MachineDescription>& machine;
  /// The kernel that a grid would get.
  std::function<const kernels::KernelRow&(const comm::ProcessGrid&)> kernel_for;
};

/// The four best grids, by the model where the machine's description has all their kernels: then without
/// those that are predicted to take more than 1.25 times the best one's time. Else by the rule of
/// choose_grid(). Collective: the same answer on every rank.
GridShortlist make_grid_shortlist(comm::RankGroup& group, const ShortlistSetting& setting);

}  // namespace cg2d
