#pragma once

// Exit codes of cg2d, and the exceptions that carry one.

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cg2d {

/// Exit codes of the program, those of sysexits.h where it has one; exit_code_table() says what they mean. Every rank ends with the same.
enum class ExitCode {
  success = 0,
  regression = 1,
  undecided = 2,
  usage = 64,
  bad_data = 65,
  no_input = 66,
  unavailable = 69,
  internal = 70,
  memory = 71,
  cannot_create = 73,
  cannot_write = 74,
  interrupted = 75,
  try_again = 75,  ///< a measurement that other load on the machine disturbed; not the code of a run
  not_positive_definite = 80,
  not_converged = 81,
  verification_failed = 82,
  soft_error = 83,
  not_finite = 84,
  stalled = 85,
  folder_in_use = 86,
};

/// One exit code, for JSON, --help, the manual pages and the README.
struct ExitCodeRow {
  ExitCode code;
  std::string_view status;    ///< in `status` of the JSON output
  std::string_view meaning;   ///< without a full stop
  std::string_view commands;  ///< that end with it, separated by blanks; empty: all
};
/// All exit codes, ascending.
std::span<const ExitCodeRow> exit_code_table();
/// Whether the command can end with the code of the row.
bool ends_with(std::string_view command, const ExitCodeRow& row);

/// The word for an exit code in `status` of the JSON output.
std::string_view status_name(ExitCode code);

/// The longest message of a RunError, in bytes: for messages that quote a file.
inline constexpr size_t most_message_bytes = 2000;
/// A message as one line: control characters, which files may hold and terminals obey, as \x1b, and the middle of one that is too
/// long left out.
std::string one_line(std::string_view message);

/// An error that the user can correct. what() is one line: what is wrong, where, and what would be right.
class RunError : public std::runtime_error {
 public:
  RunError(ExitCode code, std::string_view message) : std::runtime_error(one_line(message)), code_(code) {}
  /// The message as fmt makes it.
  template <typename... Values>
  RunError(ExitCode code, fmt::format_string<Values...> message, Values&&... values)
      : RunError(code, fmt::format(message, std::forward<Values>(values)...)) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_ = ExitCode::internal;
};

/// A bad option, problem or grid; or a file with a figure that nothing can be computed with (bad_data).
class InputError : public RunError {
 public:
  explicit InputError(const std::string& message, ExitCode code = ExitCode::usage)
      : RunError(code, message) {}
  template <typename... Values>
  explicit InputError(fmt::format_string<Values...> message, Values&&... values)
      : RunError(ExitCode::usage, message, std::forward<Values>(values)...) {}
};

}  // namespace cg2d
