#include "cg/solver/outer_iteration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace cg2d {

IterationRow npb_iteration();

bool must_stop(const OuterStep& step) { return step.stop_asked || step.is_refused || !is_finite(step); }

OuterIteration::OuterIteration(LinearOperator& matrix, PhaseTimer& timer, int thread_count)
    : vectors_(matrix, timer, thread_count),
      matrix_(matrix),
      x_(matrix.local_size()),
      z_(matrix.local_size()) {
  reset();
}

void OuterIteration::reset() {
  vectors_.outside_of_phases().fill(1.0, x_);
  curvature_signs_ = {};
  restored_number_ = 0;
}

void OuterIteration::restore(int number, std::span<const double> x, const CurvatureSigns& signs) {
  std::ranges::copy(x, x_.begin());
  curvature_signs_ = signs;
  restored_number_ = number;
}

void OuterIteration::lay_out(std::span<const double> x) {
  x_ = HugePageVector(matrix_.local_size());
  z_ = HugePageVector(matrix_.local_size());
  vectors_.outside_of_phases().copy(x, x_);
  lay_out_steps();
}

OuterStep OuterIteration::outer_step(double shift, bool asks_to_stop) {
  auto made = attempt(shift, asks_to_stop);
  if (guard_ != nullptr) {
    auto verdict = guard_->verdict();
    for (; verdict == AttemptVerdict::again; verdict = guard_->verdict()) made = attempt(shift, asks_to_stop);
    made.step.is_refused = verdict == AttemptVerdict::refused;
  }
  curvature_signs_.note(made.signs);
  vectors_.update(
      [&, factor = 1.0 / std::sqrt(made.z_square)](VectorOps& local) { local.set_scaled(factor, z_, x_); });
  return made.step;
}

std::vector<OuterStep> OuterIteration::iterate(double shift, int outer_step_count,
                                               std::span<OuterStepObserver* const> observers) {
  std::vector<OuterStep> steps;
  for (int number = 1; number <= outer_step_count; ++number) {
    bool asks_to_stop = false;
    for (auto* observer : observers) asks_to_stop |= observer->asks_to_stop();
    for (auto* observer : observers) observer->before_outer_step();
    steps.push_back(outer_step(shift, asks_to_stop));
    for (auto* observer : observers) observer->after_outer_step(restored_number_ + number, steps.back());
    if (must_stop(steps.back())) break;
  }
  return steps;
}

std::span<const IterationRow> iteration_table() {
  static const std::array table{npb_iteration()};
  return table;
}

const IterationRow& iteration_of(const Problem& problem) {
  const auto table = iteration_table();
  const auto found = std::ranges::find(table, problem.iteration, &IterationRow::name);
  return found == table.end() ? table.front() : *found;
}

std::optional<Problem> class_named(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto* const known = find_class(text);
    return known == nullptr ? std::nullopt : std::optional(*known);
  }
  const auto table = iteration_table();
  const auto row = std::ranges::find(table, text.substr(0, colon), &IterationRow::name);
  const auto* const known = find_class(text.substr(colon + 1));
  if (row == table.end() || known == nullptr) return std::nullopt;
  auto problem = *known;
  if (row == table.begin()) return problem;
  problem.class_name = std::string(row->name) + ':' + problem.class_name;
  problem.iteration = row->name;
  problem.counts = row->counts;
  problem.reference_zeta.reset();
  return problem;
}

}  // namespace cg2d
