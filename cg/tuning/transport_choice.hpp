#pragma once

// --transport auto: the choice of a transport for a run, by the tuning profile or by a short
// measurement whose result the profile keeps.

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/measurement_record.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A transport that was not tried.
struct SkippedTransport {
  std::string name;
  std::string reason;
};

/// The result of --transport auto.
struct TransportTrial {
  std::string best;                     ///< the first of those tried
  bool from_profile = false;            ///< nothing was measured now
  std::vector<TimedTransport> tried{};  ///< by time; the verdict's candidate first, where there is one
  std::vector<SkippedTransport> skipped{};
  double duration_s = 0.0;         ///< seconds of all attempts; 0 without a measurement
  double spread = 0.0;             ///< spread of the last attempt, see MeasurementQuality
  MeasurementRecord measured{};    ///< whenever it was measured
  std::string kept_in{};           ///< the profile that has the result; empty: none
  std::string not_kept_because{};  ///< one phrase; empty where kept
  RaceVerdict verdict{};  ///< how sure the choice is; no candidate where nothing was measured in turns now
};

/// One line for people.
std::string describe_transport_trial(const TransportTrial& trial);

/// One line each for a result that is not kept in the profile in use, and for one that is old or was disturbed.
std::vector<std::string> warnings_of(const TransportTrial& trial, const ProfileSource& source,
                                     const MatrixFacts& matrix);

/// A solver with one of the transports of a trial.
class TransportContestant : public Interface {
 public:
  /// The work that is timed. Collective.
  virtual void iterate() = 0;
  /// The result of the last iterate(), which is the same with every transport; NaN where none is compared.
  [[nodiscard]] virtual double zeta() const { return std::numeric_limits<double>::quiet_NaN(); }
};

/// A solver that lacks its transport.
struct TransportTrialConfig {
  const Configuration& configuration;  ///< its transport is that of each contestant
  /// The solver with that transport. Collective. Throws SharedMemoryError, on all ranks alike, where the ranks cannot share
  /// as much memory as the transport needs: the others may serve.
  std::function<std::unique_ptr<TransportContestant>(const comm::TransportRow& transport)> make;
  int step_count = cg_steps_per_solve;  ///< CG steps of a contestant's iterate()
  /// Whether the vectors of all transports may be in memory at once. If not, the transports are measured one
  /// after the other, not in turns.
  bool has_room_for_all = true;
};

/// This rank's block of an assembled matrix. Holds references, which must outlive its contestants.
struct BlockTrialConfig {
  const comm::BlockLayout& layout;
  const Configuration& configuration;
  std::shared_ptr<BlockProduct> product;  ///< the same for all transports
  /// Shift of the benchmark's outer iterations, whose zeta is compared. Empty for any other system, where
  /// GridSolver::few_steps are done: after 25 steps a system may be solved to rounding, and its zeta be anything.
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

/// Puts the trial's times into the profile's file and notes where, or why not: a file that cannot be written
/// is no error. Collective; rank 0 writes.
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

}  // namespace cg2d
