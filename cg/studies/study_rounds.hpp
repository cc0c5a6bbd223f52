#pragma once

// Cases that run in rounds, in turns: the rounds of every study.

#include <cstddef>
#include <string>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/run/benchmark_run.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A case of a study. Studies number theirs from 0.
struct StudyCase {
  std::string name;  ///< in messages
  int rank_count = 1;
  Work work{};  ///< by which its duration is expected
};

/// One run of a case in a round, from 1 on. Disturbed runs have several attempts.
struct StudyStep {
  std::size_t number = 0;
  int round = 1;
  int attempt = 1;
  RunPurpose purpose = RunPurpose::time;
};

/// Rounds from the first to the last one.
struct RoundRange {
  int first = 1;
  int last = 1;
};

/// All cases in one round, then all in the next and so on: a drift of the machine affects all alike. Rounds of even
/// numbers go backwards, so that a steady drift favours none.
std::vector<StudyStep> interleaved(const std::vector<std::size_t>& numbers, RoundRange rounds);

/// 0, 1, ... of so many cases.
std::vector<std::size_t> all_numbers(std::size_t case_count);

/// Inserts the next attempt of steps[index] after all other steps of its round: later, since a disturbance
/// lasts, and within the round, whose runs are compared with each other. steps[index] has been performed, and
/// steps of later rounds have not.
void repeat_step(std::vector<StudyStep>& steps, std::size_t index);

/// Returns the steps of rank 0. Collective.
std::vector<StudyStep> of_rank_0(comm::RankGroup& group, const std::vector<StudyStep>& steps);

/// The caller of the rounds: runs each, and keeps the results.
class StudyRuns : public Interface {
 public:
  /// The end of a run, as its study sees it.
  struct End {
    std::string text;          ///< for the user
    bool is_repeated = false;  ///< at the end of its round
  };

  /// Makes one complete run, failed ones included. Collective over the ranks of its case. Throws RunError (on every
  /// rank alike), which ends the study, MpiError.
  virtual void perform(const StudyStep& step, comm::RankGroup& ranks, const Progress& progress) = 0;
  /// Keeps the result of the run that was just made, which took so long with its set-up. On rank 0.
  virtual End keep(const StudyStep& step, double duration_s) = 0;
  /// The numbers of the cases that need more rounds: open_alternatives() of all verdicts. On rank 0.
  [[nodiscard]] virtual std::vector<std::size_t> open_cases(double precision) const = 0;
};

/// The rounds of a study. Ranks that take no part in a run sleep in the agreement that follows it. Collective in every
/// operation but note(). Holds references.
class StudyRounds {
 public:
  StudyRounds(StudyRuns& runs, std::vector<StudyCase> cases, SubgroupCache& ranks, comm::RankGroup& group,
              const Progress& progress);

  /// A timed run that was made before. On rank 0.
  void note(const StudyStep& step, double duration_s);
  /// Makes these runs. False where a signal asked to end.
  bool perform(std::vector<StudyStep> steps);
  /// Adds blocks of rounds of the cases whose verdicts are open, until none is, or no further round is expected to fit into
  /// the time. False where a signal asked to end.
  bool perform_until_sure(const UntilSure& until_sure);

 private:
  void perform_step(std::size_t index);
  [[nodiscard]] std::vector<StudyStep> more_rounds(const UntilSure& until_sure, double spent_s) const;
  [[nodiscard]] const StudyCase& case_of(const StudyStep& step) const { return cases_[step.number]; }
  [[nodiscard]] std::string place_of(std::size_t index) const;
  void expect_from(std::size_t index) const;
  [[nodiscard]] double rest_s(std::size_t index, double run_s) const;

  StudyRuns& runs_;
  std::vector<StudyCase> cases_;
  SubgroupCache& first_ranks_;
  comm::RankGroup& group_;
  const Progress& progress_;
  InterruptWatch watch_;
  DurationModel durations_;       // of whole runs, on rank 0
  std::vector<int> last_rounds_;  // of each case, on rank 0
  std::vector<StudyStep> steps_;
};

}  // namespace cg2d
