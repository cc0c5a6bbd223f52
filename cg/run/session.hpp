#pragma once

// The course of a measurement, whatever is measured: the machine, the choices, the parts that multiply, the features, the figures of the
// ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "cg/base/progress.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// One class for each kind of work. Session::perform() calls the hooks in this order, on every rank; all may be collective, and throw RunError
/// (on every rank alike), MpiError, std::bad_alloc.
class Workload : public Interface {
 public:
  /// Checks, reads and chooses all that the matrix on the grid depends on, and begins the threads.
  virtual void choose() = 0;
  /// The operator over its transport, and its solver. What the result refers to must outlive conclude().
  virtual ReadyWork make() = 0;
  /// The state to go on from, and observers of the iterations, which are to be measured by that.
  virtual void begin(RegionMeasurement& measurement) = 0;
  /// All regions, which the features watch. The repetition to be reported; nullptr: none is complete.
  virtual const RepeatReport* iterate() = 0;
  /// The figures of all ranks are in the report of rank 0.
  virtual void conclude() {}
};

/// A measurement: its course, and steps that do not depend on what is measured. Collective in every
/// operation but the accessors; each throws RunError (on every rank alike), MpiError, std::bad_alloc, and leaves the
/// report as far as it got. Holds references: all must outlive it.
class Session {
 public:
  using KernelFor = std::function<ChosenKernel(const comm::ProcessGrid&)>;

  Session(const SessionOptions& options, comm::RankGroup& group, const Progress& progress,
          SessionReport& report, WorkKind kind);

  /// Inspects the machine, and checks what needs no matrix. Throws InputError for a configuration that an axis refuses, and for events
  /// that nobody knows.
  void prepare();

  /// From now on the kernel of a grid is that.
  void set_kernel_choice(KernelFor kernel_for) { kernel_for_ = std::move(kernel_for); }
  /// Puts the grid and its kernel into the configuration.
  void set_grid(const comm::ProcessGrid& grid);
  /// Refuses --reproducible where the instructions for it are missing.
  void check_reproducible() const;
  /// Refuses a kernel or a transport that is not available here.
  void check_choices() const;
  /// Features and binding, before this rank's first threads.
  void begin_threads();
  [[nodiscard]] GridShortlist shortlist(const MatrixFacts& matrix,
                                        const std::optional<MachineDescription>& machine = {});
  /// The grid by a trial of the best few, with its kernel.
  void try_grids(MatrixSource& source, const GridShortlist& shortlist);

  /// With --transport auto the grids are compared over the default transport; the transport is then chosen on
  /// the best grid.
  [[nodiscard]] bool chooses_transport() const { return !options_.configuration.has_transport(); }
  [[nodiscard]] const comm::TransportRow& first_transport() const;
  /// With first_transport(), over which grids and kernels are compared.
  [[nodiscard]] Configuration configuration_of_trials() const;
  /// By the profile, or a trial with the workload's own block. shift: as BlockTrialConfig.
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

  /// A block that is in memory as a whole: its figures, and what features do with it, before the kernel takes it.
  void record_block(const kernels::CsrBlock& block, const comm::BlockLayout& layout);
  /// The block in the kernel's format.
  [[nodiscard]] ConvertedBlock convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  /// Over the transport of the configuration.
  [[nodiscard]] std::unique_ptr<AssembledOperator> connect(const comm::BlockLayout& layout,
                                                           std::shared_ptr<BlockProduct> product);

  /// The same operator goes on with another layout and its product, after AssembledOperator::release().
  void reconnect(AssembledOperator& assembled, const comm::BlockLayout& layout,
                 std::shared_ptr<BlockProduct> product);

  /// The whole course, after prepare().
  void perform(Workload& workload);
  /// The repetition that has been measured.
  [[nodiscard]] RepeatReport measured_repeat(const RegionMeasurement& measurement);

  [[nodiscard]] std::int64_t memory_of_rank() const;

  [[nodiscard]] Features& features() { return features_; }
  [[nodiscard]] const Features& features() const { return features_; }
  [[nodiscard]] RankResult& mine() { return mine_; }
  /// This rank's part of the trace; empty if none was requested, and before gather_results().
  [[nodiscard]] const std::optional<RankTrace>& trace() const { return trace_.trace; }

 private:
  [[nodiscard]] std::unique_ptr<comm::Communicator> communicator_for(const comm::BlockLayout& layout,
                                                                     const BlockProduct& product);
  void gather_results(PhaseTimer& timer, double ticks_per_second, const RepeatReport* last);

  const SessionOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  SessionReport& report_;
  RankResult mine_;
  KeptTrace trace_;
  Features features_;
  std::optional<ThreadBinding> binding_;
  KernelFor kernel_for_;
};

}  // namespace cg2d
