#pragma once

// The course of a measurement, whatever is measured: the machine, the choices, the parts that multiply, the features, the figures of the
// ranks.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/matrix_source.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/guard/guard_checks.hpp"
#include "cg/run/guard/product_checksums.hpp"
#include "cg/run/session_options.hpp"
#include "cg/run/session_report.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/assembled_operator.hpp"
#include "cg/tuning/grid_trial.hpp"
#include "cg/tuning/transport_choice.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// The matrix that a rank streams, as the workload knows it.
struct StreamedMatrix {
  const MatrixSource& source;     ///< that makes strips
  std::uint64_t hash = 0;         ///< of all that its values depend on
  std::int64_t vector_bytes = 0;  ///< of this rank, beside the matrix
  bool sums_values = false;       ///< PanelFileFigures::value_sum
};

/// Steps of a measurement that do not depend on what is measured, in the order in which a workload calls them. Collective in every
/// operation but the accessors; each throws RunError (on every rank alike), MpiError, std::bad_alloc, and leaves the
/// report as far as it got. Holds references: all must outlive it.
class Session {
 public:
  using KernelFor = std::function<ChosenKernel(const comm::ProcessGrid&)>;

  Session(const SessionOptions& options, comm::RankGroup& group, const Progress& progress,
          SessionReport& report);

  /// Inspects the machine, and checks what needs no matrix. Throws InputError for a configuration that an axis refuses, and for events
  /// that nobody knows.
  void prepare();
  /// Finds the checkpoint to go on from, and claims the folder to save to: early, so that a folder that will not do is found before the
  /// matrix is made. command: "run" or "solve", which restarts only its own checkpoints.
  void open_checkpoints(const std::string& command);

  /// Puts the grid and its kernel into the configuration.
  void take_grid(const comm::ProcessGrid& grid, const KernelFor& kernel_for);
  /// Refuses --reproducible where the instructions for it are missing.
  void check_reproducible() const;
  /// Refuses a kernel or a transport that is not available here.
  void check_choices() const;
  /// Features and binding, before this rank's first threads.
  void begin_threads();
  [[nodiscard]] GridShortlist shortlist(const MatrixFacts& matrix, const KernelFor& kernel_for,
                                        const std::optional<MachineDescription>& machine = {});
  /// The grid by a trial of the best few, with its kernel.
  void try_grids(const MatrixSource& source, const GridShortlist& shortlist, const KernelFor& kernel_for);

  /// With --transport auto the grids are compared over the default transport; the transport is then chosen on
  /// the best grid.
  [[nodiscard]] bool chooses_transport() const { return !options_.configuration.has_transport(); }
  [[nodiscard]] const comm::TransportRow& first_transport() const;
  /// With first_transport(), over which grids and kernels are compared.
  [[nodiscard]] Configuration configuration_of_trials() const;
  /// By the profile, or a trial with the workload's own block. shift: as BlockTrialConfig.
  void choose_transport(const MatrixSource& source, const comm::BlockLayout& layout,
                        const std::shared_ptr<BlockProduct>& product, std::optional<double> shift = {});
  void take_transport(TransportTrial trial);

  /// A block that is in memory as a whole: its figures, and with --guard its checksums, before the kernel takes it.
  void take_block(const kernels::CsrBlock& block, const comm::BlockLayout& layout);
  /// The block in the kernel's format.
  [[nodiscard]] ConvertedBlock convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  [[nodiscard]] StreamedBlockParts stream_parts(const StreamedMatrix& matrix,
                                                const comm::BlockLayout& layout) const;
  /// The product of a block on local storage.
  [[nodiscard]] std::unique_ptr<BlockProduct> stream(const StreamedMatrix& matrix,
                                                     const comm::BlockLayout& layout);
  /// Over the transport of the configuration.
  [[nodiscard]] AssembledOperator connect(const comm::BlockLayout& layout,
                                          std::shared_ptr<BlockProduct> product);
  /// Bytes over which a product of this rank reads its matrix: a streamed one is multiplied from buffers, of which there are few.
  [[nodiscard]] std::int64_t read_footprint_bytes(const BlockProduct& product) const;
  [[nodiscard]] GuardedParts guarded_parts(const comm::BlockLayout& layout,
                                           AssembledOperator& assembled) const;

  /// The repetition that has been measured.
  [[nodiscard]] RepeatReport measured_repeat(const RegionMeasurement& measurement);
  /// Throws what reading a streamed matrix has failed with: numbers are NaN for that reason.
  void check_storage() const;
  void note_stream();
  /// The figures of this rank, and then those of all in the report. last: as Feature::conclude().
  void gather_results(PhaseTimer& timer, double ticks_per_second, const RepeatReport* last);

  /// The environment with no more memory on each node than the user grants. After prepare().
  [[nodiscard]] Environment granted_environment() const;
  [[nodiscard]] std::int64_t memory_of_rank() const;
  /// The end of the sentence about a signal; empty without --checkpoint, and on ranks that do not report. failure: why the state at the
  /// signal is not saved.
  [[nodiscard]] std::string how_to_go_on(const std::string& failure) const;

  [[nodiscard]] bool is_streamed() const { return options_.out_of_core.is_used(); }
  [[nodiscard]] const StreamedBlock& streamed() const { return streamed_; }
  [[nodiscard]] const StreamedKernel* streamed_kernel() const { return streamed_kernel_; }
  [[nodiscard]] const ProductChecksums* checksums() const { return checksums_ ? &*checksums_ : nullptr; }
  [[nodiscard]] std::optional<FoundCheckpoint>& found_checkpoint() { return found_checkpoint_; }
  [[nodiscard]] CheckpointWriter* checkpoint_writer() {
    return checkpoint_writer_ ? &*checkpoint_writer_ : nullptr;
  }
  [[nodiscard]] Features& features() { return features_; }
  [[nodiscard]] RankResult& mine() { return mine_; }
  /// This rank's part of the trace; empty if none was requested, and before gather_results().
  [[nodiscard]] const std::optional<RankTrace>& trace() const { return trace_.trace; }

 private:
  const SessionOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  SessionReport& report_;
  RankResult mine_;
  KeptTrace trace_;
  Features features_;
  std::optional<ThreadBinding> binding_;
  std::optional<FoundCheckpoint> found_checkpoint_;  // with --restart, also when its contents have been taken
  std::optional<CheckpointWriter> checkpoint_writer_;  // with --checkpoint
  StreamedBlock streamed_;                             // with --out-of-core; its kernel is in the product
  const StreamedKernel* streamed_kernel_ = nullptr;    // likewise
  std::optional<ProductChecksums> checksums_;          // with --guard
};

}  // namespace cg2d
