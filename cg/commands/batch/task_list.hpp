#pragma once

// The tasks of a batch: a file with a command line in each line, and the order in which they are handed out, with the ranks that get them.
// Pure: no MPI, no clock.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// One command line for a group of ranks.
struct Task {
  std::string name{};                ///< unique in its list
  std::vector<std::string> words{};  ///< "run", "--class", "S"
  int rank_count = 1;
  std::string place{};        ///< "tasks.txt:3"
  bool names_format = false;  ///< for the command's result
  bool is_alone = false;      ///< nothing may run beside it
  bool is_last = false;       ///< it begins after all others

  /// The words as a shell takes them.
  std::string command() const;
};

/// Settings that the list itself does not have.
struct TaskListOptions {
  std::string path{};
  int ranks_per_task = 1;
  int most_ranks = 1;  ///< that a task may take
};

/// The tasks of a list, in its order: lines
///
///     [name=NAME] [ranks=N] COMMAND OPTION...
///
/// with quotes as in a shell, and comments after #. A task without a name has its command line as a name. Throws InputError that names file
/// and line, for a list without a task, too.
std::vector<Task> tasks_from(std::string_view text, const TaskListOptions& options);

class Members;
/// A line of a batch's results, for its schema.
void visit_task_line(Members& m);

/// The words of a line; quotes keep blanks together, and # begins a comment. Empty: a quote has no end.
std::optional<std::vector<std::string>> words_of(std::string_view line);

// ---------------------------------------------------------------- the order

/// A task that may begin, and the numbers of its workers, ascending.
struct TaskStart {
  size_t task = 0;
  std::vector<int> workers;
};

/// Tasks for workers that become free one after another. Those of more ranks come first, so that they never wait for ranks that others have
/// taken one by one, and those that must be alone last; else the order of the list holds. Workers that are too few for the next task get a
/// later one.
class TaskQueue {
 public:
  /// nodes: of each worker; a task gets workers of one node, where one has so many free ones. Each task needs no more workers than there are.
  TaskQueue(std::vector<Task> tasks, std::vector<int> nodes);

  /// The next task that may begin now, which then has its workers. Empty: none, before another one ends.
  [[nodiscard]] std::optional<TaskStart> next();
  /// A task that has begun has ended: its workers are free.
  void end(size_t task);
  /// No further task begins.
  void stop() { waiting_.clear(); }

  bool is_idle() const { return under_way_.empty(); }
  size_t waiting_count() const { return waiting_.size(); }
  const std::vector<TaskStart>& under_way() const { return under_way_; }

 private:
  bool may_begin(const Task& task) const;
  std::vector<int> free_workers(int count) const;

  std::vector<Task> tasks_;
  std::vector<int> nodes_;       // [worker]
  std::vector<size_t> waiting_;  // in the order in which they begin
  std::vector<bool> is_free_;    // [worker]
  std::vector<TaskStart> under_way_;
};

}  // namespace cg2d
