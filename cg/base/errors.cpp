#include "cg/base/errors.hpp"

#include <algorithm>
#include <array>

namespace cg2d {

namespace {

constexpr std::array exit_codes{
    ExitCodeRow{ExitCode::success, "success",
                "verified; or finished, where there is nothing to verify against; or a plan, list or help "
                "was printed",
                ""},
    ExitCodeRow{ExitCode::regression, "regression", "something became slower", "compare"},
    ExitCodeRow{ExitCode::undecided, "undecided", "undecided: too few or too noisy rounds", "compare"},
    ExitCodeRow{ExitCode::usage, "usage-error",
                "usage: bad option, bad problem, or a grid that does not match the ranks", ""},
    ExitCodeRow{ExitCode::bad_data, "bad-data",
                "bad input file (matrix, vector, checkpoint, results, file of --out-of-core), or a matrix is "
                "not symmetric",
                "run solve convert sweep scaling tune model simulate stencil compare export report batch"},
    ExitCodeRow{ExitCode::no_input, "no-input", "a file of results cannot be read", "report"},
    ExitCodeRow{ExitCode::unavailable, "unavailable",
                "a requested kernel, transport, event, number of threads or tool is not available on this "
                "machine; or its processor lacks an instruction of the program; or the launcher is of "
                "another MPI than the program",
                ""},
    ExitCodeRow{ExitCode::internal, "internal-error", "a defect of cg2d", ""},
    ExitCodeRow{ExitCode::memory, "not-enough-memory", "not enough memory", ""},
    ExitCodeRow{ExitCode::cannot_create, "cannot-create-output",
                "an output file cannot be created, or there is not enough room for a file of --out-of-core "
                "or --scratch",
                ""},
    ExitCodeRow{ExitCode::cannot_write, "cannot-write-output",
                "an output cannot be written completely; or a file of --out-of-core or --scratch cannot be "
                "read or written any more",
                ""},
    ExitCodeRow{ExitCode::interrupted, "interrupted",
                "stopped by SIGINT or SIGTERM, to go on later where the state was saved; or other load "
                "disturbed a measurement of tune or model --calibrate: try again",
                ""},
    ExitCodeRow{ExitCode::not_positive_definite, "not-positive-definite",
                "the matrix is not positive definite", "solve sweep scaling batch"},
    ExitCodeRow{ExitCode::not_converged, "not-converged", "not converged: iteration limit, or stagnation",
                "solve sweep scaling stencil batch"},
    ExitCodeRow{
        ExitCode::verification_failed, "verification-failed",
        "verification failed: the result differs from the reference; or a check of check or --check failed",
        "run solve sweep scaling tune stencil check batch"},
    ExitCodeRow{ExitCode::soft_error, "soft-error", "--guard: a second attempt met the soft error again",
                "run solve batch"},
    ExitCodeRow{ExitCode::not_finite, "not-finite", "NaN or infinity in the input or in the computation",
                "run solve convert sweep scaling stencil batch"},
    ExitCodeRow{ExitCode::stalled, "stalled", "--stall-limit: no progress for that long", "run solve batch"},
    ExitCodeRow{ExitCode::folder_in_use, "folder-in-use",
                "another run uses a folder that this one would write to", "run solve batch"}};

/// The place, or the one before it where a character of several bytes begins.
size_t begin_of_character(std::string_view text, size_t place) {
  constexpr int most_bytes_after_first = 3;
  for (int k = 0; k < most_bytes_after_first && (static_cast<unsigned char>(text[place]) & 0xc0U) == 0x80U;
       ++k)
    --place;
  return place;
}

}  // namespace

std::string one_line(std::string_view message) {
  std::string line;
  line.reserve(message.size());
  for (size_t place = 0; place < message.size(); ++place) {
    const auto letter = static_cast<unsigned char>(message[place]);
    const auto next = place + 1 < message.size() ? static_cast<unsigned char>(message[place + 1]) : 0;
    // U+0080 to U+009F, which terminals obey, too.
    const bool is_wide = letter == 0xc2 && next >= 0x80 && next < 0xa0;
    if (is_wide || letter < 0x20 || letter == 0x7f) {
      line += fmt::format("\\x{:02x}", letter);
    } else {
      line += message[place];
    }
    if (is_wide) {
      line += fmt::format("\\x{:02x}", next);
      ++place;
    }
  }
  if (line.size() <= most_message_bytes) return line;
  constexpr std::string_view gap = " [...] ";
  constexpr size_t half = (most_message_bytes - gap.size()) / 2;
  const auto end_begin =
      begin_of_character(line, line.size() - half + 3);  // 3: at most so many bytes before it
  return line.substr(0, begin_of_character(line, half)).append(gap).append(line, end_begin);
}

std::span<const ExitCodeRow> exit_code_table() { return exit_codes; }

bool ends_with(std::string_view command, const ExitCodeRow& row) {
  constexpr std::string_view blank = " ";
  const auto all = std::string(blank).append(row.commands).append(blank);
  return row.commands.empty() ||
         all.find(std::string(blank).append(command).append(blank)) != std::string::npos;
}

std::string_view status_name(ExitCode code) {
  return std::ranges::find(exit_codes, code, &ExitCodeRow::code)->status;
}

}  // namespace cg2d
