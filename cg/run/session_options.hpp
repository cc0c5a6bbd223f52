#pragma once

// The options that every measured workload has, and those of a run of the benchmark.

#include <cstdint>
#include <optional>
#include <string>

#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/run/checkpoint/checkpoint_folder.hpp"
#include "cg/run/guard/guard_report.hpp"
#include "cg/run/streaming/out_of_core.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/slow_ranks.hpp"
#include "cg/timing/events.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

struct MatrixFacts;

/// Options for the choice of a grid that the configuration leaves open.
struct OpenGridOptions {
  std::optional<int> columns;  ///< --px: the rows follow from the number of ranks
  bool is_official = false;    ///< --grid official: that of the official program
  bool tries_grids = true;     ///< without these: measure the best few; else the rule chooses

  /// Whether these options alone say which grid it is.
  bool name_a_grid() const { return columns || is_official; }
};

/// The grid that the official program would use on that many ranks; empty if that is not a power of two.
/// It takes as many process columns as rows, or twice as many (its npcols, which are the column blocks of the
/// matrix: our Px).
std::optional<comm::ProcessGrid> official_grid(int rank_count);

/// The grid that these options name; empty where they leave it open. Throws InputError where it does not exist for
/// that many ranks.
std::optional<comm::ProcessGrid> grid_named_by(const OpenGridOptions& options, int rank_count);

/// The options of features; without its options each is as it is made here.
struct FeatureSettings {
  CheckpointOptions checkpoint;
  OutOfCoreOptions out_of_core;
  GuardOptions guard;
  bool checks_parts = false;  ///< --check
  SlowRanks slow_ranks;
  bool rebalances = false;     ///< --rebalance on
  double stall_limit_s = 0.0;  ///< --stall-limit; 0: none
};

/// The options that do not depend on what is measured.
struct SessionOptions {
  Configuration configuration;        ///< as asked for: grid, kernel and transport may be open
  bool transport_is_default = false;  ///< nobody has named one: with_default_transport()
  ChoiceOrigin transport_origin = ChoiceOrigin::asked_for;  ///< of one that the configuration has
  OpenGridOptions open_grid;
  kernels::Tuning tuning;  ///< settings of the kernel; the empty ones were not asked for
  ProfileSource profile;
  BindMode bind = BindMode::automatic;
  int64_t memory_limit_bytes = 0;  ///< of a node; 0: all that is free there
  std::string format = "text";
  std::string output;       ///< of the report; empty: standard output
  bool is_verbose = false;  ///< the text shows every labelled figure of the result, too
  CounterOptions counters;
  TraceOptions trace;
  bool measures_limits = false;  ///< --roofline
  bool time_phases = true;
  FeatureSettings features;
  bool names_hosts = false;      ///< --hostname
  bool stops_when_asked = true;  ///< by a signal, at the next iteration; else the caller sees to it
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// The options of `cg2d run`.
struct RunOptions : SessionOptions {
  Problem problem;
  int planned_ranks = 0;  ///< --ranks, with --dry-run: plan for that many; 0: those that run
  int repeat_count = 1;
  double least_time_s = 0.0;  ///< --min-time: repetitions are added until they have taken that long together
  bool dry_run = false;
  std::string export_mtx;  ///< empty: no export
};

/// The grid that these options say; empty where they leave it open. Throws InputError, which lists the valid ones, for a grid that
/// does not match the number of ranks.
std::optional<comm::ProcessGrid> named_grid(const SessionOptions& options, int rank_count);
/// That grid, or before any trial the one of the rule, for that matrix. configuration: as choose_grid(). Throws as named_grid().
comm::ProcessGrid resolve_grid(const SessionOptions& options, const MatrixFacts& matrix,
                               const Configuration& configuration, int rank_count);

}  // namespace cg2d
