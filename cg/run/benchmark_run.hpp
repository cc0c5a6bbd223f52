#pragma once

// One run of the benchmark, from options to a complete report.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/rebalance/rebalance_feature.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/session.hpp"
#include "cg/run/session_options.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Saves the state after an outer iteration where the interval is over, by the clock of rank 0, or a stop has been asked for. All ranks call
/// it alike. Holds references: iteration, range and checkpoints must outlive it.
class RunCheckpoints final : public OuterStepObserver {
 public:
  /// Rehearses a checkpoint. range: of this rank's piece of x at each time. earlier_steps: before a restart. Collective. Throws as
  /// Checkpoints::rehearse().
  RunCheckpoints(const Problem& problem, const NpbIteration& iteration, const comm::IndexRange& range,
                 std::vector<OuterStep> earlier_steps, Checkpoints& checkpoints);

  void after_outer_step(int number, const OuterStep& step) override;

 private:
  [[nodiscard]] CheckpointState state();

  const NpbIteration& iteration_;
  const comm::IndexRange& range_;
  RestartFacts saved_;  // but for its checkpoint
  Checkpoints& checkpoints_;
};

/// Holds references: options, group, progress and report must outlive it. As the observer of outer iterations it says the figures of each, and how
/// long all that are left may take, and requests to stop when a signal has asked for it.
class BenchmarkRun final : public Session, private OuterStepObserver {
 public:
  BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress,
               RunReport& report);

  /// The plan of a run with --out-of-core that ends after begin(); empty without. Collective. Throws RunError.
  [[nodiscard]] std::optional<StreamPlan> plan_streaming(const comm::BlockLayout& layout);

  const MatrixSource& source() const { return *source_; }

 private:
  /// Chooses the grid and the kernel, but for trials.
  void prepare() override;
  void note_choices() override;
  std::unique_ptr<BlockProduct> make_product(const comm::BlockLayout& layout) override;
  MeasuredSolver make_solver() override;
  const RepeatReport* iterate() override;

  void predict_phases();
  void move_to(std::span<const double> shares);
  StreamedMatrix streamed_matrix(const comm::BlockLayout& layout) const;
  std::unique_ptr<BlockProduct> stream(const comm::BlockLayout& layout);
  void reset_x();
  bool repeat_once(int repeat_number);
  double repeats_s() const;
  int repeats_in_all() const;
  void end_early(const std::vector<OuterStep>& steps, const std::string& where);
  [[nodiscard]] bool asks_to_stop() override { return watch_->asked(); }
  void after_outer_step(int number, const OuterStep& step) override;

  const RunOptions& options_;
  RunReport& report_;
  std::unique_ptr<MatrixSource> own_source_;
  std::optional<NpbIteration> iteration_;
  std::optional<Rebalancer> rebalancer_;  ///< where one is asked for
  comm::IndexRange piece_;                ///< of the solver's vectors: this rank's
  /// From the first iteration on, until the results are written: they are not given up for a late signal.
  std::optional<InterruptWatch> watch_;
  std::optional<RunCheckpoints> run_checkpoints_;
  HugePageVector restarted_x_;  ///< this rank's piece, of a checkpoint
  double first_step_s_ = 0.0;   ///< the untimed outer iteration
  Stopwatch since_begin_;       ///< of the repetition under way
};

}  // namespace cg2d
