#pragma once

// Trials: short measurements of a few candidates in turns. What a trial tries (grids, kernels, transports) is a table of candidates.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/race.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class Members;

/// One that was not tried.
struct SkippedCandidate {
  std::string name;
  std::string reason;
};

/// The result of a trial.
struct Trial {
  std::string best;                     ///< the one to take
  std::vector<TimedCandidate> tried{};  ///< empty without a trial
  std::vector<SkippedCandidate> skipped{};
  double duration_s = 0.0;        ///< seconds of the whole trial, with the making of its candidates
  double spread = 0.0;            ///< see MeasurementQuality
  std::string skipped_because{};  ///< why there was no trial, one phrase; empty with one
  RaceVerdict verdict{};  ///< how sure the choice is; no candidate where nothing was measured in turns now

  [[nodiscard]] const TimedCandidate& tried_one(std::string_view name) const;
  /// "sell 12.3 us, scalar 14 us per CG step; sell is better than ..."
  [[nodiscard]] std::string text() const;
};

/// Work that a trial times.
class TrialCandidate : public Interface {
 public:
  /// Collective.
  virtual void iterate() = 0;
  /// The result of the last iterate(), which is the same with every candidate; NaN where none is compared.
  [[nodiscard]] virtual double zeta() const { return std::numeric_limits<double>::quiet_NaN(); }
};

/// A candidate in a trial.
struct NamedCandidate {
  std::string name;
  std::unique_ptr<TrialCandidate> candidate;
};

/// The setting of a race of candidates.
struct TrialRace {
  std::string_view thing;  ///< for messages: "transport"
  int step_count = 1;      ///< CG steps of an iterate()
  RaceLimits limits;
  /// Not that of grids: before the end of an outer iteration a system may be solved to rounding, and its zeta be anything.
  bool compares_zeta = true;
};

/// Times all of these in turns, and adds their times, in their order, and the verdict to the trial. expected_zeta: of an earlier
/// race; set by the first candidate. Collective. Throws RunError (on every rank alike) for a zeta that differs: a candidate
/// may be fast because it is wrong.
void race_candidates(comm::RankGroup& group, const std::vector<NamedCandidate>& candidates,
                     const TrialRace& race, Trial& trial, std::optional<double>& expected_zeta);
inline void race_candidates(comm::RankGroup& group, const std::vector<NamedCandidate>& candidates,
                            const TrialRace& race, Trial& trial) {
  std::optional<double> zeta;
  race_candidates(group, candidates, race, trial, zeta);
}

/// The verdict's candidate first, the others by time.
template <typename Timed>
void rank_by_time(std::vector<Timed>& tried, const RaceVerdict& verdict) {
  std::ranges::stable_sort(
      tried, {}, [&](const Timed& one) { return one.name == verdict.candidate ? 0.0 : one.step_s; });
}

/// The benchmark's iteration on an assembled operator: for callers that time steps of it. Collective in everything but
/// the accessors.
class TrialSolver final : public TrialCandidate {
 public:
  static constexpr int few_steps = 3;

  /// shift: of the outer iterations from x = (1, ..., 1) that iterate() does, whose zeta is compared. Without one it does few_steps:
  /// after 25 steps a system may be solved to rounding, and its zeta be anything.
  TrialSolver(std::unique_ptr<AssembledOperator> assembled, std::optional<double> shift)
      : assembled_(std::move(assembled)), iteration_(*assembled_, shift.value_or(0.0)), is_whole_(shift) {}

  /// Makes and converts this rank's block, on the grid and with the transport of the configuration, with the chosen kernel. A product with
  /// several vectors is for the steps that of one vector with all their elements. Holds a reference to the group. Throws RunError (on
  /// every rank alike), MpiError.
  static std::unique_ptr<TrialSolver> make(comm::RankGroup& group, const MatrixSource& source,
                                           const Configuration& configuration, const ChosenKernel& chosen,
                                           std::optional<double> shift, bool times_phases = false);

  /// Products of this rank take so many times as long from now on.
  void slow_down(double factor) {
    slowdown_.emplace(std::vector{SlowRank{.factor = factor}});
    assembled_->matrix().set_slowdown(&*slowdown_);
  }

  void iterate() override {
    if (is_whole_) {
      iteration_.reset();
      zeta_ = iteration_.outer_step().zeta;
    } else {
      iteration_.steps(few_steps);
    }
  }
  [[nodiscard]] double zeta() const override { return is_whole_ ? zeta_ : TrialCandidate::zeta(); }
  OuterStep outer_step() { return iteration_.outer_step(); }

  [[nodiscard]] PhaseTimer& timer() { return assembled_->timer(); }
  /// Nonzeros of this rank's whole block, also where half of it is stored; of a solver of make().
  [[nodiscard]] std::int64_t nonzero_count() const { return nonzero_count_; }

 private:
  std::unique_ptr<AssembledOperator> assembled_;
  std::optional<Slowdown> slowdown_;
  NpbIteration iteration_;
  bool is_whole_;
  double zeta_ = 0.0;  // of the last iterate()
  std::int64_t nonzero_count_ = 0;
};

/// Members of trials, whatever they try. thing: "kernel", "grid".
void describe_tried(Members& m, std::string_view thing, Trial& trial);
void describe_skipped(Members& m, std::string_view thing, Trial& trial);
/// null where nothing was measured in turns.
void describe_verdict(Members& m, Trial& trial);

}  // namespace cg2d
