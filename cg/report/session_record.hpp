#pragma once

// The descriptions of the parts of results that do not depend on what was measured.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/json_record.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

struct Configuration;
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
struct SpeedTrial;
struct TransportTrial;
enum class WorkKind;

/// The environment of a result, or only of the machine that it is from.
struct SeenEnvironment {
  const Environment& environment;
  const SessionReport* session = nullptr;  ///< with binding and waiting
};

/// A rank's block and memory; streamed blocks are never there as a whole.
struct SeenRank {
  const RankResult& rank;
  bool is_streamed = false;
};

/// The program; the string is its version.
const Record<std::string>& program_record();
Json program_json();
const Record<comm::ProcessGrid>& grid_record();

/// The axes that an object gets: all of them, or those that sweeps cross.
enum class AxesIn { a_report, a_sweep };
/// One member for each of them, in the order of the table.
Record<Configuration> axis_record(AxesIn which);

/// Schema version, program, status, reason, exit code and warnings: the first members of a result of this command.
std::vector<Figure<SessionReport>> head_figures(int schema_version, std::string_view command);
/// A schema of status and exit code for each end of the command by one of these codes, or, unless is_one, by any other one.
Json ends_with_one_of(std::string_view command, const std::vector<ExitCode>& codes, bool is_one = true);
/// Provenance and environment; null where the work ended before they were known.
std::vector<Figure<SessionReport>> origin_figures();
/// Grid, axes and the trials that chose them.
const Record<SessionReport>& configuration_record();
/// The sections of features that were used.
std::vector<Figure<SessionReport>> feature_figures(WorkKind kind);

const Record<GridTrial>& grid_trial_record();
const Record<TransportTrial>& transport_trial_record();
const Record<SpeedTrial>& speed_trial_record();
const Record<SeenEnvironment>& environment_record();
/// Nodes with their processors and caches, the place of each rank, versions.
Json environment_json(const Environment& environment);
const Record<Provenance>& provenance_record();
const Record<NodeInfo>& node_record();
const Record<RowLengths>& row_length_record();
const Record<QuietResult>& quiet_record();
const Record<RankRange>& rank_range_record();
/// The first members of a rank in setup.
const Record<SeenRank>& rank_block_record();
std::vector<SeenRank> seen_ranks(const SessionReport& report);
/// A verdict that has a candidate.
const Record<RaceVerdict>& race_verdict_record();

/// Members of trials, whatever they try. kind: "kernel", "transport".
template <typename Trial>
Figure<Trial> verdict_figure() {
  return part<Trial>(
      "verdict", race_verdict_record(),
      [](const Trial& trial) { return trial.verdict.candidate.empty() ? nullptr : &trial.verdict; },
      "How sure the choice of a trial is; null where nothing was measured in turns.");
}
/// A candidate with the time of a CG step.
template <typename Candidate>
Record<Candidate> timed_candidate_record(const std::string& kind) {
  return {"timed_" + kind,
          {{kind, name_type(), &Candidate::name}, {"step_s", positive_seconds_type(), &Candidate::step_s}}};
}
/// One that was left out.
template <typename Candidate>
Record<Candidate> skipped_candidate_record(const std::string& kind) {
  return {"skipped_" + kind,
          {{kind, name_type(), &Candidate::name}, {"reason", name_type(), &Candidate::reason}}};
}

}  // namespace cg2d
