#pragma once

// One run of the benchmark, from options to a filled-in report; who wants a run calls this.

#include <memory>
#include <optional>

#include "cg/environment.hpp"
#include "cg/grid_shortlist.hpp"
#include "cg/machine_description.hpp"
#include "cg/output_file.hpp"
#include "cg/progress.hpp"
#include "cg/report.hpp"
#include "cg/run_options.hpp"
#include "cg/run_plan.hpp"
#include "cg/thread_binding.hpp"
#include "cg/timed_solver.hpp"
#include "cg/transport_choice.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Collective in every operation but the accessors; each throws RunError (on every rank alike), MpiError,
/// std::bad_alloc, and leaves the report as far as it got. Holds references: options, group and progress must
/// outlive it.
class BenchmarkRun {
 public:
  BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress);

  /// Looks at the machine, and chooses the grid and the kernel.
  void prepare();
  /// Generates the matrix, converts and solves it, and verifies. Behind prepare().
  void perform();

  [[nodiscard]] const RunReport& report() const { return report_; }
  /// Puts down why the run ends.
  void note_failure(const RunError& error);

  /// What has been chosen, behind prepare().
  [[nodiscard]] RunChoices choices() const { return options_.choices(report_.kernel_choice.kernel); }
  /// The environment with no more memory on each node than the user grants. Behind prepare().
  [[nodiscard]] Environment granted_environment() const;
  [[nodiscard]] const SourceRow& source() const { return source_; }

 private:
  void load_machine();
  void predict_phases();
  void check_choices();
  [[nodiscard]] KernelChoice kernel_for(const comm::ProcessGrid& grid) const;
  [[nodiscard]] GridShortlist shortlist() const;
  void try_grids();
  [[nodiscard]] bool chooses_transport() const { return options_.transport == automatic_transport; }
  [[nodiscard]] const comm::TransportRow& first_transport() const;
  void choose_transport(const comm::BlockLayout& layout, BlockProduct& product);
  kernels::CsrBlock generate(const comm::BlockLayout& layout);
  void export_matrix(const kernels::CsrBlock& block, const comm::BlockLayout& layout);
  std::unique_ptr<BlockProduct> convert(kernels::CsrBlock block, const comm::BlockLayout& layout);
  void prepare_counters();
  void write_trace_file(const TimedSolver& solver);
  void iterate(TimedSolver& solver);
  void end_early(const std::vector<OuterStep>& steps, const std::string& where);
  void verify();
  void note_warnings(const TimedSolver& solver);
  void measure_limits(comm::Communicator& communicator, std::int64_t matrix_bytes);

  const RunOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  SourceRow source_ = source_table().front();
  RunReport report_;
  std::optional<MachineDescription> machine_;  ///< of this one, on rank 0, if it has been calibrated
  GridShortlist grid_shortlist_;               ///< where there is to be a trial
  RankFacts facts_;
  std::unique_ptr<PapiCounters> counters_;
  std::optional<ThreadBinding> binding_;
  std::unique_ptr<OutputFile> trace_file_;  ///< on rank 0, if there is to be a trace
};

}  // namespace cg2d
