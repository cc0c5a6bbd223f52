#pragma once

// The tasks of a batch: a file with a command line in each line, and the order in which they are handed out, with the ranks that get them.
// Pure: no MPI, no clock.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cg2d {

/// One command line for a group of ranks.
struct Task {
  std::string name{};                ///< unique in its list
  std::vector<std::string> words{};  ///< "run", "--class", "S"
  int rank_count = 1;
  std::optional<double> expected_s{};  ///< empty: not known
  std::string place{};                 ///< "tasks.txt:3"
  bool names_format = false;           ///< for the command's result
  bool is_alone = false;               ///< nothing may run beside it

  /// The words as a shell takes them.
  std::string command() const;
};

/// One of several equal parts of a list, from 1 on: every count-th task, so that neighbours, which often take alike long, go to
/// different parts.
struct ListPart {
  int number = 1;
  int count = 1;
};
/// "3/8". Throws InputError.
ListPart list_part_from(const std::string& option, const std::string& text);

/// An option, and the values that each task gets once.
struct VariedOption {
  std::string option;               ///< "--shift"
  std::vector<std::string> values;  ///< at least one
};
/// "--shift 10:20:0.5", first, last and step, or "--kernel scalar,sell". Throws InputError.
VariedOption varied_option_from(const std::string& option, const std::string& text);

/// Settings that the list itself does not have.
struct TaskListOptions {
  std::string path{};
  int ranks_per_task = 1;
  int most_ranks = 1;  ///< that a task may take
  std::vector<VariedOption> varied{};
  ListPart part{};
};

/// The tasks of a list, in its order: lines
///
///     [name=NAME] [ranks=N] [time=TIME] COMMAND OPTION...
///
/// with quotes as in a shell, and comments after #. A task without a name has its command line as a name. Each task is there once for each
/// combination of the varied values. Throws InputError that names file and line, for a list without a task, too.
std::vector<Task> tasks_from(std::string_view text, const TaskListOptions& options);

class Members;
/// A line of a batch's results, for its schema.
void visit_task_line(Members& m);

/// The words of a line; quotes keep blanks together, and # begins a comment. Empty: a quote has no end.
std::optional<std::vector<std::string>> words_of(std::string_view line);

// ---------------------------------------------------------------- the order

/// Workers of one node and of about one speed suit each other.
struct WorkerPlace {
  int node = 0;
  int speed_class = 0;  ///< 0: the fastest
};
/// The class of each worker by its speed, in any unit: a class ends where one has less than 0.75 of the speed of its fastest, since smaller
/// differences may be noise.
std::vector<int> speed_classes(std::span<const double> speeds);

/// A task that may begin, and the numbers of its workers, ascending.
struct TaskStart {
  size_t task = 0;
  std::vector<int> workers;
};

/// Tasks for workers that become free one after another. Those of more ranks come first, so that they never wait for ranks that others have
/// taken one by one; of equally many ranks the longest come first (R. L. Graham, SIAM J. Appl. Math. 17, 1969: the last one to end is
/// then short), those of unknown length before all others, and else the order of the list holds. Workers that are too few for the next task get a
/// later one. Tasks that must be alone come last.
class TaskQueue {
 public:
  /// places: of each worker; a task gets workers of one node and of one class, the fastest that has so many free ones, else of one node if there are so
  /// many. is_exclusive: one task at a time. Each task needs no more workers than there are.
  TaskQueue(std::vector<Task> tasks, std::vector<WorkerPlace> places, bool is_exclusive);

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
  std::vector<WorkerPlace> places_;
  bool is_exclusive_;
  std::vector<size_t> waiting_;  // in the order in which they begin
  std::vector<bool> is_free_;    // [worker]
  std::vector<TaskStart> under_way_;
};

/// Seconds that no schedule of tasks which take what was expected can beat on so many workers: each takes its ranks for its time, and none
/// ends before it has taken its time.
double least_makespan(std::span<const Task> tasks, int worker_count);

}  // namespace cg2d
