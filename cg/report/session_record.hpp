#pragma once

// The descriptions of the parts of results that do not depend on what was measured.

#include <cstddef>

#include "cg/report/record.hpp"

namespace cg2d {

struct CheckpointFacts;
struct Environment;
struct GridTrial;
struct GuardReport;
struct NodeInfo;
struct OutOfCoreFacts;
struct Provenance;
struct QuietResult;
struct RaceVerdict;
struct RankRange;
struct RowLengths;
struct SessionReport;
struct TransportTrial;

/// The environment of a result, or only of the machine that it is from.
struct SeenEnvironment {
  const Environment& environment;
  const SessionReport* session = nullptr;  ///< with binding and waiting
};

/// One check of a guard, by its place among all.
struct SeenCheck {
  const GuardReport& guard;
  std::size_t check = 0;
};

/// What a guard watches: places are other ones in a solve.
enum class GuardedWorkload { run, solve };

/// In the schema of a run, each is the definition of the name that is given here.
const Record<CheckpointFacts>& checkpoint_record();                    ///< checkpoints
const Record<OutOfCoreFacts>& out_of_core_record();                    ///< out_of_core
const Record<GridTrial>& grid_trial_record();                          ///< grid_trial
const Record<TransportTrial>& transport_trial_record();                ///< transport_trial
const Record<SeenEnvironment>& environment_record();                   ///< environment
const Record<Provenance>& provenance_record();                         ///< provenance
const Record<SeenCheck>& guard_check_record();                         ///< guard_check
const Record<GuardReport>& guard_record(GuardedWorkload workload);     ///< guard
const Record<GuardReport>& injected_record(GuardedWorkload workload);  ///< injected
const Record<NodeInfo>& node_record();                                 ///< node
const Record<RowLengths>& row_length_record();                         ///< row_lengths
const Record<QuietResult>& quiet_record();                             ///< quiet_repeat
const Record<RankRange>& rank_range_record();                          ///< rank_range
/// Of a verdict with a candidate.
const Record<RaceVerdict>& race_verdict_record();
/// race_verdict: null where nothing was tried.
FigureType race_verdict_type();

}  // namespace cg2d
