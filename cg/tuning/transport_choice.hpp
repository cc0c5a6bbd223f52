#pragma once

// --transport auto: which way to move data is the fastest for this run, by the tuning profile or by a short
// measurement whose result the profile keeps.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "comm/schedule.hpp"

namespace cg2d {

/// A transport that was not tried.
struct SkippedTransport {
  std::string name;
  std::string reason;
};

/// What became of --transport auto.
struct TransportTrial {
  std::string best;
  bool from_profile = false;            ///< nothing was measured now
  std::vector<TimedTransport> tried{};  ///< the fastest first, whenever it was measured
  std::vector<SkippedTransport> skipped{};
  double duration_s = 0.0;         ///< 0 without a measurement
  std::string kept_in{};           ///< the profile that has the result; empty: none
  std::string not_kept_because{};  ///< one phrase; empty where kept
};

/// One line for people.
std::string describe_transport_trial(const TransportTrial& trial);

/// What the transports are to move.
struct TransportTrialSetting {
  const Problem& problem;
  const comm::BlockLayout& layout;
  BlockProduct& product;  ///< of this rank's block, the same for all transports
  comm::SumForm sum_form = comm::SumForm::reduce_scatter;
  int thread_count = 1;
  int ranks_per_node = 0;  ///< as in comm::CommunicatorOptions
  /// Whether the vectors of all transports may be in memory at once. If not, they are not measured in turns.
  bool has_room_for_all = true;
};

/// Runs a few outer iterations with every transport that is available, in turns. Takes three to seven outer
/// iterations with each. Collective; the same answer on every rank. Throws RunError (on every rank alike)
/// when two transports disagree about the result, and MpiError.
TransportTrial try_transports(comm::RankGroup& group, const TransportTrialSetting& setting);

/// The transports of the case, if one of the profile's is of this very task and has a time for every
/// transport that is available now; else nothing. Collective.
std::optional<TransportTrial> known_transports(comm::RankGroup& group, const LoadedProfile& profile,
                                               const TransportTask& task);

/// Puts the trial's times into the profile's file and notes where, or why not. What cannot be kept is no
/// error. Collective; rank 0 writes.
void keep_transports(comm::RankGroup& group, const ProfileSource& source, const Environment& environment,
                     const TransportTask& task, TransportTrial& trial);

/// A run that leaves its transport open, behind the making of its block.
struct TransportChoiceSetting {
  const Problem& problem;
  const Configuration& configuration;
  const comm::BlockLayout& layout;
  const SourceRow& source;
  BlockProduct& product;
  const Environment& environment;
  const std::string& wait_mode;
  const LoadedProfile& profile;
  const ProfileSource& profile_source;
};

/// From the profile if it knows, else measured and kept there. Collective; the same answer on every rank.
/// Throws as try_transports().
TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceSetting& setting);

}  // namespace cg2d
