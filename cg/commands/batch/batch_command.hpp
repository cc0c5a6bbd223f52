#pragma once

// `cg2d batch`: a list of tasks, handed out to groups of ranks.

#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/batch/task_list.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

struct BatchOptions {
  std::string list;    ///< the file of tasks
  std::string output;  ///< the file of results
  int ranks_per_task = 1;
  std::vector<VariedOption> varied{};
  ListPart part{};
  std::optional<double> task_limit_s{};
  bool is_exclusive = false;
  bool fresh = false;
  ProgressMode progress = ProgressMode::on_a_terminal;
};

/// Does all tasks that have no result yet, and prints a summary. Returns the code of the first task that failed, or `interrupted`.
/// Collective; the same code on every rank. Throws RunError (on every rank alike) before a task begins, or where no result can be
/// kept; MpiError, std::bad_alloc.
ExitCode run_batch(const BatchOptions& options, comm::RankGroup& group);

}  // namespace cg2d
