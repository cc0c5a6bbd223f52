#include "cg/run/run_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/matrix/matrix_facts.hpp"

namespace cg2d {
namespace {

std::string numbers_of_problem(const Problem& problem) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                     problem.niter);
}

/// The state depends on nothing else. Files keep the value.
std::uint64_t hash_of(const Problem& problem) { return hash_of_text("run " + numbers_of_problem(problem)); }

// The numbers of a checkpoint: n, nonzer, shift, niter, the two signs of p . A p, then zeta and the residual of each outer iteration.
constexpr std::size_t fixed_number_count = 6;

std::vector<double> numbers_of(const Problem& problem, const CurvatureSigns& signs,
                               std::span<const OuterStep> steps) {
  std::vector<double> numbers{static_cast<double>(problem.n),
                              static_cast<double>(problem.nonzer),
                              problem.shift,
                              static_cast<double>(problem.niter),
                              signs.saw_positive ? 1.0 : 0.0,
                              signs.saw_negative ? 1.0 : 0.0};
  for (const auto& step : steps) numbers.insert(numbers.end(), {step.zeta, step.residual_norm});
  return numbers;
}

/// As numbers_of_problem() has it.
std::string problem_text(std::span<const double> numbers) {
  return fmt::format("n {}, nonzer {}, shift {}, niter {}", numbers[0], numbers[1], numbers[2], numbers[3]);
}

void check_facts(const FoundCheckpoint& found, const Problem& problem) {
  const auto& header = found.header();
  if (header.kind != CheckpointKind::run)
    throw FileError(found.folder, "found a checkpoint of cg2d solve, expected one of cg2d run");
  const auto step_count = static_cast<std::size_t>(header.step);
  const bool has_shape =
      header.vector_count == 1 && header.step >= 1 &&
      found.numbers.size() == fixed_number_count + 2 * step_count &&
      std::ranges::all_of(found.numbers, [](double number) { return std::isfinite(number); });
  if (!has_shape) throw FileError(found.folder, "found an impossible state, expected one of cg2d run");
  if (header.matrix_hash == hash_of(problem) && header.order == problem.n && header.step < problem.niter)
    return;
  throw FileError(found.folder,
                  fmt::format("found a checkpoint of another problem ({}), expected class {} ({})",
                              problem_text(found.numbers), problem.class_name, numbers_of_problem(problem)));
}

}  // namespace

RestartFacts restart_facts(FoundCheckpoint checkpoint, const Problem& problem) {
  RestartFacts facts{.checkpoint = std::move(checkpoint), .earlier_steps = {}, .signs = {}};
  check_facts(facts.checkpoint, problem);
  const auto& numbers = facts.checkpoint.numbers;
  facts.signs = {.saw_positive = numbers[4] != 0.0, .saw_negative = numbers[5] != 0.0};
  for (std::size_t k = fixed_number_count; k < numbers.size(); k += 2)
    facts.earlier_steps.push_back({.zeta = numbers[k], .residual_norm = numbers[k + 1]});
  return facts;
}

HugePageVector restarted_x(const RestartFacts& restart, const comm::IndexRange& range,
                           comm::RankGroup& group) {
  HugePageVector x(static_cast<std::size_t>(range.size()));
  const std::array targets{std::span<double>(x)};
  read_vectors(restart.checkpoint, range, targets, group);
  return x;
}

RunCheckpoints::RunCheckpoints(const Problem& problem, const CheckpointedVector& x,
                               std::vector<OuterStep> earlier_steps, CheckpointSaver& saver)
    : problem_(problem), x_(x), steps_(std::move(earlier_steps)), saver_(saver) {
  saver_.rehearse(state(static_cast<int>(steps_.size())));
}

/// The data live in members, since the state only refers to them.
CheckpointState RunCheckpoints::state(int number) {
  numbers_ = numbers_of(problem_, x_.iteration.curvature_signs(), steps_);
  vector_ = x_.iteration.x();
  return {.kind = CheckpointKind::run,
          .matrix_hash = hash_of(problem_),
          .order = problem_.n,
          .step = number,
          .range = *x_.range,
          .data = {.numbers = numbers_, .vectors = {&vector_, 1}}};
}

/// The last state is the result, and no state to go on from.
void RunCheckpoints::after_outer_step(int number, const OuterStep& step) {
  steps_.push_back(step);
  if (number == problem_.niter || !is_finite(step)) return;
  if (!step.stop_asked && !saver_.first_says(since_last_.seconds() >= saver_.interval_s())) return;
  saver_.save(state(number));
  since_last_ = {};
}

}  // namespace cg2d
