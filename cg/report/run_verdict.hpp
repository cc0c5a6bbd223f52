#pragma once

// The one place that decides which runs are compared with each other, and which configuration is best. Sweeps,
// their tables and JSON, comparisons of files, and by that JSON the page of cg2d report follow it. Then what the same runs say of two
// sets of results, and why one grid is slower than another. Pure: no MPI, no files.

#include <iterator>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/sample.hpp"
#include "cg/report/result_reader.hpp"

namespace cg2d {

/// How many of some runs other work on the machine disturbed.
struct DisturbedRuns {
  int64_t count = 0;
  int64_t of = 0;
  DisturbedRuns& operator+=(const DisturbedRuns& others) {
    count += others.count;
    of += others.of;
    return *this;
  }
};
void describe(Members& m, DisturbedRuns& runs);

/// All runs of one problem with one configuration that are compared.
struct MeasuredConfiguration {
  ConfiguredProblem asked;
  std::string kernel_used;
  std::vector<ResultRecord> runs;     ///< the successful ones
  std::vector<int> round_numbers;     ///< number of the round of each of `runs`, as in `rounds`
  std::vector<double> times_s;        ///< seconds of all repetitions of `runs`
  RoundTimes rounds;                  ///< seconds by round: runs of the same number were made in turns
  std::vector<std::string> statuses;  ///< statuses of the failed runs
  std::string reason;                 ///< reason of the first failure
  int disturbed_count = 0;            ///< of its timed repetitions and failed runs
  int replaced_count = 0;             ///< disturbed runs that a later attempt replaced: not among its runs
  std::optional<ResultRecord> counted{};  ///< the last run with counted events, whose time need not count
  std::optional<ResultRecord> limited{};  ///< the last run with the machine's limits, likewise

  /// Whether its times count: no run failed.
  bool is_sound() const { return statuses.empty() && !times_s.empty(); }
  /// The sample of its times; nothing where they do not count.
  std::optional<Sample> sample() const {
    return is_sound() ? std::optional(sample_of(times_s)) : std::nullopt;
  }
  DisturbedRuns disturbed_runs() const {
    return {disturbed_count, std::ssize(times_s) + std::ssize(statuses)};
  }
  /// The run with the median of the reported times; of an even number the lower of the middle two. At least
  /// one must have succeeded.
  const ResultRecord& median_run() const;
};

/// A run that is not compared with the others.
struct LeftOutRun {
  std::string place;      ///< place of its record
  std::string key;        ///< key of its configuration
  std::string reason;     ///< one phrase
  bool is_extra = false;  ///< made beside the timed runs of a sweep, for another purpose
};
void describe(Members& m, LeftOutRun& run);

/// Each configuration once, in the order of its first record: for records that are all compared.
std::vector<MeasuredConfiguration> measured_configurations(const std::vector<ResultRecord>& records);

struct ComparableRuns {
  std::vector<MeasuredConfiguration> configurations;  ///< each once, in the order of their first records
  std::vector<LeftOutRun> left_out;
};

/// Sorts runs by configuration. Left out are runs that something slowed down on purpose (events counted,
/// machine's limits measured), and, of the grids of one problem, number of ranks and other choices, the runs of
/// any session but the one with the most runs. A session is a sweep with all its resumptions on one machine;
/// single runs of one machine count as one session, whose runs share no round. Of a round that was repeated the
/// last attempt counts, be it fast or slow: a choice by time would favour lucky runs.
ComparableRuns comparable_runs(const std::vector<ResultRecord>& records);

/// Configurations that answer one question, and the answer.
struct Ranking {
  /// Configurations whose times count, the best first, then by growing ratio to it.
  std::vector<MeasuredConfiguration> alternatives;
  BestVerdict verdict;  ///< its indices are those of `alternatives`; nothing where there are none

  /// nullptr if nothing succeeded.
  const MeasuredConfiguration* candidate() const {
    return alternatives.empty() ? nullptr : &alternatives.front();
  }
  /// The place of a configuration, or nullptr-like: alternatives.size() where its times do not count.
  size_t place_of(const ConfiguredProblem& asked) const;
  /// Whether the configuration is best or cannot be told from the best one.
  bool may_be_best(const ConfiguredProblem& asked) const;
  bool is_decided() const { return verdict.is_decided(); }
};
Ranking rank_by_time(const std::vector<MeasuredConfiguration>& cells);

/// The grids of one number of ranks, the other choices being equal: one row of the paper's table. In RunVerdicts::choices several such
/// rows together.
struct GridVerdict {
  ConfiguredProblem common;  ///< without a grid
  int rank_count = 1;
  std::vector<MeasuredConfiguration> cells;  ///< of a row by growing Px, failed ones too
  Ranking ranking;

  /// Whether both are of one problem, number of ranks and number of threads.
  bool has_problem_of(const GridVerdict& other) const;
};

struct RunVerdicts {
  std::vector<GridVerdict> grids;  ///< in the order of the first records, then by ranks
  /// All rows of one problem, number of ranks and number of threads together, row after row; streamed ones only where none in memory has
  /// times. In the same order. `common` is that of the first row: only its problem and its number of threads hold for all.
  std::vector<GridVerdict> choices;
  std::vector<LeftOutRun> left_out;
};
RunVerdicts verdicts_of(const std::vector<ResultRecord>& records);

// ---------------------------------------------------------------- two sets of results, configuration by configuration

/// The change of one configuration from the first set to the second.
enum class Change {
  regression,  ///< slower by more than the threshold, or failed in the second set only
  faster,      ///< by more than the threshold
  none,        ///< the interval of the ratio excludes a regression
  undecided,   ///< it does not, and does not show one either
  unknown,     ///< failed in the first set
};

std::span<const NamedValue<Change>> words_of(Change change);

/// The names of the two sets.
struct SetNames {
  std::string before = "A";
  std::string after = "B";
};

/// One configuration that both sets have.
struct ComparedConfiguration {
  MeasuredConfiguration before;
  MeasuredConfiguration after;
  RatioInterval ratio{};  ///< after / before, round by round in the order of measurement
  Change change = Change::unknown;
  std::optional<int> suggested_rounds{};  ///< where undecided, the rounds that should decide, if any would

  /// Whether no run failed.
  bool is_sound() const { return before.is_sound() && after.is_sound(); }
};

struct Comparison {
  SetNames names{};
  double threshold = 0.0;
  std::vector<ComparedConfiguration> common{};
  RatioInterval overall{};  ///< ratio of all common configurations together
  Change overall_change = Change::unknown;
  std::vector<std::string> only_before{};  ///< keys of configurations
  std::vector<std::string> only_after{};
  std::vector<LeftOutRun> left_out{};

  int count(Change change) const;
  /// regression where a configuration or all together are one, else undecided where one is, else success.
  ExitCode exit_code() const;
};

/// Compares the runs that comparable_runs() leaves in each set. Round k of the second set is paired with round
/// k of the first. A regression is a configuration whose interval of the ratio is above 1 + threshold (0.05:
/// 5 %), or that failed after and did not before; the configurations share wrong_verdict_probability, and all
/// of them together are one more comparison: common_interval(), which finds a uniform change in fewer rounds.
Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold, const SetNames& names = {});

/// The table, the configurations that only one set has, the runs that were left out, and the verdict.
std::string comparison_text(const Comparison& comparison);
/// With all figures.
void describe(Members& m, Comparison& comparison);

/// "5%", "5 %" or "5" -> 0.05. Nothing for anything else, or below 0.
std::optional<double> percentage_from(std::string text);

// ---------------------------------------------------------------- two grids, phase by phase

/// One phase of a CG step on two grids; means over the ranks, and over the middle half of the rounds by the difference of the
/// whole step: so phases and what is outside them add up to the whole.
struct PhaseDifference {
  std::optional<Phase>
      phase;  ///< empty: time outside all phases, and that by which the slowest rank exceeds the mean
  PhaseShare slower{};
  PhaseShare faster{};
  PhaseShare change{};  ///< slower - faster: messages and bytes are exact
  double share = 0.0;   ///< of its time in the whole difference; all together are 1
  /// The time of the faster grid with the slower one's phase in it, by its own time: how much this phase alone costs.
  RatioInterval cost{};

  /// Whether it is beyond the noise: wrong for 1 phase of 100 at most.
  bool is_sure() const { return cost.is_above(1.0) || cost.is_below(1.0); }
};

/// An event of a phase whose counts differ beyond what chance makes of so many; per CG step, mean over the ranks.
struct EventDifference {
  std::string event;
  Phase phase = Phase::multiply;
  double slower = 0.0;
  double faster = 0.0;
  double ratio() const { return slower / faster; }
};

struct GridDifference {
  ConfiguredProblem slower;
  ConfiguredProblem faster;
  RatioInterval ratio;
  /// Difference of a CG step, over the same rounds as that of the phases.
  double difference_s = 0.0;
  std::vector<PhaseDifference> phases{};  ///< phases of the benchmark, in their order, and the rest
  std::vector<EventDifference> events{};  ///< the greatest ratios first, up or down

  /// Whether the slower one is slower at all.
  bool is_sure() const { return ratio.is_above(1.0 + least_claimed_gain); }
};

/// The candidate of a row against the next one and the last one.
std::vector<GridDifference> differences_from_best(const GridVerdict& row);

void describe(Members& m, GridDifference& difference);

/// Two grids of a row against each other; nothing where the row lacks one of them.
using GridPair = std::pair<comm::ProcessGrid, comm::ProcessGrid>;
std::optional<GridDifference> difference_of_pair(const GridVerdict& row, const GridPair& pair);

/// "4x1 is 12 % (8 ... 15 %) slower than 1x4, +16.2 us per CG step; of it 85 % multiply (+14 us), ...". Claims
/// only what is sure.
std::string difference_words(const GridDifference& difference);

/// Counted events per grid and phase, the shares of the machine's limits, clocks if asked for, and measured and predicted seconds, as one
/// table; empty where no run has any.
std::string phase_table_of_grids(const std::vector<MeasuredConfiguration>& cells, bool shows_clocks);

}  // namespace cg2d
