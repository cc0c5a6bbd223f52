#include "cg/run/solve/solve_report.hpp"

#include <algorithm>
#include <numeric>

#include "cg/base/interrupt.hpp"

namespace cg2d {

BlockBalance balance_of(std::span<const std::int64_t> nonzeros) {
  const auto sum = std::accumulate(nonzeros.begin(), nonzeros.end(), std::int64_t{0});
  return {.largest = *std::ranges::max_element(nonzeros),
          .mean = static_cast<double>(sum) / static_cast<double>(nonzeros.size())};
}

std::string reason_of(const Solution& solution) {
  if (solution.is_solved()) return {};
  return sentence_of(solution.result, {.step = "iteration",
                                       .step_limit = "--max-iterations",
                                       .tolerance = "--rtol or --atol",
                                       .preconditioner = "--preconditioner",
                                       .stopped = interruption()});
}

int step_count_of(const SolveReport& report) {
  int count = report.solution ? report.solution->result.step_count : 0;
  for (const auto& solution : report.solutions) count = std::max(count, solution.result.step_count);
  return count;
}

int timed_step_count(const SolveReport& report) {
  return step_count_of(report) - (report.restart ? report.restart->state.number : 0);
}

}  // namespace cg2d
