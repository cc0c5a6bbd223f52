#pragma once

// The speeds of the ranks, measured at the same time, and the shares that follow from them.

#include <vector>

#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Speeds in nonzeros per second. Three of all ranks together: the sum of their own, what shares reach on the grid, and even pieces.
struct SpeedTrial {
  std::vector<double> speeds;  ///< [rank], while all others compute, too
  std::vector<double> shares;  ///< [piece], of the nonzeros; their sum is 1
  double ideal = 0.0;
  double reachable = 0.0;
  double even = 0.0;
  int round_count = 0;      ///< of measuring and cutting
  double duration_s = 0.0;  ///< seconds of all of it
};

/// A matrix on a grid, with its kernel.
struct SpeedTrialConfig {
  const MatrixFacts& matrix;
  const Configuration& configuration;
  const ChosenKernel& chosen;
  double slowness = 1.0;  ///< how many times as long products of this rank take, on purpose
};

/// Times products of that kernel on every rank at once, with blocks of the matrix's shape and mean length of rows, or the first
/// part of them; cuts, and measures again with blocks of these shares, until less than 2 % are to be gained, three times at most. Ranks stay where they are. Collective;
/// the same answer on every rank. Cost: about 0.1 s a round, and the making of blocks of a million nonzeros.
SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config);

/// "ideal 3.2, reachable on 2x2 2.9 (91 %), achieved 2.8 (88 %), even pieces 1.6 billion nonzeros per s; 2 rounds in 0.31 s". achieved: by the
/// products of the work; 0: not measured.
std::string describe_speeds(const SpeedTrial& trial, const comm::ProcessGrid& grid, double achieved);

}  // namespace cg2d
