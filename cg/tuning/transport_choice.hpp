#pragma once

// --transport auto: the choice of a transport for a run, by the tuning profile or by a short
// measurement whose result the profile keeps.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "cg/tuning/trial.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

/// The result of --transport auto: the one to take is the first of those tried, which are by time, the verdict's candidate first where
/// there is one. Its duration is that of all attempts.
struct TransportTrial : Trial, KeptResult {};

/// One line for people.
std::string describe_transport_trial(const TransportTrial& trial);

/// A solver that lacks its transport.
struct TransportTrialConfig {
  const Configuration& configuration;  ///< its transport is that of each candidate
  /// The solver with that transport. Collective. Throws SharedMemoryError, on all ranks alike, where the ranks cannot share
  /// as much memory as the transport needs: the others may serve.
  std::function<std::unique_ptr<TrialCandidate>(const comm::TransportRow& transport)> make;
  int step_count = cg_steps_per_solve;  ///< CG steps of a candidate's iterate()
  /// Whether the vectors of all transports may be in memory at once. If not, the transports are measured one
  /// after the other, not in turns.
  bool has_room_for_all = true;
};

/// This rank's block of an assembled matrix. Holds references, which must outlive its candidates.
struct BlockTrialConfig {
  const comm::BlockLayout& layout;
  const Configuration& configuration;
  std::shared_ptr<BlockProduct> product;  ///< the same for all transports
  /// Shift of the benchmark's outer iterations, whose zeta is compared. Empty for any other system, see
  /// TrialSolver.
  std::optional<double> shift{};
};
TransportTrialConfig block_trial(comm::RankGroup& group, const BlockTrialConfig& config);

/// Runs a few outer iterations with every transport that is available, in turns. Cost: three to seven outer
/// iterations with each. Collective; the same answer on every rank. Throws RunError (on every rank alike)
/// when two transports disagree about the result, and MpiError.
TransportTrial try_transports(comm::RankGroup& group, const TransportTrialConfig& config);

/// The times in the profile's case of these very conditions, if it has one for every transport that is
/// available now; else empty. Collective.
std::optional<TransportTrial> known_transports(comm::RankGroup& group, const LoadedProfile& profile,
                                               const TransportConditions& conditions);

/// Puts the trial's times into the profile's file, as keep_result().
void keep_transports(comm::RankGroup& group, const ProfileSource& source, const Environment& environment,
                     const TransportConditions& conditions, TransportTrial& trial);

/// A run that leaves its transport open, after its block has been made.
struct TransportChoiceConfig {
  const MatrixSource& source;
  BlockTrialConfig trial;  ///< its configuration with the kernel that runs
  const Environment& environment;
  const LoadedProfile& profile;
  const ProfileSource& profile_source;
  const std::function<void(const std::string&)>& say;  ///< gets a line per repetition of the measurement
};

/// From the profile if it has all times, else measured and kept there. A measurement that was disturbed or makes
/// no sense is taken again, up to three times in all, and then not kept; it makes the choice all the same. Collective; the same answer on every rank. Throws as try_transports().
TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceConfig& config);

void describe(Members& m, TransportTrial& trial);

}  // namespace cg2d
