#pragma once

// The speeds of the ranks, measured at the same time or known from the tuning profile, and the shares that follow from them.

#include <span>
#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "comm/rank_group.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {

class Members;

/// Speeds in nonzeros per second. Three of all ranks together: the sum of their own, what shares reach on the grid, and even pieces.
struct SpeedTrial : KeptResult {
  comm::ProcessGrid grid;      ///< with the places of the ranks
  std::vector<double> speeds;  ///< [rank], while all others compute, too
  std::vector<double> shares;  ///< [piece], of the nonzeros; their sum is 1
  double ideal = 0.0;
  double reachable = 0.0;
  double even = 0.0;
  int round_count = 0;      ///< of measuring and cutting; 0 from the profile
  double duration_s = 0.0;  ///< seconds of all of it
  double spread = 0.0;      ///< see MeasurementQuality
};

/// A matrix on a grid, with its kernel.
struct SpeedTrialConfig {
  const MatrixFacts& matrix;
  const Configuration& configuration;
  const ChosenKernel& chosen;
  double slowness = 1.0;  ///< how many times as long products of this rank take, on purpose
};

/// Times products of that kernel on every rank at once, with blocks of the matrix's shape and mean length of rows, or the first
/// part of them; cuts, and measures again with blocks of these shares at these places, until less than 2 % are to be gained or
/// these blocks are within 5 % of those that were timed, three times at most. Collective; the same answer on every rank. Cost: about
/// 0.1 s a round, and the making of blocks of a million nonzeros.
SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config);

/// Nonzeros per second of this rank's products with a small block of its own, while all ranks of the group compute. Collective; each
/// rank gets its own. Cost: about 0.05 s.
double own_speed(comm::RankGroup& group);

/// A work whose ranks may differ in speed, with its machine.
struct SpeedChoiceConfig {
  SpeedTrialConfig trial;
  const Environment& environment;
  const BindingResult& binding;
  const LoadedProfile& profile;
  const ProfileSource& profile_source;
};

/// The hosts and processors of the ranks: [rank], "host 0-1", or "host 0 1" where each of its threads has its own.
std::vector<std::string> places_of(const Environment& environment, const BindingResult& binding);

/// From the profile where it knows these places, matrix, grid, kernel and threads, else measured once and kept there, unless
/// that was disturbed. Where ranks are slowed on purpose, they are measured and not kept. Collective; the same answer on every rank.
SpeedTrial choose_speeds(comm::RankGroup& group, const SpeedChoiceConfig& config);

/// comm::shares_in_place(), as rank 0 finds them. Collective.
std::vector<double> agreed_shares(comm::RankGroup& group, std::span<const double> speeds,
                                  const comm::ProcessGrid& grid);
/// comm::shares_on_grid(), as rank 0 finds them. Collective.
comm::SpeedShares agreed_shares_and_places(comm::RankGroup& group, std::span<const double> speeds,
                                           const comm::ProcessGrid& grid);

/// How many times as long as their mean products of each rank take, by speeds that were measured while each was slowed by its factor, which is
/// not counted.
std::vector<double> own_slowness(std::span<const double> speeds, std::span<const double> factors);

/// "sum of the ranks' own 3.2, reachable on 2x2 2.9 (91 %), achieved 2.8 (88 %), even pieces 1.6 billion nonzeros per s; 2 rounds, measured now in
/// 0.31 s, kept in P". achieved: by the products of the work; 0: not measured.
std::string describe_speeds(const SpeedTrial& trial, double achieved);

void describe(Members& m, SpeedTrial& trial);

}  // namespace cg2d
