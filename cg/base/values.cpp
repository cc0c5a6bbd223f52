#include "cg/base/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

bool same_letter(char a, char b) { return lower_letter(a) == lower_letter(b); }

/// Single letters to insert, remove or replace, and neighbours to exchange, so that one text becomes the other
/// (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) distance[i][0] = i;
  std::iota(distance[0].begin(), distance[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = distance[i - 1][j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      distance[i][j] = std::min({replaced, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      const bool is_exchange =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (is_exchange) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (auto end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.emplace_back(text);
  return parts;
}

std::string shell_quoted(std::string_view text) {
  std::string result;
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return "'" + result + "'";
}

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

comm::ProcessGrid grid_of(int64_t columns, int64_t rows) {
  constexpr int64_t most = std::numeric_limits<int>::max();
  const bool is_grid = columns >= 1 && rows >= 1 && columns <= most && rows <= most;
  if (!is_grid || columns * rows > most)
    throw InputError("a grid of {} x {} ranks is not valid: it must have 1 ... {}", columns, rows, most);
  return {.columns = static_cast<int>(columns), .rows = static_cast<int>(rows)};
}

std::optional<comm::ProcessGrid> grid_from(std::string_view text, std::string_view other_words) {
  if (text == "auto") return std::nullopt;
  const auto extents = split_at(text, 'x');
  const int columns = number_from<int>(extents.front()).value_or(0);
  const int rows = number_from<int>(extents.back()).value_or(0);
  if (extents.size() != 2 || columns < 1 || rows < 1)
    throw InputError("--grid {}: must be PXxPY (columns x rows of ranks), such as 2x4{}{}", text, other_words,
                     did_you_mean(text, {"auto", "rule", "official"}));
  try {
    return grid_of(columns, rows);
  } catch (const InputError& error) {
    throw InputError("--grid {}: {}", text, error.what());
  }
}

void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) == known.end()) refuse_unknown(option, value, known);
}

void refuse_unknown(const std::string& option, const std::string& value,
                    const std::vector<std::string>& known) {
  throw InputError("{} {}: unknown; valid: {}{}", option, value, fmt::join(known, ", "),
                   did_you_mean(value, known));
}

std::string valid_grids(int rank_count) {
  std::vector<std::string> names;
  for (const auto& grid : comm::factorizations(rank_count)) names.push_back(grid.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_grid_of(const comm::ProcessGrid& grid, int rank_count) {
  if (static_cast<int64_t>(grid.columns) * grid.rows == rank_count) return;
  throw InputError("--grid {}: does not match the {}; valid (PXxPY): {}", grid.name(),
                   format_count(rank_count, "rank"), valid_grids(rank_count));
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  // In short names one wrong letter is much; a third of the letters wrong is another word.
  constexpr size_t short_size = 4;
  size_t least = (name.size() <= short_size ? 1 : std::max(size_t{2}, name.size() / 3)) + 1;
  std::string nearest;
  for (const auto& candidate : names) {
    const auto distance = edit_distance(name, candidate);
    // Texts that have no letter in common are not alike, however short.
    if (distance >= least || distance == std::max(name.size(), candidate.size())) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names,
                         std::string_view prefix) {
  const auto nearest = nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, nearest);
}

void require_within(const std::string& option, int value, int largest, int least) {
  if (value < least || value > largest)
    throw InputError("{} {}: must be within {} ... {}", option, value, least, largest);
}

void require_started(const std::string& option, int rank_count, int started_count) {
  if (rank_count <= started_count) return;
  throw InputError("{} {}: only {} started; start as many with mpiexec -n {}", option, rank_count,
                   started_count, rank_count);
}

std::string format_bytes(int64_t byte_count) {
  constexpr std::array<std::string_view, 7> units{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(byte_count);
  size_t unit = 0;
  // Three digits are shown: what rounds to 1000 takes the next unit.
  while (std::abs(value) >= (unit == 0 ? 1000.0 : 999.5) && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", byte_count) : fmt::format("{:.3g} {}", value, units[unit]);
}

std::string format_bytes_above(int64_t byte_count) {
  // The grain of three digits.
  int64_t grain = 1;
  while (byte_count / grain >= 1000 && grain < int64_t{1'000'000'000'000'000}) grain *= 10;
  if (byte_count > std::numeric_limits<int64_t>::max() - grain) return format_bytes(byte_count);
  return format_bytes((byte_count + grain - 1) / grain * grain);
}

std::string format_fortran(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : (value > 0 ? "Infinity" : "-Infinity");
  if (value == 0.0) return fmt::format("0.{:0>{}}E+00", 0, digits);
  // C's d.ddddE+xx with digits - 1 decimals, its point moved by one place.
  std::string text = fmt::format("{:.{}E}", std::abs(value), digits - 1);
  const auto exponent_at = text.find('E');
  const int exponent = std::stoi(text.substr(exponent_at + 1)) + 1;
  std::string mantissa = text.substr(0, exponent_at);
  if (const auto point = mantissa.find('.'); point != std::string::npos) mantissa.erase(point, 1);
  return fmt::format("{}0.{}E{}{:02}", value < 0 ? "-" : "", mantissa, exponent < 0 ? '-' : '+',
                     std::abs(exponent));
}

std::string format_count(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::optional<uint64_t> seed_from(std::string_view option, std::string_view text) {
  constexpr std::string_view prefix = "random:";
  if (!text.starts_with(prefix)) return std::nullopt;
  const auto seed = number_from<uint64_t>(text.substr(prefix.size()));
  if (!seed)
    throw InputError("{} {}: the seed must be a whole number up to {}, as in random:1", option, text,
                     std::numeric_limits<uint64_t>::max());
  return seed;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

double seconds_from(std::string_view option, std::string_view text) {
  const std::string given(text);
  double unit_s = 1.0;
  for (const auto& [name, seconds] : {std::pair("min", 60.0), std::pair("h", 3600.0), std::pair("s", 1.0)}) {
    if (!text.ends_with(name)) continue;
    text.remove_suffix(std::string_view(name).size());
    unit_s = seconds;
    break;
  }
  const auto number = number_from<double>(text);
  constexpr double a_year_s = 3.2e7;
  if (!number || !(*number >= 0.0 && *number * unit_s <= a_year_s))
    throw InputError("{} {}: must be a time such as 90s, 10min or 2h", option, given);
  return *number * unit_s;
}

double limit_seconds_from(std::string_view option, std::string_view text) {
  const double limit_s = seconds_from(option, text);
  if (limit_s <= 0.0) throw InputError("{} {}: must be more than 0 s, such as 30s or 10min", option, text);
  return limit_s;
}

template <std::unsigned_integral Integer>
void describe_hexadecimal(Members& m, std::string_view name, Integer& value, std::string_view text) {
  constexpr int base = 16;
  auto digits = fmt::format("{:0{}x}", value, 2 * sizeof(Integer));
  m(name, digits, meaning(text));
  const auto* const end = digits.data() + digits.size();
  if (!m.reads()) return;
  const auto [rest, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || rest != end)
    m.complain(fmt::format("{} is \"{}\": hexadecimal digits are needed", m.where(name), digits));
}
template void describe_hexadecimal(Members&, std::string_view, uint32_t&, std::string_view);
template void describe_hexadecimal(Members&, std::string_view, uint64_t&, std::string_view);

void describe_columns(Members& m, comm::ProcessGrid& grid) {
  m("columns", grid.columns, in_column("px", at_least(1)));
  m("rows", grid.rows, in_column("py", at_least(1)));
  if (!m.reads() || grid.columns < 1 || grid.rows < 1) return;
  try {
    static_cast<void>(grid_of(grid.columns, grid.rows));
  } catch (const InputError& error) {
    m.complain(error.what());
  }
}

void describe_name(Members& m, std::string_view name, comm::ProcessGrid& grid) {
  auto text = grid.name();
  m(name, text, meaning("PXxPY"));
  if (!m.reads()) return;
  try {
    if (const auto found = grid_from(text)) {
      grid = *found;
      return;
    }
  } catch (const InputError&) {  // of an option; here it is a member
  }
  m.complain(fmt::format("{} is \"{}\": it must be a grid such as 2x4", m.where(name), text));
}

}  // namespace cg2d
