#pragma once

// The descriptions of the parts of results that do not depend on what was measured.

#include <cstddef>
#include <string>

#include "cg/base/json_record.hpp"

namespace cg2d {

struct Environment;
struct GridTrial;
struct NodeInfo;
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

/// In the schema of a run, each is the definition of the name that is given here.
const Record<GridTrial>& grid_trial_record();            ///< grid_trial
const Record<TransportTrial>& transport_trial_record();  ///< transport_trial
const Record<SeenEnvironment>& environment_record();     ///< environment
const Record<Provenance>& provenance_record();           ///< provenance
const Record<NodeInfo>& node_record();                   ///< node
const Record<RowLengths>& row_length_record();           ///< row_lengths
const Record<QuietResult>& quiet_record();               ///< quiet_repeat
const Record<RankRange>& rank_range_record();            ///< rank_range
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
