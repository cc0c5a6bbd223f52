#pragma once

// Those who do the tasks of a batch: other ranks, or this one.

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cg/commands/batch/task_journal.hpp"
#include "cg/commands/batch/task_queue.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// A task that has begun, or ended, by its number.
struct TaskReport {
  std::size_t task = 0;
  TaskResult result{};
};

/// The boss's view of its workers: all other ranks, or, where it is the only one, this rank, which does a task when it is told to.
class TaskCrew {
 public:
  TaskCrew(comm::RankGroup& group, std::vector<WorkerPlace> places)
      : group_(group), places_(std::move(places)), reports_(static_cast<std::size_t>(group.size())) {}

  /// The place of each worker.
  [[nodiscard]] const std::vector<WorkerPlace>& places() const { return places_; }
  /// The rank of a worker in the job.
  [[nodiscard]] int rank_of(int worker) const { return group_.size() == 1 ? worker : worker + 1; }
  /// Its ranks are free, and begin. Throws MpiError.
  void begin(std::size_t task, TaskResult begun);
  /// The next report of a task that has begun. Throws MpiError.
  [[nodiscard]] TaskReport await();
  /// No further task comes.
  void dismiss();

 private:
  comm::RankGroup& group_;
  std::vector<WorkerPlace> places_;
  std::vector<TaskReport> reports_;  // [rank that reports]
};

/// The crew on rank 0, which hands out, and costs no processor where there are others. On the other ranks null: they have done all tasks that
/// they got when this returns. Where no node has more workers than cores, their speeds are measured first, in less than 0.1 s. Collective.
/// Throws MpiError.
std::optional<TaskCrew> gather_crew(comm::RankGroup& group);

}  // namespace cg2d
