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

namespace {

/// As the command line names them.
constexpr SolveTerms option_names{.step = "iteration",
                                  .step_limit = "--max-iterations",
                                  .tolerance = "--rtol or --atol",
                                  .preconditioner = "--preconditioner",
                                  .stopped = "interrupted by a signal"};

}  // namespace

std::string reason_of(const Solution& solution) {
  return solution.is_solved() ? std::string() : sentence_of(solution.result, option_names);
}

std::string reason_of_measurement(const Solution& solution, int iteration_count) {
  const auto code = exit_code_of_measurement(solution.result);
  if (code == ExitCode::success) return {};
  if (code != ExitCode::usage) return sentence_of(solution.result, option_names);
  return fmt::format("--iterations {}: the system is solved to rounding after {}; take no more than these",
                     iteration_count, format_count(solution.result.step_count, "iteration"));
}

ExitCode exit_code_of_measurement(const SystemSolveResult& result) {
  const auto end = result.end;
  if (end == SolveEnd::step_limit) return ExitCode::success;
  const bool is_solved =
      (end == SolveEnd::stagnated && result.quantity.empty()) || exit_code_of(end) == ExitCode::success;
  return is_solved ? ExitCode::usage : exit_code_of(end);
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

int timed_step_count(const SolveReport& report) {
  return step_count_of(report) - (report.restart ? report.restart->state.number : 0);
}

namespace {

/// By all vectors together. Each product of an assembled matrix is summed once; only there are its nonzeros those of
/// the system.
double nonzeros_multiplied(const SolveReport& report) {
  if (report.matrix_free || report.repeat.ranks.empty()) return 0.0;
  const auto& times = report.repeat.ranks.front();
  return static_cast<double>(times.phases[index_of(Phase::summation)].calls) *
         static_cast<double>(report.matrix->nonzero_count) * report.right_hand_side_count;
}

}  // namespace

PhaseFigures phase_figures(const SolveReport& report) {
  PhaseFigures figures{.configuration = report.configuration,
                       .repeat = report.repeat,
                       .ranks = report.ranks,
                       .step_count = static_cast<double>(timed_step_count(report)),
                       .counters = &report.counters,
                       .nonzeros_multiplied = nonzeros_multiplied(report)};
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
  const std::string_view all = text;
  const auto seed = number_from<std::uint64_t>(all.substr(random.size()));
  if (!seed) {
    throw InputError(fmt::format("{} {}: the seed must be a whole number up to {}, as in random:1", option,
                                 text, std::numeric_limits<std::uint64_t>::max()));
  }
  return {.kind = VectorOption::Kind::random, .seed = *seed};
}

comm::DomainGrid domain_grid_from(std::string_view text) {
  comm::DomainGrid grid;
  auto rest = text;
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension) {
    const auto end = rest.find('x');
    const bool is_last = dimension + 1 == comm::dimension_count;
    const auto parts = number_from<int>(rest.substr(0, end));
    if (!parts || *parts < 1 || is_last != (end == std::string_view::npos))
      throw InputError(fmt::format("--domain {}: must be three positive numbers, as in 1x2x4", text));
    grid.parts[dimension] = *parts;
    if (!is_last) rest.remove_prefix(end + 1);
  }
  return grid;
}

void set_cut(SystemOptions& options, const std::string& text) {
  if (text == "nonzeros" || text == "even") {
    options.cut = text == "even" ? MatrixCut::even : MatrixCut::nonzeros;
    return;
  }
  const auto random = vector_option_from("--cut", text);
  if (random.kind != VectorOption::Kind::random)
    throw InputError(fmt::format("--cut {}: unknown; valid: nonzeros, even, random:SEED{}", text,
                                 did_you_mean(text, {"nonzeros", "even"})));
  options.cut = MatrixCut::random;
  options.permutation_seed = random.seed;
}

}  // namespace cg2d
