#pragma once

// `cg2d tune`: from measurements to a table and a profile.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What `cg2d tune` was asked for.
struct TuneOptions {
  std::vector<Problem> problems;
  std::vector<comm::ProcessGrid> grids;  ///< empty: every grid of the ranks
  int thread_count = 1;
  BindWish bind = BindWish::automatic;
  std::string transport{comm::default_transport().name};
  ProfileSource profile;  ///< where the result goes; unused: nowhere
  bool progress = false;  ///< asked for; a terminal gets it anyway
};

/// Measures, prints, and keeps the result in the profile, whose other contents stay. Collective; the same
/// code on every rank. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode tune(const TuneOptions& options, comm::RankGroup& group);

}  // namespace cg2d
