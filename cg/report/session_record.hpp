#pragma once

// The descriptions of the parts of results that do not depend on what was measured.

#include "cg/report/record.hpp"

namespace cg2d {

struct CheckpointFacts;
struct GridTrial;
struct NodeInfo;
struct OutOfCoreFacts;
struct QuietResult;
struct RaceVerdict;
struct RankRange;
struct RowLengths;
struct TransportTrial;

/// In the schema of a run, each is the definition of the name that is given here.
const Record<CheckpointFacts>& checkpoint_record();      ///< checkpoints
const Record<OutOfCoreFacts>& out_of_core_record();      ///< out_of_core
const Record<GridTrial>& grid_trial_record();            ///< grid_trial
const Record<TransportTrial>& transport_trial_record();  ///< transport_trial
const Record<NodeInfo>& node_record();                   ///< node
const Record<RowLengths>& row_length_record();           ///< row_lengths
const Record<QuietResult>& quiet_record();               ///< quiet_repeat
const Record<RankRange>& rank_range_record();            ///< rank_range
/// Of a verdict with a candidate.
const Record<RaceVerdict>& race_verdict_record();
/// race_verdict: null where nothing was tried.
FigureType race_verdict_type();

}  // namespace cg2d
