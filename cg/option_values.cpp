#include "cg/option_values.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "cg/errors.hpp"
#include "cg/text_format.hpp"

namespace cg2d {
namespace {

std::optional<int> positive_integer(std::string_view text) {
  const auto value = number_from<int>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

/// "8GB" -> 8e9, "8GiB" -> 8 * 2^30; upper or lower case, the B may be missing, no unit means bytes.
std::optional<std::int64_t> byte_count_from(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string_view rest(text);
  const auto drop_last = [&](char letter) {
    const bool found = rest.ends_with(letter);
    if (found) rest.remove_suffix(1);
    return found;
  };
  drop_last('b');
  const double step = drop_last('i') ? 1024.0 : 1000.0;
  constexpr std::string_view prefixes = "kmgtp";
  const auto prefix = rest.empty() ? std::string_view::npos : prefixes.find(rest.back());
  double unit = 1.0;
  if (prefix != std::string_view::npos) {
    rest.remove_suffix(1);
    unit = std::pow(step, static_cast<double>(prefix + 1));
  } else if (step == 1024.0) {
    return std::nullopt;
  }
  const auto number = number_from<double>(rest);
  constexpr double largest = 9e18;  // within 63 bits
  if (!number || !(*number * unit >= 1.0 && *number * unit <= largest)) return std::nullopt;
  return static_cast<std::int64_t>(*number * unit);
}

}  // namespace

CLI::Validator byte_count() {
  return {[](std::string& text) {
            const auto value = byte_count_from(text);
            if (!value) return fmt::format("\"{}\" is not a size, such as 8GB or 512MiB", text);
            text = fmt::format("{}", *value);
            return std::string();
          },
          ""};
}

CLI::Validator file_name() {
  return {[](std::string& text) {
            return text.empty() ? std::string("the name of the file is empty") : std::string();
          },
          ""};
}

std::optional<comm::ProcessGrid> grid_from(std::string_view text) {
  if (text == "auto") return std::nullopt;
  const auto cross = text.find('x');
  const auto columns = positive_integer(text.substr(0, cross));
  const auto rows = cross == std::string_view::npos ? std::nullopt : positive_integer(text.substr(cross + 1));
  if (!columns || !rows) {
    throw InputError(fmt::format(
        "--grid {}: must be PXxPY (columns x rows of ranks), such as 2x4, or auto, or rule", text));
  }
  return comm::ProcessGrid{.columns = *columns, .rows = *rows};
}

void require_known(const std::string& option, const std::string& value,
                   const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  throw InputError(fmt::format("{} {}: unknown; valid: {}", option, value, fmt::join(known, ", ")));
}

Problem problem_class(const std::string& letter) {
  const auto* known = find_class(letter);
  if (known == nullptr) {
    throw InputError(fmt::format("--class {}: unknown; valid: S, W, A, B, C, D, E, F", letter));
  }
  return *known;
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

void require_within(const std::string& option, int value, int largest) {
  if (value < 1 || value > largest) {
    throw InputError(fmt::format("{} {}: must be within 1 ... {}", option, value, largest));
  }
}

void require_started(const std::string& option, int rank_count, int started_count) {
  if (rank_count <= started_count) return;
  throw InputError(fmt::format("{} {}: only {} started; start as many with mpiexec -n {}", option, rank_count,
                               started_count, rank_count));
}

void require_not_negative(const std::string& option, const std::optional<int>& value) {
  if (value && *value < 0) throw InputError(fmt::format("{} {}: must not be negative", option, *value));
}

}  // namespace cg2d
