#include "cg/solve/solve_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "cg/base/values.hpp"

namespace cg2d {

// Rows, each defined in its own file.
SolveFormat text_solve_format();
SolveFormat json_solve_format();

std::span<const SolveFormat> solve_format_table() {
  static const std::array table{text_solve_format(), json_solve_format()};
  return table;
}

const SolveFormat& solve_format(std::string_view name) {
  return *std::ranges::find(solve_format_table(), name, &SolveFormat::name);
}

BlockBalance balance_of(std::span<const std::int64_t> nonzeros) {
  const auto sum = std::accumulate(nonzeros.begin(), nonzeros.end(), std::int64_t{0});
  return {.largest = *std::ranges::max_element(nonzeros),
          .mean = static_cast<double>(sum) / static_cast<double>(nonzeros.size())};
}

std::string cut_text(const SystemOptions& options) {
  if (options.cut == MatrixCut::random) return fmt::format("random:{}", options.permutation_seed);
  return options.cut == MatrixCut::even ? "even" : "nonzeros";
}

int step_count_of(const SolveReport& report) {
  int count = report.solution->result.step_count;
  for (const auto& solution : report.solutions) count = std::max(count, solution.result.step_count);
  return count;
}

PhaseFigures phase_figures(const SolveReport& report) {
  PhaseFigures figures{.configuration = report.configuration,
                       .repeat = report.repeat,
                       .ranks = report.ranks,
                       .step_count = static_cast<double>(step_count_of(report))};
  if (report.matrix_free) figures.phases = report.matrix_free->phases;
  return figures;
}

std::string vector_text(const VectorOption& option) {
  switch (option.kind) {
    case VectorOption::Kind::zeros:
      return "zeros";
    case VectorOption::Kind::ones:
      return "ones";
    case VectorOption::Kind::random:
      return fmt::format("random:{}", option.seed);
    default:
      return option.path;
  }
}

VectorOption vector_option_from(const std::string& option, const std::string& text) {
  constexpr std::string_view random = "random:";
  if (text == "zeros") return {.kind = VectorOption::Kind::zeros};
  if (text == "ones") return {.kind = VectorOption::Kind::ones};
  if (!text.starts_with(random)) return {.kind = VectorOption::Kind::file, .seed = 0, .path = text};
  const auto seed = number_from<std::uint64_t>(std::string_view(text).substr(random.size()));
  if (!seed) {
    throw InputError(fmt::format("{} {}: the seed must be a whole number up to {}, as in random:1", option,
                                 text, std::numeric_limits<std::uint64_t>::max()));
  }
  return {.kind = VectorOption::Kind::random, .seed = *seed};
}

}  // namespace cg2d
