#pragma once

// `cg2d tune`: from measurements to a table and a profile.

#include <vector>

#include "cg/base/errors.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The options of `cg2d tune`.
struct TuneOptions {
  std::vector<Problem> problems;
  std::vector<comm::ProcessGrid> grids;  ///< empty: every grid of the ranks
  Configuration configuration;           ///< of every case, without grid and kernel
  BindMode bind = BindMode::automatic;
  ProfileSource profile;  ///< where the result goes; unused: nowhere
  bool progress = false;  ///< asked for; a terminal gets it anyway
};

/// Measures, prints, and keeps the result in the profile, whose other contents stay. Collective; the same
/// code on every rank. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode tune(const TuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
