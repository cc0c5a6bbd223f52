#pragma once

// The result of a task: one line of JSON. No MPI.

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {

/// The end of a task, as its ranks report it.
struct TaskEnd {
  ExitCode code = ExitCode::success;
  double duration_s = 0.0;              ///< seconds
  bool is_over_time = false;            ///< it was stopped since it took longer than it may
  std::string output{};                 ///< what its command wrote to standard output
  std::vector<std::string> messages{};  ///< lines that its ranks wrote to stderr
};

void describe(Members& m, TaskEnd& end);

/// A task with its end.
struct TaskResult {
  std::string name{};
  std::string command{};            ///< as a shell takes it, with cg2d
  std::vector<int> ranks{};         ///< of the job; empty where it could not be tried
  double start_s = 0.0;             ///< since the batch began
  int sitting = 1;                  ///< the call of cg2d batch, by number, that did it
  bool is_beside_others = false;    ///< other tasks may have run at the same time
  std::optional<double> limit_s{};  ///< what it might take
  TaskEnd end{};

  /// Why it did not succeed; empty: it did.
  [[nodiscard]] std::string reason() const;
};

/// A line of a batch's results, without its end.
std::string task_line(const TaskResult& result);
/// The type of such a line.
Json task_type();

/// The part of a line that a batch needs to go on.
struct KnownTask {
  std::string name;
  std::string command;
  int sitting = 1;
};
/// The tasks of whole lines. Throws InputError that names the line, for anything else than a batch's results.
std::vector<KnownTask> known_tasks(std::string_view text);

}  // namespace cg2d
