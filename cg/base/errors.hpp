#pragma once

// Exit codes of cg2d, and the exceptions that carry one.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cg2d {

/// Exit codes of the program, those of sysexits.h where it has one. Every rank ends with the same.
enum class ExitCode {
  success = 0,         ///< verified, or finished where there is nothing to verify against
  regression = 1,      ///< cg2d compare found something that became slower
  undecided = 2,       ///< cg2d compare found none, and cannot exclude one: too few or too noisy rounds
  usage = 64,          ///< bad option, bad problem, grid that does not match the ranks
  bad_data = 65,       ///< a file that is not what it should be, or a matrix that is not symmetric
  unavailable = 69,    ///< a kernel, transport, ... requested by name can't serve on this machine
  internal = 70,       ///< a defect of cg2d
  memory = 71,         ///< not enough memory
  cannot_create = 73,  ///< output file cannot be created
  cannot_write = 74,   ///< output cannot be written to its end
  interrupted = 75,    ///< SIGINT or SIGTERM
  try_again = 75,      ///< a measurement that other load on the machine disturbed; not the code of a run
  not_positive_definite = 80,  ///< the matrix of `cg2d solve`
  not_converged = 81,          ///< `cg2d solve`: the limit of iterations, or stagnation
  verification_failed = 82,    ///< zeta differs from the reference
  soft_error = 83,             ///< the guard found the same error in two attempts at an outer iteration
  not_finite = 84,             ///< NaN or infinity in the computation
  stalled = 85,                ///< no progress for as long as --stall-limit allows
};

/// The word for an exit code in `status` of the JSON output.
std::string_view status_name(ExitCode code);
/// Whether the program can end with this code.
bool is_exit_code(int code);

/// The longest message of a RunError, in bytes: for messages that quote a file.
inline constexpr std::size_t most_message_bytes = 2000;
/// A message as one line: control characters, which files may hold and terminals obey, as \x1b, and the middle of one that is too
/// long left out.
std::string one_line(std::string_view message);

/// An error that the user can correct. what() is one line: what is wrong, where, and what would be right.
class RunError : public std::runtime_error {
 public:
  RunError(ExitCode code, std::string_view message) : std::runtime_error(one_line(message)), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// A bad option, problem or grid.
class InputError : public RunError {
 public:
  explicit InputError(const std::string& message) : RunError(ExitCode::usage, message) {}
};

}  // namespace cg2d
