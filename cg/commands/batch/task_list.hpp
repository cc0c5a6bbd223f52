#pragma once

// The tasks of a batch: a file with a command line in each line. No MPI.

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
  std::optional<double> expected_s{};  ///< empty: not known
  std::string place{};                 ///< "tasks.txt:3"
  bool names_format = false;           ///< for the command's result
  bool is_alone = false;               ///< nothing may run beside it

  /// The words as a shell takes them.
  [[nodiscard]] std::string command() const;
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

/// The words of a line; quotes keep blanks together, and # begins a comment. Empty: a quote has no end.
std::optional<std::vector<std::string>> words_of(std::string_view line);

}  // namespace cg2d
