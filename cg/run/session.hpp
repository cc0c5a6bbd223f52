#pragma once

// The course of a measurement, whatever is measured: the machine, the choices, the parts that multiply, the features, the figures of the
// ranks.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
          SessionReport& report, WorkKind kind)
      : group_(group), progress_(progress), asked_(options), found_(report), kind_(kind) {}

  // ---------------------------------------------------------------- what differs between kinds, in the order of the calls

  /// Reads and checks all that the choices depend on. Afterwards source_ has its pieces, the configuration its grid; or there is no matrix,
  /// and all is chosen.
  virtual void read() {}
  /// With a grid, and before other grids are tried.
  virtual void try_kernels() {}
  /// The kernel of a grid, once there is a matrix: the one that is named, or that of the profile, or by rule.
  [[nodiscard]] virtual ChosenKernel kernel_for(const comm::ProcessGrid& grid) const {
    return chosen_kernel(grid, asked_.configuration.kernel);
  }
  /// All is chosen.
  virtual void predict() {}
  /// This rank's block of the matrix, ready to be multiplied.
  virtual std::unique_ptr<BlockProduct> make_product(const comm::BlockLayout& layout) = 0;
  /// The solver, on assembled_ where there is a matrix, the state to go on from, and observers of the iterations. What the result refers to
  /// must live as long as this.
  virtual MeasuredSolver make_solver() = 0;
  /// Room for the events of so many CG steps.
  [[nodiscard]] virtual TraceRoom trace_room(int step_count) const = 0;
  /// All regions, measured by measurement_. The repetition to be reported; nullptr: none is complete.
  virtual const RepeatReport* iterate() = 0;

  // ---------------------------------------------------------------- steps that do not depend on the kind

  /// Inspects the machine, and checks what needs no matrix. Throws InputError for a configuration that an axis refuses, and for events
  /// that nobody knows.
  void prepare();
  /// The work is going to be done, and its matrix is not yet made: features take what they need.
  void begin_work();
  /// Cuts source_, and sets the grid with its kernel: the one that is named, or else that of the rule. usual_cut: where none is named.
  void lay_out(std::string_view usual_cut, int rank_count);
  /// For that kernel, which may be open; with --out-of-core the shortest one that can be streamed.
  [[nodiscard]] ChosenKernel chosen_kernel(const comm::ProcessGrid& grid, const std::string& kernel) const;
  /// Puts the grid and its kernel into the configuration.
  void set_grid(const comm::ProcessGrid& grid);
  /// Counters and binding, before this rank's first threads.
  void begin_threads();
  /// The configuration must outlive it.
  [[nodiscard]] OpenGridConfig open_grid(const Configuration& configuration);
  [[nodiscard]] GridShortlist shortlist();

  /// With --transport auto the grids are compared over the default transport; the transport is then chosen on
  /// the best grid.
  [[nodiscard]] bool chooses_transport() const { return !asked_.configuration.has_transport(); }
  /// With the transport over which grids and kernels are compared.
  [[nodiscard]] Configuration configuration_of_trials() const;
  void set_transport(TransportTrial trial);
  /// How ranks differ, as far as it is known.
  [[nodiscard]] UnevenRanks uneven_ranks() const;

  /// A block that is in memory as a whole in the kernel's format. Before, its figures are recorded, and checksums for a guard.
  [[nodiscard]] ConvertedBlock convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  /// Over the transport of the configuration, with this rank's work of a product.
  [[nodiscard]] std::unique_ptr<comm::Communicator> communicator_for(const comm::BlockLayout& layout,
                                                                     const BlockProduct& product);
  [[nodiscard]] const Configuration& configuration() const { return found_.configuration; }
  [[nodiscard]] FeatureContext feature_context() { return {asked_, group_, progress_, found_, mine_}; }
  /// The checkpoints that are saved; nullptr where nobody asked for it.
  [[nodiscard]] Checkpoints* saved_checkpoints() {
    return checkpoints_ && checkpoints_->are_saved() ? &*checkpoints_ : nullptr;
  }
  /// The end of the sentence about a signal that has ended the work.
  [[nodiscard]] std::string last_words();

  comm::RankGroup& group_;
  const Progress& progress_;
  MatrixSource* source_ = nullptr;             // of the kind; nullptr: there is no matrix
  int vector_count_ = 1;                       // vectors that the product takes at once
  std::optional<double> shift_;                // BlockTrialConfig::shift
  std::optional<MachineDescription> machine_;  // of this one, on rank 0, where predictions are made
  std::optional<Checkpoints> checkpoints_;     // where it is asked for, as all that is optional here
  std::optional<StreamingFeature> streaming_;
  std::unique_ptr<AssembledOperator> assembled_;
  std::optional<Guard> guard_;  // of the solver
  RankResult mine_;
  std::int64_t matrix_bytes_ = 0;  // of this rank: read by a product, over and over; 0: there is no matrix
  double set_up_s_ = 0.0;          // seconds of this rank for block and communicator
  std::optional<RegionMeasurement> measurement_;  // from the first iteration on
  StallWatch* stall_watch_ = nullptr;             // where one is asked for, as long as iterations go on

 private:
  void check_choices() const;
  void try_grids();
  bool learn_speeds();
  void cut_by_speed();
  void choose_transport(const comm::BlockLayout& layout, const std::shared_ptr<BlockProduct>& product);
  void connect(const comm::BlockLayout& layout, std::shared_ptr<BlockProduct> product);
  [[nodiscard]] double slowness() const;
  void measure_limits(std::size_t local_size);
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
