// Several right-hand sides at once: their number, what goes with them, and their iterations.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "cg/files/vector_file.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solve/solve_observers.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/solver/several_systems.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

constexpr int most_right_hand_sides = kernels::vector_counts.back();

/// The first vectors of each row of `wide` := those of `narrow`; the others stay zero.
HugePageVector filled_up(std::span<const double> narrow, std::size_t count, std::size_t wide_count) {
  HugePageVector wide(narrow.size() / count * wide_count);
  for (std::size_t k = 0; k < narrow.size(); ++k) wide[k / count * wide_count + k % count] = narrow[k];
  return wide;
}

HugePageVector cut_down(std::span<const double> wide, std::size_t wide_count, std::size_t count) {
  HugePageVector narrow(wide.size() / wide_count * count);
  for (std::size_t k = 0; k < narrow.size(); ++k) narrow[k] = wide[k / count * wide_count + k % count];
  return narrow;
}

/// The higher the worse.
int severity(const Solution& solution) {
  constexpr std::array rising{ExitCode::success, ExitCode::interrupted, ExitCode::not_converged,
                              ExitCode::not_positive_definite, ExitCode::not_finite};
  return static_cast<int>(std::ranges::find(rising, exit_code_of(solution.result.end)) - rising.begin());
}

std::string names_of_kernels_for_several() {
  std::vector<std::string_view> names;
  for (const auto& row : kernels::kernel_table()) {
    if (row.make_for_several != nullptr) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void SolveRun::count_right_hand_sides() {
  const auto& right_hand_side = options_.right_hand_side;
  auto& count = report_.right_hand_side_count;
  if (options_.right_hand_side_count) {
    count = *options_.right_hand_side_count;
  } else if (right_hand_side.kind == VectorOption::Kind::file) {
    const auto columns = column_count_of(right_hand_side.path, group_);
    if (columns > most_right_hand_sides) {
      throw RunError(
          ExitCode::bad_data,
          fmt::format("{}: found {} columns, expected 1 to {}: so many right-hand sides are solved "
                      "together",
                      right_hand_side.path, columns, most_right_hand_sides));
    }
    count = std::max(static_cast<int>(columns), 1);
  }
  if (has_several()) check_several();
}

void SolveRun::check_several() const {
  const auto refuse_if = [&](bool is_given, const std::string& reason) {
    if (is_given)
      throw InputError(fmt::format("{} right-hand sides: {}", report_.right_hand_side_count, reason));
  };
  const auto kind = options_.right_hand_side.kind;
  refuse_if(options_.is_matrix_free(), "they need a matrix: FILE, or --assembled");
  refuse_if(kind == VectorOption::Kind::ones || kind == VectorOption::Kind::zeros,
            fmt::format("--rhs {} makes them all the same; take random:SEED, or a file with {} columns",
                        vector_text(options_.right_hand_side), report_.right_hand_side_count));
  const auto& classic = cg_variant_table().front().name;
  refuse_if(options_.variant != classic,
            fmt::format("--variant {} takes one; take {}", options_.variant, classic));
  refuse_if(options_.configuration.overlaps, "--overlap on takes one; take --overlap off");
  refuse_if(!find_preconditioner(options_.preconditioner)->takes_several_vectors,
            fmt::format("--preconditioner {} takes one; take another one", options_.preconditioner));
  const auto& asked = options_.configuration;
  refuse_if(
      asked.has_kernel() && kernels::kernel_named(asked.kernel).make_for_several == nullptr,
      fmt::format("--kernel {} takes one; take one of {}", asked.kernel, names_of_kernels_for_several()));
}

/// Where the kernel is open: one on whole blocks. Half storage halves what is read of the matrix, but goes through the
/// rows' vectors once per column block: class B with 8, ms per iteration, 48.9 against 19.1 (Zen 5, 2026-11).
ChosenKernel SolveRun::for_several(ChosenKernel choice) const {
  if (choice.kernel_origin == ChoiceOrigin::asked_for) return choice;
  choice.kernel = &kernels::default_kernel_for_several(kernels::Storage::whole);
  choice.tuning = choice.kernel->defaults;
  choice.kernel_origin = ChoiceOrigin::built_in_rule;
  choice.tuning_origin = ChoiceOrigin::built_in_rule;
  return choice;
}

void SolveRun::check_solve_memory(const comm::BlockLayout& layout) const {
  const auto& preconditioner = find_preconditioner(options_.preconditioner)->memory;
  agree_on(group_, [&] {
    if (!has_several())
      return check_memory(*matrix_, configuration(), layout, granted_environment(), preconditioner);
    check_memory(granted_environment(), [&](int rank) {
      const auto plan = plan_memory(*matrix_, configuration(), layout, rank);
      const auto row_count = layout.piece(layout.column_piece_of(rank)).size();
      const auto bytes_per_vector = plan.vector_bytes + row_count * preconditioner.bytes_per_row;
      return plan.total_bytes() + vector_count() * bytes_per_vector;
    });
  });
}

HugePageVector SolveRun::make_several(const VectorOption& option, const VectorPlace& place) {
  return filled_up(make_vector(option, place), static_cast<std::size_t>(place.column_count),
                   static_cast<std::size_t>(vector_count()));
}

/// One copy of each entry per vector, as the preconditioner sees one long vector.
void SolveRun::expand_diagonal() {
  const auto count = static_cast<std::size_t>(vector_count());
  HugePageVector wide(diagonal_.size() * count);
  for (std::size_t k = 0; k < wide.size(); ++k) wide[k] = diagonal_[k / count];
  diagonal_ = std::move(wide);
}

void SolveRun::solve_several(const ReadySystem& system, OutputFile* solution_file) {
  const auto count = report_.right_hand_side_count;
  const auto place = place_of_several(system.place, count);
  const auto b = make_several(options_.right_hand_side, place);
  auto x = make_several(options_.first_guess, place);
  const CycleCalibration calibration;
  DistributedVectors vectors(system.matrix, system.timer, configuration().thread_count);
  expand_diagonal();
  const auto preconditioner = make_preconditioner(system);
  SeveralSystems systems({system.matrix, *preconditioner, vectors}, vector_count());
  const Tolerance tolerance({.relative = options_.relative_tolerance,
                             .absolute = options_.absolute_tolerance,
                             .most_steps = options_.most_iterations});
  std::vector<double> squares(static_cast<std::size_t>(vector_count()));
  vectors.sums_into(squares, [&](VectorOps& local) { local.dots(b, b, squares); });
  std::deque<SystemObservers> observers;  // which do not move
  for (int number = 0; number < count; ++number) {
    auto& own = observers.emplace_back(SystemObserversConfig{
        .most_steps = options_.most_iterations,
        .progress = progress_,
        .target_norm = tolerance.residual_norm_for(std::sqrt(squares[static_cast<std::size_t>(number)])),
        .monitors = options_.monitors && group_.rank() == 0,
        .name = fmt::format("right-hand side {}, ", number + 1)});
    systems.add(number, own.history);
    systems.add(number, own.estimates);
    if (number == 0) systems.add(number, own.progress);
    if (options_.monitors) systems.add(number, own.monitor);
  }

  system.timer.reset();
  group_.barrier();
  const RegionClocks clocks(group_, system, vectors);
  const auto results = systems.solve(
      {.b = b, .x = x, .starts_from_x = options_.first_guess.kind != VectorOption::Kind::zeros}, tolerance);
  take_times(clocks.times(), system.timer.measure_clocks_per_scope(), calibration.ticks_per_second());
  for (std::size_t k = 0; k < observers.size(); ++k)
    report_.solutions.push_back(solution_of(results[k], observers[k], *preconditioner));
  take_worst();
  if (options_.solution_path.empty()) return;
  write_vector(cut_down(x, static_cast<std::size_t>(vector_count()), static_cast<std::size_t>(count)), place,
               fmt::format("x of A x = b for {} right-hand sides, A {}, {}", count, report_.matrix->name,
                           name_of(report_.solution->result.end)),
               group_, solution_file);
}

/// The exit code and the reason are those of the worst end, and the first of equals.
void SolveRun::take_worst() {
  const auto& solutions = report_.solutions;
  const auto worst = std::ranges::max_element(solutions, {}, severity);
  report_.solution = *worst;
  report_.code = exit_code_of(worst->result.end);
  if (report_.code == ExitCode::success) return;
  const auto others = std::ranges::count_if(solutions, [](const auto& one) { return severity(one) > 0; }) - 1;
  report_.reason = fmt::format(
      "right-hand side {} of {}{}: {}", worst - solutions.begin() + 1, solutions.size(),
      others > 0 ? fmt::format(", and {} more without a solution", others) : std::string(), worst->reason());
}

}  // namespace cg2d
