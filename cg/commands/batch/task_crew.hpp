#pragma once

// Those who do the tasks of a batch: other ranks, or this one.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/interface.hpp"
#include "cg/commands/batch/task_journal.hpp"
#include "cg/commands/batch/task_queue.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A task for its ranks.
struct TaskOrder {
  std::size_t task = 0;
  std::vector<std::string> words;  ///< of the command line, the program's name first
  std::vector<int> ranks;          ///< of the job, ascending
  std::optional<double> limit_s{};
  bool is_beside_others = false;
};

class Members;
void describe(Members& m, TaskOrder& order);

/// do_command_line(), which a batch must not know.
using CommandLine = ExitCode (*)(int argument_count, const char* const* arguments, comm::RankGroup& group);

/// A task that has ended.
struct TaskReport {
  std::size_t task = 0;
  TaskEnd end;
};

/// The boss's view of its workers.
class TaskCrew : public Interface {
 public:
  /// The place of each worker.
  [[nodiscard]] virtual const std::vector<WorkerPlace>& places() const = 0;
  /// The rank of a worker in the job.
  [[nodiscard]] virtual int rank_of(int worker) const = 0;
  /// Its ranks are free, and begin. Throws MpiError.
  virtual void begin(const TaskOrder& order) = 0;
  /// The next report of a task that has begun. Throws MpiError.
  [[nodiscard]] virtual TaskReport await() = 0;
  /// No further task comes.
  virtual void dismiss() = 0;
};

/// The crew on rank 0, which hands out, and costs no processor: all other ranks, or, where it is the only rank, this one. On the other
/// ranks null: they have done all tasks that they got when this returns. Where no node has more workers than cores, their speeds are measured first, in
/// less than 0.1 s. Collective. Throws MpiError.
std::unique_ptr<TaskCrew> gather_crew(comm::RankGroup& group, CommandLine command_line);

}  // namespace cg2d
