#pragma once

// What `cg2d run` was asked for.

#include <cstdint>
#include <optional>
#include <string>

#include "cg/machine/thread_binding.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/timing/counter_setup.hpp"
#include "cg/timing/phase_trace.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/schedule.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// What `cg2d run` was asked for.
struct RunOptions {
  Problem problem;
  std::optional<comm::ProcessGrid> grid;  ///< empty: by columns, or automatic
  std::optional<int> grid_columns;        ///< --px: the rows follow from the rank count
  bool tries_grids = true;                ///< where the grid is left open: measure the best few
  int planned_ranks = 0;                  ///< --ranks, with --dry-run: plan for that many; 0: those that run
  comm::SumForm sum_form = default_sum_form;
  std::string transport{comm::default_transport().name};
  int ranks_per_node = 0;  ///< pretended nodes of so many ranks; 0: the real ones
  bool overlaps = false;   ///< the product begins while the collection is under way
  KernelWish kernel;
  ProfileSource profile;
  int thread_count = 1;
  BindWish bind = BindWish::automatic;
  std::string format = "text";
  std::string output;  ///< empty: standard output
  int repeat_count = 1;
  bool dry_run = false;
  std::string export_mtx;  ///< empty: no export
  bool time_phases = true;
  CounterOptions counters;
  TraceOptions trace;
  bool measures_limits = false;  ///< --roofline
  bool stops_when_asked = true;  ///< by a signal, at the next outer iteration; else the caller sees to it
  bool progress = false;         ///< asked for; a terminal gets it anyway
  std::int64_t memory_limit_bytes = 0;  ///< of a node; 0: what is free there

  [[nodiscard]] bool leaves_grid_open() const { return !grid && !grid_columns; }
  [[nodiscard]] RunChoices choices(const KernelInfo& chosen_kernel) const {
    return {.problem = problem,
            .sum_form = sum_form,
            .kernel = chosen_kernel,
            .thread_count = thread_count,
            .overlaps = overlaps,
            .ranks_per_node = ranks_per_node};
  }
};

/// The grid to run on, before any trial; throws InputError that lists the valid ones when it does not match
/// the rank count.
comm::ProcessGrid resolve_grid(const RunOptions& options, int rank_count);

}  // namespace cg2d
