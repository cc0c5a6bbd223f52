#pragma once

// `cg2d model`: what a machine is predicted to take, and the calibration of this one.

#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// What `cg2d model` was asked for.
struct ModelOptions {
  std::string machine;  ///< a name or a file; empty: the calibrated description of this machine
  std::vector<Problem> problems;
  std::vector<int> rank_counts;          ///< empty: the ranks that run
  std::vector<comm::ProcessGrid> grids;  ///< empty: all of the rank counts
  std::string kernel;                    ///< empty: the machine's default
  std::string transport{comm::default_transport().name};
  std::string format = "text";
  std::string output;
  bool calibrates = false;
  int thread_count = 1;  ///< of each rank, with calibrates
  bool progress = false;
};

/// Ranks that a model may be asked about.
inline constexpr int most_modelled_ranks = 1 << 20;

/// Collective. Throws RunError on every rank alike.
ExitCode model(const ModelOptions& options, comm::RankGroup& group);

}  // namespace cg2d
