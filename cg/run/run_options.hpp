#pragma once

// The options of one run.

#include <cstdint>
#include <optional>
#include <string>

#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/checkpoint/checkpoint_interval.hpp"
#include "cg/guard/guard_report.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/streaming/out_of_core_options.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/watch/stall_watch.hpp"
#include "comm/block_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Options for the choice of a grid that the configuration leaves open.
struct OpenGridOptions {
  std::optional<int> columns;  ///< --px: the rows follow from the number of ranks
  bool is_official = false;    ///< --grid official: that of the official program
  bool tries_grids = true;     ///< without these: measure the best few; else the rule chooses

  /// Whether these options alone say which grid it is.
  [[nodiscard]] bool name_a_grid() const { return columns || is_official; }
};

/// The grid that the official program would use on that many ranks; empty if that is not a power of two.
/// It takes as many process columns as rows, or twice as many (its npcols, which are the column blocks of the
/// matrix: our Px).
std::optional<comm::ProcessGrid> official_grid(int rank_count);

/// The grid that these options name; empty where they leave it open. Throws InputError where it does not exist for
/// that many ranks.
std::optional<comm::ProcessGrid> grid_named_by(const OpenGridOptions& options, int rank_count);

/// The options of `cg2d run`.
struct RunOptions {
  Problem problem;
  Configuration configuration;  ///< as asked for: grid, kernel and transport may be open
  OpenGridOptions open_grid;
  kernels::Tuning tuning;  ///< settings of the kernel; the empty ones were not asked for
  int planned_ranks = 0;   ///< --ranks, with --dry-run: plan for that many; 0: those that run
  ProfileSource profile;
  BindMode bind = BindMode::automatic;
  std::string format = "text";
  std::string output;  ///< empty: standard output
  std::string report;  ///< the results file for people and scripts beside the output; empty: none
  TextDetail detail;
  int repeat_count = 1;
  double least_time_s = 0.0;  ///< --min-time: repetitions are added until they have taken that long together
  bool checks_first = false;  ///< --check: kernel, transport and grid before the first iteration
  bool dry_run = false;
  std::string export_mtx;  ///< empty: no export
  bool time_phases = true;
  CounterOptions counters;
  TraceOptions trace;
  CheckpointOptions checkpoint;
  GuardOptions guard;  ///< --guard, --inject
  OutOfCoreOptions out_of_core;
  bool measures_limits = false;  ///< --roofline
  bool stops_when_asked = true;  ///< by a signal, at the next outer iteration; else the caller sees to it
  StallOptions stall{};          ///< --stall-limit
  bool names_hosts = false;      ///< --hostname
  ProgressMode progress = ProgressMode::on_a_terminal;
  std::int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there

  [[nodiscard]] bool leaves_grid_open() const {
    return !configuration.has_grid() && !open_grid.name_a_grid();
  }
};

/// The grid to run on, before any trial; throws InputError that lists the valid ones when it does not match
/// the rank count.
comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count);

}  // namespace cg2d
