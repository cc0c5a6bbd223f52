#pragma once

// What the words of a command line stand for: numbers, sizes, grids, names of a table.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "cg/problem.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The whole text as a decimal number; nothing when it is anything else or does not fit.
template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// CLI11 by itself says only that it could not convert, takes an empty text for an option not given, and
/// reads 010 as 8.
template <typename Number>
CLI::Validator decimal() {
  return {[](std::string& text) {
            const auto value = number_from<Number>(text);
            if constexpr (std::is_integral_v<Number>) {
              if (!value)
                return fmt::format("\"{}\" is not a whole number up to {}", text,
                                   std::numeric_limits<Number>::max());
            } else {
              if (!value || !std::isfinite(*value)) return fmt::format("\"{}\" is not a finite number", text);
            }
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

/// A size such as "8GB" or "512MiB".
CLI::Validator byte_count();
/// Any text but the empty one.
CLI::Validator file_name();

/// "2x4" -> 2 columns, 4 rows; "auto" -> nothing. Throws InputError.
std::optional<comm::ProcessGrid> grid_from(std::string_view text);

template <typename Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

/// Throws InputError that lists the known names.
void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known);
/// More than any processor has. The OpenMP library crashes on numbers that are beyond reason.
inline constexpr int most_threads = 1024;

/// The class of that letter. Throws InputError.
Problem problem_class(const std::string& letter);

/// Every grid of that many ranks, for messages.
std::string valid_grids(int rank_count);
/// Throws InputError that lists them when the grid is of another number of ranks.
void require_grid_of(const comm::ProcessGrid& grid, int rank_count);

/// Throws InputError when the value is not within 1 ... largest.
void require_within(const std::string& option, int value, int largest);
/// Throws InputError when fewer ranks were started than the option asks for.
void require_started(const std::string& option, int rank_count, int started_count);
/// Throws InputError; no value is fine.
void require_not_negative(const std::string& option, const std::optional<int>& value);

}  // namespace cg2d
