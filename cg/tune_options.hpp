#pragma once

// The command line of `cg2d tune`.

#include <optional>
#include <string>
#include <vector>

#include "cg/kernel_choice.hpp"
#include "cg/problem.hpp"
#include "cg/thread_binding.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"

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

/// The grids to tune; throws InputError that lists the valid ones when one does not match the rank count.
std::vector<comm::ProcessGrid> resolve_grids(const TuneOptions& options, int rank_count);

}  // namespace cg2d
