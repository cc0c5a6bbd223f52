#pragma once

// The course of a measurement, whatever is measured: the machine, the choices, the parts that multiply, the features, the figures of the
// ranks; and the measurement of a timed region: clocks, phases, traffic, vector work, counted events and a trace, of outer iterations of the
// benchmark, or of one solve of a system.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/interface.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/sample.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/solver/linear_operator.hpp"
#include "cg/solver/npb_iteration.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/solver/step_observer.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

// ---------------------------------------------------------------- a timed region

/// Draws the bars of CG steps and outer iterations into a trace.
class TraceBars final : public StepObserver, public OuterStepObserver {
 public:
  explicit TraceBars(PhaseTrace& trace) : trace_(trace) {}

  void before_step() override { trace_.begin(TraceEvent::cg_step); }
  bool after_step(const CgState& /*state*/) override {
    trace_.end(TraceEvent::cg_step);
    return false;
  }
  void before_outer_step() override { trace_.begin(TraceEvent::outer_iteration); }
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override {
    trace_.end(TraceEvent::outer_iteration);
  }

 private:
  PhaseTrace& trace_;
};

/// The parts of a solver that a measurement reads, and observes.
struct MeasuredSolver {
  PhaseTimer& timer;
  StepObservers& observers;                            ///< of all its steps
  std::function<comm::Traffic(comm::Operation)> sent;  ///< by this rank so far
  const DistributedVectors& vectors;
  size_t local_size = 0;  ///< elements of this rank's piece of a vector
};

/// Measures regions in which one solver works, one after the other. Holds references: the solver's parts, the counters and the
/// group must live as long, and none of them works after this has gone.
class RegionMeasurement final : private OuterStepObserver {
 public:
  /// counters: of events of the phases; nullptr: none. traced_steps: the first CG steps of the first region; 0: no trace.
  RegionMeasurement(MeasuredSolver solver, comm::RankGroup& group, const Environment& environment,
                    EventCounters* counters, int traced_steps);

  /// A region begins. Returns the observers that are to be told of its outer iterations, or of the solve as one: these, between those of the
  /// measurement. Collective: the ranks begin together. Throws MpiError.
  [[nodiscard]] std::vector<OuterStepObserver*> begin(std::vector<OuterStepObserver*> observers = {});
  /// The region ends. Collective.
  void end();
  /// Work of an observer, such as a line on stderr, whose events belong to no phase.
  void outside_of_phases(const std::function<void()>& work);

  /// The last region, without its steps. Collective.
  [[nodiscard]] RepeatReport repeat();
  /// RankResult::clocks_per_reading
  double clocks_per_reading() const { return counters_ ? counters_->clocks_per_reading() : 0.0; }
  /// This rank's part of the trace, which refers to events of this. node: of this rank; ticks_per_second: rank 0's.
  /// Collective.
  RankTrace rank_trace(int node, double ticks_per_second) const;

 private:
  /// Called last of the observers of each outer iteration: events of the others belong to no phase.
  void after_outer_step(int /*number*/, const OuterStep& /*step*/) override { counters_->leave_out(); }
  RankTimes totals() const;

  MeasuredSolver solver_;
  comm::RankGroup& group_;
  RankTimes times_{};  // of the last region; of one under way, what was counted before it
  bool is_traced_ = false;
  uint64_t start_clocks_ = 0;
  Stopwatch stopwatch_;
  NoiseMonitor noise_;
  std::optional<PhaseCounters> counters_;
  std::optional<PhaseTrace> trace_;
  std::optional<TraceBars> trace_bars_;
  ClockMark first_mark_;
  ClockMark last_mark_;
};

// ---------------------------------------------------------------- the course

/// A measurement: its course, and steps that do not depend on what is measured; one class derives for each kind of work. Collective in
/// every operation but the accessors; each throws RunError (on every rank alike), MpiError, std::bad_alloc, and leaves the report as far as
/// it got. Holds references: all must outlive it.
class Session : public Interface {
 public:
  /// The beginning of perform(), and of a plan: inspects the machine, and checks all that needs no matrix. A configuration that an axis refuses,
  /// and events that nobody knows, are InputError.
  void begin();
  /// The whole course. open_files: opens those of the results, once all is checked that needs no matrix.
  void perform(const std::function<void()>& open_files = [] {});
  /// This rank's part of the trace; empty if none was requested, and before the end of perform().
  const std::optional<RankTrace>& trace() const { return trace_; }

 protected:
  Session(const SessionOptions& options, comm::RankGroup& group, const Progress& progress,
          SessionReport& report, WorkKind kind)
      : group_(group), progress_(progress), asked_(options), found_(report), kind_(kind) {}

  // ---------------------------------------------------------------- what differs between kinds, in the order of the calls

  /// Checks what needs no matrix, and then begins the work, unless it is only planned: begin_work().
  virtual void prepare() = 0;
  /// Reads what the choices depend on, where they are not known by now.
  virtual void read() {}
  /// This rank's block of the matrix, ready to be multiplied, when all parts of source_ are chosen.
  virtual std::unique_ptr<BlockProduct> make_product(const comm::BlockLayout& layout) = 0;
  /// The solver, on assembled_ where there is a matrix, the state to go on from, and observers of the iterations. What the result refers to
  /// must live as long as this.
  virtual MeasuredSolver make_solver() = 0;
  /// All regions, measured by measurement_. The repetition to be reported; nullptr: none is complete.
  virtual const RepeatReport* iterate() = 0;

  // ---------------------------------------------------------------- steps that do not depend on the kind

  /// Nothing is known against the work, and its matrix is not yet made: features take what they need.
  void begin_work();
  /// Cuts source_, and sets the grid with its kernel: the one that is named, or else that of the rule. usual_cut: where none is named.
  void lay_out(std::string_view usual_cut, int rank_count);
  /// Puts the grid and its kernel into the configuration.
  void set_grid(const comm::ProcessGrid& grid);
  /// Counters and binding, before this rank's first threads.
  void begin_threads();
  /// The configuration must outlive it.
  [[nodiscard]] OpenGridConfig open_grid(const Configuration& configuration);
  [[nodiscard]] GridShortlist shortlist();

  /// With --transport auto the grids are compared over the default transport; the transport is then chosen on
  /// the best grid.
  bool chooses_transport() const { return !asked_.configuration.has_transport(); }
  void set_transport(TransportTrial trial);
  /// By a trial that profiles have no place for.
  void try_transports(const TransportTrialConfig& trials, std::string_view why_not_kept);
  /// How ranks differ, as far as it is known.
  UnevenRanks uneven_ranks() const;

  /// A block that is in memory as a whole in the kernel's format. Before, its figures are recorded, and checksums for a guard.
  [[nodiscard]] ConvertedBlock convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  /// Over the transport of the configuration, with this rank's work of a product.
  [[nodiscard]] std::unique_ptr<comm::Communicator> communicator_for(const comm::BlockLayout& layout,
                                                                     const BlockProduct& product);
  const Configuration& configuration() const { return found_.configuration; }
  [[nodiscard]] FeatureContext feature_context() { return {asked_, group_, progress_, found_, mine_}; }
  /// The checkpoints that are saved; nullptr where nobody asked for it.
  [[nodiscard]] Checkpoints* saved_checkpoints() {
    return checkpoints_ && checkpoints_->are_saved() ? &*checkpoints_ : nullptr;
  }
  /// The end of the sentence about a signal that has ended the work.
  [[nodiscard]] std::string last_words();

  comm::RankGroup& group_;
  const Progress& progress_;
  MatrixSource* source_ = nullptr;  // of the kind; nullptr: there is no matrix
  int vector_count_ = 1;            // vectors that the product takes at once
  std::optional<double> shift_;     // of the benchmark, see block_trial()
  /// Where kernels are tried that nobody names, for a matrix of any pattern: the trial, which the first of several runs makes.
  std::optional<KernelTrial>* kernel_trial_ = nullptr;
  std::optional<MachineDescription> machine_;  // of this one, on rank 0, where predictions are made
  std::optional<Checkpoints> checkpoints_;     // where it is asked for, as all that is optional here
  std::optional<StreamingFeature> streaming_;
  std::unique_ptr<AssembledOperator> assembled_;
  std::optional<Guard> guard_;  // of the solver
  RankResult mine_;
  int64_t matrix_bytes_ = 0;  // of this rank: read by a product, over and over; 0: there is no matrix
  double set_up_s_ = 0.0;     // seconds of this rank for block and communicator
  std::optional<RegionMeasurement> measurement_;  // from the first iteration on
  StallWatch* stall_watch_ = nullptr;             // where one is asked for, as long as iterations go on
  /// From the first iteration on, until the results are written: they are not given up for a late signal.
  std::optional<InterruptWatch> watch_;

 private:
  /// Chooses kernel, grid and cut where they are open, once source_ has its pieces and the configuration its grid; threads begin.
  void choose_parts();
  ChosenKernel chosen_kernel(const comm::ProcessGrid& grid, const std::string& kernel) const;
  ChosenKernel kernel_for(const comm::ProcessGrid& grid) const;
  void try_kernels();
  Configuration configuration_of_trials() const;
  void try_grids();
  bool learn_speeds();
  void cut_by_speed();
  void choose_transport(const comm::BlockLayout& layout, const std::shared_ptr<BlockProduct>& product);
  void connect(const comm::BlockLayout& layout, std::shared_ptr<BlockProduct> product);
  double slowness() const;
  void gather_results(const MeasuredSolver& solver, double ticks_per_second, const RepeatReport* last);

  const SessionOptions& asked_;  // the part of the kind's options, and of its report, that all kinds have
  SessionReport& found_;
  WorkKind kind_;
  std::optional<RankTrace> trace_;  // refers to events of the measurement
  std::vector<std::string> wanted_events_;
  std::unique_ptr<EventCounters> counters_;
  std::optional<Slowdown> slowdown_;
  std::optional<ProductChecksums> checksums_;  // of this rank's block, for a guard
  std::optional<ThreadBinding> binding_;
};

}  // namespace cg2d
