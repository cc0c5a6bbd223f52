#pragma once

// Values as text: numbers, grids of ranks, names of table rows, and checks whose messages list the valid
// values.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "comm/block_layout.hpp"

namespace cg2d {

/// The whole text as a decimal number; empty if it is anything else or does not fit.
template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A letter of ASCII in lower or upper case; others stay. The functions of C have the locale of the program.
constexpr char lower_letter(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
constexpr char upper_letter(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

constexpr bool is_upper_letter(char letter) { return lower_letter(letter) != letter; }
constexpr bool is_letter_or_digit(char letter) {
  return (letter >= '0' && letter <= '9') || is_upper_letter(upper_letter(letter));
}

/// The names of the rows of a table that are wanted, in their order.
template <typename Table, typename Predicate>
std::vector<std::string> names_where(const Table& table, const Predicate& is_wanted) {
  std::vector<std::string> names;
  for (const auto& row : table) {
    if (is_wanted(row)) names.emplace_back(row.name);
  }
  return names;
}
template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  return names_where(table, [](const auto& /*row*/) { return true; });
}

/// The row of that name, or nullptr.
template <typename Table>
auto row_named(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
  const auto found = std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

/// A row of a table that gives values their names.
template <typename Value>
struct NamedValue {
  std::string_view name;
  Value value;
};

/// "a,b" -> "a", "b"; one part where the separator is not in the text.
std::vector<std::string> split_at(std::string_view text, char separator);

/// Between single quotes of a POSIX shell.
std::string shell_quoted(std::string_view text);
/// The value of a variable of the environment; empty where it is not set. Nothing sets one once threads run.
std::string environment_variable(const char* name);

/// The value must be in the table.
template <typename Value>
std::string_view name_in(std::span<const NamedValue<Value>> table, const Value& value) {
  return std::ranges::find(table, value, &NamedValue<Value>::value)->name;
}

/// The value of that name; empty if no row has it.
template <typename Value>
std::optional<Value> value_in(std::span<const NamedValue<Value>> table, std::string_view name) {
  const auto row = std::ranges::find(table, name, &NamedValue<Value>::name);
  return row == table.end() ? std::nullopt : std::optional(row->value);
}

/// Throws InputError when there is no such grid: both must be at least 1, and MPI must have numbers for the ranks.
comm::ProcessGrid grid_of(int64_t columns, int64_t rows);
/// "2x4" -> 2 columns, 4 rows; "auto" -> nothing. Throws InputError that names the grids and `other_words` as
/// valid.
std::optional<comm::ProcessGrid> grid_from(std::string_view text, std::string_view other_words = "");
/// Every grid of that many ranks, for messages.
std::string valid_grids(int rank_count);
/// Throws InputError that lists the valid grids when the grid is of another number of ranks.
void require_grid_of(const comm::ProcessGrid& grid, int rank_count);

/// Throws InputError that lists the known names, and the one that was probably meant.
void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known);
/// Throws the InputError of require_known() for a value that is not among the known names.
[[noreturn]] void refuse_unknown(const std::string& option, const std::string& value,
                                 const std::vector<std::string>& known);
/// The name that is most like `name`, upper and lower case alike; empty: none is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);
/// "; did you mean <prefix><nearest name>?", the end of an error message; empty where no name is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& names,
                         std::string_view prefix = "");
/// The text behind a UTF-8 byte order mark, which some editors begin a file with.
std::string_view without_byte_order_mark(std::string_view text);
/// The seed of "random:SEED"; empty for a text that does not begin so. Throws InputError that names the option where the seed is no whole
/// number.
std::optional<uint64_t> seed_from(std::string_view option, std::string_view text);
/// "90", "90s", "10min", "2h" -> seconds. Throws InputError that names the option.
double seconds_from(std::string_view option, std::string_view text);
/// The same for a limit, which must be more than 0.
double limit_seconds_from(std::string_view option, std::string_view text);
/// Throws InputError when the value is not within least ... largest.
void require_within(const std::string& option, int value, int largest, int least = 1);
/// Throws InputError when fewer ranks were started than the option asks for.
void require_started(const std::string& option, int rank_count, int started_count);

/// More threads than any processor runs. The OpenMP library crashes on much larger numbers.
inline constexpr int most_threads = 1024;

/// A byte count, or the sum of two, which may be negative; the largest number there is for anything greater.
inline int64_t saturated(double byte_count) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  return byte_count < static_cast<double>(most) ? static_cast<int64_t>(byte_count) : most;
}
inline int64_t saturated_sum(int64_t a, int64_t b) {
  constexpr auto most = std::numeric_limits<int64_t>::max();
  return b > 0 && a > most - b ? most : a + b;
}

/// "12.3 MB", decimal units.
std::string format_bytes(int64_t byte_count);
/// "12.3 MB", rounded up: a limit of so many bytes is no smaller.
std::string format_bytes_above(int64_t byte_count);

/// A number as Fortran's E<width>.<digits> prints it: "0.2271274548263E+02".
std::string format_fortran(double value, int digits);

/// "1 rank", "2 ranks".
std::string format_count(int64_t count, const std::string& noun);

class Members;
/// A number as its hexadecimal digits.
template <std::unsigned_integral Integer>
void describe_hexadecimal(Members& m, std::string_view name, Integer& value, std::string_view text = {});
/// Its columns and rows.
void describe_columns(Members& m, comm::ProcessGrid& grid);
/// Its name, "PXxPY".
void describe_name(Members& m, std::string_view name, comm::ProcessGrid& grid);

}  // namespace cg2d
