#pragma once

// Measures a machine description of this machine, under the ranks and threads that run.

#include <functional>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What a calibration is made with.
struct CalibrationSetting {
  const std::vector<Problem>& problems;  ///< whose blocks are measured, on every grid of the ranks
  int thread_count = 1;
  const Environment& environment;
  const LoadedProfile& profile;  ///< what kernel and settings auto takes
};

/// Products, vector operations and long messages: outer steps of the benchmark itself on all grids in turns,
/// timed by phase, with the kernel that auto takes. Short messages and additions: collections and sums by
/// themselves. Both for each transport that can serve, the default one on all grids, the others on one.
/// `say` gets a line per stage. Collective,
/// at least 2 ranks. Throws RunError, MpiError, std::bad_alloc.
MachineDescription calibrate(comm::RankGroup& group, const CalibrationSetting& setting,
                             const std::function<void(const std::string&)>& say);

}  // namespace cg2d
