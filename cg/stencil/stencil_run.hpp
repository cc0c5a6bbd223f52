#pragma once

// A run of a method's steps on a domain: planned, made in passes, and verified.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/machine/environment.hpp"
#include "cg/stencil/plane_store.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The slab of planes of one rank, its store, and the passes over it. All operations are collective; they throw RunError on every rank
/// alike, MpiError, std::bad_alloc.
class StencilRun {
 public:
  /// reader: moves planes from and to files. All must outlive the run.
  StencilRun(const StencilOptions& options, comm::RankGroup& group, const Progress& progress,
             const PanelIoRow& reader = usual_panel_io());

  /// Checks shape, memory and room, and makes the store: usage, memory (71), cannot_create (73).
  void prepare();
  /// Start values, the choice of a block where none was asked for, all passes, and the verdict: interrupted (75), cannot_write (74) or
  /// bad_data (65) where the device fails.
  void perform();
  [[nodiscard]] const StencilReport& report() const { return report_; }

 private:
  [[nodiscard]] std::int64_t plane_count() const { return share_.size(); }
  [[nodiscard]] const std::string& folder() const;
  [[nodiscard]] std::int64_t memory_for(int block) const;
  void inspect();
  void check_shape() const;
  void choose_planes_at_once();
  void limit_block();
  void make_store();
  void write_start_values();
  void choose_block_by_trial();
  [[nodiscard]] PlaneSequence in_store(const comm::IndexRange& planes, bool is_downward = false) const;
  void make_passes();
  void take_times(const std::function<void()>& action);
  void make_pass(const StencilPass& pass, const InterruptWatch& watch);
  void make_wavefront_steps(const StencilPass& pass, const InterruptWatch& watch);
  void make_wavefront_step(const StencilPass& pass, std::int64_t first);
  void show_pass(int step_count) const;
  void show_wavefront_step(int step_count, double share) const;
  void check_result();
  void gather_ranks();

  const StencilOptions& options_;
  comm::RankGroup& group_;
  const Progress& progress_;
  Progress planes_progress_;
  const PanelIoRow& reader_;
  std::unique_ptr<StencilMethod> method_;
  const PlaneLayout& layout_;
  comm::IndexRange share_;  // this rank's planes of the domain
  StencilReport report_;
  std::optional<Environment> environment_{};
  int node_ = 0;
  NodeInfo node_info_;
  std::int64_t available_bytes_ = 0;  // memory for this rank
  int planes_at_once_ = 1;
  int most_block_ = 1;
  std::unique_ptr<PlaneStore> store_;
  std::int64_t first_stored_ = 0;  // plane 0 of the store
  StencilRank mine_;
  Stopwatch since_begin_;
  int done_count_ = 0;  // steps
};

/// Makes a run on all ranks and writes its report. Collective; the same code on every rank: verification_failed where the result is not that
/// of the closed form. Throws RunError (on every rank alike), MpiError, std::bad_alloc.
ExitCode run_stencil(const StencilOptions& options, comm::RankGroup& group);

}  // namespace cg2d
