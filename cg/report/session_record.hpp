#pragma once

// The descriptions of the parts of results that do not depend on what was measured.

#include <cstddef>
#include <string>

#include "cg/base/json_record.hpp"

namespace cg2d {

struct CheckpointFacts;
struct Environment;
struct FoundCheckpoint;
struct GridTrial;
struct GuardReport;
struct NodeInfo;
struct OutOfCoreFacts;
struct Provenance;
struct QuietResult;
struct RaceVerdict;
struct RankRange;
struct RankResult;
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

/// The work that a guard watches: places are other ones in a solve.
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
/// The first members of restart.
const Record<FoundCheckpoint>& found_checkpoint_record();
/// A rank's block and memory, in setup; streamed blocks are never there as a whole.
Record<RankResult> rank_block_record(bool is_streamed);
/// Of a verdict with a candidate.
const Record<RaceVerdict>& race_verdict_record();
/// race_verdict: null where nothing was tried.
FigureType race_verdict_type();
Json race_verdict_json(const RaceVerdict& verdict);

/// Members of trials, whatever they try. kind: "kernel", "transport".
template <typename Trial>
Figure<Trial> verdict_figure() {
  return {"verdict", defined("race_verdict"),
          [](const auto& trial) { return race_verdict_json(trial.verdict); }, "", Presence::always_now};
}
/// A candidate with the time of a CG step.
template <typename Candidate>
Record<Candidate> timed_candidate_record(const std::string& kind) {
  return {{{kind, name_type(), &Candidate::name}, {"step_s", positive_seconds_type(), &Candidate::step_s}}};
}
/// One that was left out.
template <typename Candidate>
Record<Candidate> skipped_candidate_record(const std::string& kind) {
  return {{{kind, name_type(), &Candidate::name}, {"reason", name_type(), &Candidate::reason}}};
}

}  // namespace cg2d
