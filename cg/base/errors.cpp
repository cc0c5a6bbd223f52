#include "cg/base/errors.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cg2d {

namespace {

constexpr std::array<std::pair<ExitCode, std::string_view>, 17> code_names{
    {{ExitCode::success, "success"},
     {ExitCode::regression, "regression"},
     {ExitCode::undecided, "undecided"},
     {ExitCode::usage, "usage-error"},
     {ExitCode::bad_data, "bad-data"},
     {ExitCode::unavailable, "unavailable"},
     {ExitCode::internal, "internal-error"},
     {ExitCode::memory, "not-enough-memory"},
     {ExitCode::cannot_create, "cannot-create-output"},
     {ExitCode::cannot_write, "cannot-write-output"},
     {ExitCode::interrupted, "interrupted"},
     {ExitCode::not_positive_definite, "not-positive-definite"},
     {ExitCode::not_converged, "not-converged"},
     {ExitCode::verification_failed, "verification-failed"},
     {ExitCode::soft_error, "soft-error"},
     {ExitCode::not_finite, "not-finite"},
     {ExitCode::stalled, "stalled"}}};

constexpr bool is_control(unsigned char letter) { return letter < 0x20 || letter == 0x7f; }

/// Whether the UTF-8 at the place is one of the control characters U+0080 to U+009F, which terminals obey, too.
bool is_wide_control(std::string_view text, std::size_t place) {
  if (place + 1 >= text.size() || text[place] != '\xc2') return false;
  const auto second = static_cast<unsigned char>(text[place + 1]);
  return second >= 0x80 && second < 0xa0;
}

void add_escaped(std::string& line, unsigned char letter) {
  constexpr std::string_view digits = "0123456789abcdef";
  line += "\\x";
  line += digits[letter >> 4U];
  line += digits[letter & 0xfU];
}

/// The place, or the one before it where a character of several bytes begins.
std::size_t begin_of_character(std::string_view text, std::size_t place) {
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
  for (std::size_t place = 0; place < message.size(); ++place) {
    const auto letter = static_cast<unsigned char>(message[place]);
    if (is_wide_control(message, place)) {
      add_escaped(line, letter);
      add_escaped(line, static_cast<unsigned char>(message[++place]));
    } else if (is_control(letter)) {
      add_escaped(line, letter);
    } else {
      line += message[place];
    }
  }
  if (line.size() <= most_message_bytes) return line;
  constexpr std::string_view gap = " [...] ";
  constexpr std::size_t half = (most_message_bytes - gap.size()) / 2;
  const auto end_begin =
      begin_of_character(line, line.size() - half + 3);  // 3: at most so many bytes before it
  return line.substr(0, begin_of_character(line, half)).append(gap).append(line, end_begin);
}

std::string_view status_name(ExitCode code) {
  return std::ranges::find(code_names, code, &std::pair<ExitCode, std::string_view>::first)->second;
}

bool is_exit_code(int code) {
  return std::ranges::any_of(code_names,
                             [&](const auto& row) { return static_cast<int>(row.first) == code; });
}

}  // namespace cg2d
