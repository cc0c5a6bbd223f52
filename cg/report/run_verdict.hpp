#pragma once

// The one place that decides which runs are compared with each other, and which configuration is best. Sweeps,
// their tables and JSON, comparisons of files, and by that JSON the page of scripts/report follow it.

#include <iterator>

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
  int disturbed_count = 0;            ///< disturbed ones of its runs, failed ones among them
  int replaced_count = 0;             ///< disturbed runs that a later attempt replaced: not among its runs
  std::optional<ResultRecord> counted{};  ///< the last run with counted events, whose time need not count
  std::optional<ResultRecord> limited{};  ///< the last run with the machine's limits, likewise

  /// Whether its times count: no run failed.
  bool is_sound() const { return statuses.empty() && !times_s.empty(); }
  /// The sample of its times; nothing where they do not count.
  std::optional<Sample> sample() const {
    return is_sound() ? std::optional(sample_of(times_s)) : std::nullopt;
  }
  DisturbedRuns disturbed_runs() const { return {disturbed_count, std::ssize(runs) + std::ssize(statuses)}; }
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

/// The grids of one number of ranks, the other choices being equal: one row of the paper's table.
struct GridVerdict {
  ConfiguredProblem common;  ///< without a grid
  int rank_count = 1;
  std::vector<MeasuredConfiguration> cells;  ///< by growing Px, failed ones too
  Ranking ranking;
};

/// All configurations of one problem, number of ranks and number of threads; streamed ones only where none in memory has times.
struct ChoiceVerdict {
  std::string problem;
  int rank_count = 1;
  int thread_count = 1;
  Ranking ranking;

  /// Whether the row's configurations are among these.
  bool has(const GridVerdict& row) const;
};

struct RunVerdicts {
  std::vector<GridVerdict> grids;      ///< in the order of the first records, then by ranks
  std::vector<ChoiceVerdict> choices;  ///< in the order of the first records, then by ranks
  std::vector<LeftOutRun> left_out;
};
RunVerdicts verdicts_of(const std::vector<ResultRecord>& records);

}  // namespace cg2d
