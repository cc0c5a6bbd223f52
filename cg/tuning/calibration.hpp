#pragma once

// Measures the description of this machine, with the ranks and threads that run.

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "cg/base/progress.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The cases of a calibration.
struct CalibrationConfig {
  /// Sources of the matrices whose blocks are measured.
  std::span<const std::unique_ptr<MatrixSource>> sources;
  const Configuration& configuration;  ///< its grid and transport are each case's own
  const Environment& environment;
  const LoadedProfile& profile;  ///< for the kernel and its settings
};

/// A description with the spread of the outer steps that it comes from (see MeasurementQuality).
struct CalibrationResult {
  MachineDescription machine;
  double spread = 0.0;
};

/// The stages of calibrate(), by the texts that `say` gets, with the seconds that they take on a common machine.
/// Collective; the same on every rank.
std::vector<Work> works_of_calibration(comm::RankGroup& group, const CalibrationConfig& config);

/// Measures products, vector operations and long messages in outer steps of the benchmark itself, on all
/// grids in turns, timed by phase, with the kernel that choose_kernel() takes. Measures short messages and
/// additions in collections and sums by themselves. Both for each transport that can serve, the default one
/// on all grids, the others on one. `say` gets a line per stage. Collective, at least 2 ranks. Throws
/// InputError, RunError, MpiError, std::bad_alloc.
CalibrationResult calibrate(comm::RankGroup& group, const CalibrationConfig& config,
                            const std::function<void(const std::string&)>& say);

}  // namespace cg2d
