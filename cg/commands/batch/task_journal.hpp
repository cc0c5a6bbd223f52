#pragma once

// The results of a batch: of each task a line of JSON in one file, and beside it the tasks that are under way. No MPI.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/line_file.hpp"
#include "cg/commands/batch/task_list.hpp"

namespace cg2d {

/// A task that has begun, or ended: the message to its ranks, and theirs.
struct TaskResult {
  std::size_t number = 0;  ///< among the tasks of this call
  std::string name{};
  std::string command{};             ///< as a shell takes it, with cg2d
  std::vector<std::string> words{};  ///< of the command line, the program's name first
  std::vector<int> ranks{};          ///< of the job, ascending; empty where it could not be tried
  std::optional<double> limit_s{};   ///< what it may take
  bool is_beside_others = false;     ///< other tasks may run at the same time
  double start_s = 0.0;              ///< since the batch began
  int sitting = 1;                   ///< the call of cg2d batch, by number, that did it

  ExitCode code = ExitCode::success;
  double duration_s = 0.0;              ///< seconds
  bool is_over_time = false;            ///< it was stopped since it took longer than it may
  std::string output{};                 ///< what its command wrote to standard output
  std::vector<std::string> messages{};  ///< lines that its ranks wrote to stderr

  /// Why it did not succeed; empty: it did.
  [[nodiscard]] std::string reason() const;
};

void describe(Members& m, TaskResult& task);

/// A line of a batch's results, for its schema.
void visit_task_line(Members& m);

/// A job that dies takes the tasks under way with it, and one of them may be the reason. How often that may happen to a task:
inline constexpr int ends_before_alone = 2;  ///< so often, and then it is done alone, after all others
inline constexpr int most_ends = 3;          ///< then it is not tried again

/// The file beside the results that names the tasks under way.
std::string under_way_path_of(const std::string& path);

/// The results of a batch, a line for each task, and beside them, while the batch goes on, the names of tasks that began: a killed job
/// loses those under way and nothing else.
class TaskJournal {
 public:
  /// Opens or makes the files; an incomplete last line, which a killed writer leaves, is dropped. fresh: they are emptied. Throws
  /// RunError: cannot_create, or usage for a file of anything else, or in use.
  TaskJournal(const std::string& path, bool fresh);

  /// Whether the task has a result. Throws InputError where that is of another command.
  [[nodiscard]] bool has_result(const Task& task) const;
  /// How many jobs have ended while the task was under way.
  [[nodiscard]] int end_count(const Task& task) const;
  /// The number of this call, from 1 on.
  [[nodiscard]] int sitting() const { return sitting_; }

  /// Notes that a task begins, where that can be written.
  void begin(const Task& task);
  /// Keeps a result: it survives the job at once, and the system within a second. Throws RunError (cannot_write), as
  /// LineFile::sync(); the result is kept all the same.
  void keep(const TaskResult& result);
  /// The batch ends, and no task is under way. Throws RunError (cannot_write), as LineFile::sync().
  void close();

 private:
  std::string path_;
  LineFile results_;
  LineFile under_way_;
  std::vector<TaskResult> known_;   // their names, commands and sittings
  std::vector<std::string> begun_;  // by earlier jobs, once for each
  int sitting_ = 1;
  Stopwatch since_sync_;
};

}  // namespace cg2d
