#pragma once

// The course of a measurement, whatever is measured: the machine, the choices, the parts that multiply, the features, the figures of the
// ranks.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/run/region_measurement.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "cg/run/streaming/streaming_feature.hpp"
#include "cg/run/watch/stall_watch.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// The report of a kind, as a base before Session, which refers to it.
template <typename Report>
class ReportOf {
 protected:
  Report report_;
};

/// A measurement: its course, and steps that do not depend on what is measured; one class derives for each kind of work. Collective in
/// every operation but the accessors; each throws RunError (on every rank alike), MpiError, std::bad_alloc, and leaves the report as far as
/// it got. Holds references: all must outlive it.
class Session : public Interface {
 public:
  /// The whole course, after the preparation of the kind.
  void perform();
  /// Notes in the report why the work ends.
  void record_failure(const RunError& error) { found_.record_failure(error); }
  /// This rank's part of the trace; empty if none was requested, and before the end of perform().
  [[nodiscard]] const std::optional<RankTrace>& trace() const { return trace_; }

 protected:
  Session(const SessionOptions& options, comm::RankGroup& group, const Progress& progress,
          SessionReport& report, WorkKind kind);

  // ---------------------------------------------------------------- steps of a kind, in the order of the calls

  /// Checks, reads and chooses all that the matrix on the grid depends on, and begins the threads.
  virtual void choose() = 0;
  /// The operator over its transport, its solver, the state to go on from, and observers of the iterations. What the result refers to must
  /// outlive perform().
  virtual MeasuredSolver make() = 0;
  /// All regions, measured by measurement_. The repetition to be reported; nullptr: none is complete.
  virtual const RepeatReport* iterate() = 0;
  /// The kernel of a grid, once there is a matrix.
  [[nodiscard]] virtual ChosenKernel kernel_for(const comm::ProcessGrid& grid) const = 0;
  /// Room for the events of so many CG steps.
  [[nodiscard]] virtual TraceRoom trace_room(int step_count) const = 0;

  // ---------------------------------------------------------------- steps that do not depend on the kind

  /// Inspects the machine, and checks what needs no matrix. Throws InputError for a configuration that an axis refuses, and for events
  /// that nobody knows.
  void prepare();
  /// The work is going to be done, and its matrix is not yet made: features take what they need.
  void begin_work();
  /// The kernel that is named, or that of the profile, or by rule: with --out-of-core the shortest one that can be streamed.
  [[nodiscard]] ChosenKernel chosen_kernel(const MatrixFacts& matrix, Configuration asked,
                                           int vector_count = 1) const;
  /// Puts the grid and its kernel into the configuration.
  void set_grid(const comm::ProcessGrid& grid);
  /// Refuses --reproducible where the instructions for it are missing.
  void check_reproducible() const;
  /// Refuses a kernel or a transport that is not available here.
  void check_choices() const;
  /// Counters and binding, before this rank's first threads.
  void begin_threads();
  [[nodiscard]] GridShortlist shortlist(const MatrixFacts& matrix,
                                        const std::optional<MachineDescription>& machine = {});
  /// Where it is to be tried, the grid by a trial of the best few, with its kernel; with --cut speed once the speeds are known.
  /// machine: as for shortlist().
  void try_grids(MatrixSource& source, const std::optional<MachineDescription>& machine = {});

  /// With --transport auto the grids are compared over the default transport; the transport is then chosen on
  /// the best grid.
  [[nodiscard]] bool chooses_transport() const { return !asked_.configuration.has_transport(); }
  /// With the transport over which grids and kernels are compared.
  [[nodiscard]] Configuration configuration_of_trials() const;
  /// By the profile, or a trial with the work's own block. shift: as BlockTrialConfig.
  void choose_transport(const MatrixSource& source, const comm::BlockLayout& layout,
                        const std::shared_ptr<BlockProduct>& product, std::optional<double> shift = {});
  void set_transport(TransportTrial trial);
  /// With --cut speed: the speeds on the grid of the configuration, from now on known to shortlists, trials of grids and predictions.
  /// Whether they are known.
  bool learn_speeds(const MatrixFacts& matrix);
  /// With --cut speed, once grid and kernel are chosen: cuts the matrix anew, by speeds on that grid, and sets the places of the ranks.
  void cut_by_speed(MatrixSource& source);
  /// How ranks differ, as far as it is known.
  [[nodiscard]] UnevenRanks uneven_ranks() const;

  /// A block that is in memory as a whole in the kernel's format. Before, its figures are recorded, and checksums for a guard.
  [[nodiscard]] ConvertedBlock convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  /// Over the transport of the configuration, with this rank's work of a product.
  [[nodiscard]] std::unique_ptr<comm::Communicator> communicator_for(const comm::BlockLayout& layout,
                                                                     const BlockProduct& product);
  /// The operator over that. Makes guard_, where one is asked for.
  [[nodiscard]] std::unique_ptr<AssembledOperator> connect(const comm::BlockLayout& layout,
                                                           std::shared_ptr<BlockProduct> product);
  [[nodiscard]] const Configuration& configuration() const { return found_.configuration; }
  [[nodiscard]] FeatureContext feature_context() { return {asked_, group_, progress_, found_, mine_}; }
  /// The checkpoint to go on from, and those that are saved; nullptr where nobody asked for it.
  [[nodiscard]] const FoundCheckpoint* found_checkpoint() const {
    return checkpoints_ ? checkpoints_->found() : nullptr;
  }
  [[nodiscard]] Checkpoints* saved_checkpoints() {
    return checkpoints_ && checkpoints_->are_saved() ? &*checkpoints_ : nullptr;
  }
  /// The end of the sentence about a signal that has ended the work.
  [[nodiscard]] std::string last_words();

  comm::RankGroup& group_;
  const Progress& progress_;
  std::optional<Checkpoints> checkpoints_;  // where it is asked for, as all that is optional here
  std::optional<StreamingFeature> streaming_;
  std::optional<Guard> guard_;  // of the solver
  RankResult mine_;
  std::int64_t matrix_bytes_ = 0;  // of this rank: read by a product, over and over; 0: there is no matrix
  RegionMeasurement* measurement_ = nullptr;  // as long as iterations go on
  StallWatch* stall_watch_ = nullptr;         // where one is asked for

 private:
  [[nodiscard]] double slowness() const;
  void measure_limits(const MeasuredSolver& solver);
  void gather_results(const MeasuredSolver& solver, double ticks_per_second);

  const SessionOptions& asked_;  // the part of the kind's options, and of its report, that all kinds have
  SessionReport& found_;
  WorkKind kind_;
  std::optional<PhaseTrace> phase_trace_;
  std::optional<RankTrace> trace_;  // refers to its events
  std::vector<std::string> wanted_events_;
  std::unique_ptr<EventCounters> counters_;
  std::optional<Slowdown> slowdown_;
  std::optional<ProductChecksums> checksums_;  // of this rank's block, for a guard
  std::optional<ThreadBinding> binding_;
};

}  // namespace cg2d
