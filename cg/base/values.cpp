#include "cg/base/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>

#include "cg/base/errors.hpp"

namespace cg2d {
namespace {

std::optional<int> positive_integer(std::string_view text) {
  const auto value = number_from<int>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

/// Single letters to insert, remove or replace so that one text becomes the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool same =
          std::tolower(static_cast<unsigned char>(a[i])) == std::tolower(static_cast<unsigned char>(b[j]));
      const std::size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

comm::ProcessGrid grid_of(std::int64_t columns, std::int64_t rows) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const bool is_grid = columns >= 1 && rows >= 1 && columns <= most && rows <= most;
  if (!is_grid || columns * rows > most)
    throw InputError(
        fmt::format("a grid of {} x {} ranks is not valid: it must have 1 ... {}", columns, rows, most));
  return {.columns = static_cast<int>(columns), .rows = static_cast<int>(rows)};
}

std::optional<comm::ProcessGrid> grid_from(std::string_view text, std::string_view other_words) {
  if (text == "auto") return std::nullopt;
  const auto cross = text.find('x');
  const auto columns = positive_integer(text.substr(0, cross));
  const auto rows = cross == std::string_view::npos ? std::nullopt : positive_integer(text.substr(cross + 1));
  if (!columns || !rows) {
    throw InputError(
        fmt::format("--grid {}: must be PXxPY (columns x rows of ranks), such as 2x4{}", text, other_words));
  }
  try {
    return grid_of(*columns, *rows);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--grid {}: {}", text, error.what()));
  }
}

void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw InputError(fmt::format("{} {}: unknown; valid: {}", option, value, fmt::join(known, ", ")));
}

std::string valid_grids(int rank_count) {
  std::vector<std::string> names;
  for (const auto& grid : comm::factorizations(rank_count)) names.push_back(grid.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_grid_of(const comm::ProcessGrid& grid, int rank_count) {
  if (static_cast<std::int64_t>(grid.columns) * grid.rows == rank_count) return;
  throw InputError(fmt::format("--grid {}: does not match the {}; valid (PXxPY): {}", grid.name(),
                               format_count(rank_count, "rank"), valid_grids(rank_count)));
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& names) {
  // Two letters in the wrong order are two wrong ones; a third of the letters wrong is another word.
  std::size_t least = std::max(std::size_t{3}, name.size() / 3 + 1);
  std::string nearest;
  for (const auto& candidate : names) {
    const auto distance = edit_distance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

void require_within(const std::string& option, int value, int largest) {
  if (value < 1 || value > largest)
    throw InputError(fmt::format("{} {}: must be within 1 ... {}", option, value, largest));
}

void require_started(const std::string& option, int rank_count, int started_count) {
  if (rank_count <= started_count) return;
  throw InputError(fmt::format("{} {}: only {} started; start as many with mpiexec -n {}", option, rank_count,
                               started_count, rank_count));
}

void require_not_negative(const std::string& option, const std::optional<int>& value) {
  if (value && *value < 0) throw InputError(fmt::format("{} {}: must not be negative", option, *value));
}

std::string format_bytes(std::int64_t byte_count) {
  constexpr std::array<std::string_view, 7> units{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(byte_count);
  std::size_t unit = 0;
  // Three digits are shown: what rounds to 1000 takes the next unit.
  while (std::abs(value) >= (unit == 0 ? 1000.0 : 999.5) && unit + 1 < units.size()) {
    value /= 1000.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", byte_count) : fmt::format("{:.3g} {}", value, units[unit]);
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

std::string format_count(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace cg2d
