// The right-hand sides of a solve, one or several at once: their number, the options that go with several, their
// vectors and solutions.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/run/solve/solve_observers.hpp"
#include "cg/run/solve/solve_run.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

constexpr int most_right_hand_sides = kernels::vector_counts.back();

/// The first vectors of each row of `wide` := those of `narrow`; the others stay zero.
HugePageVector filled_up(std::span<const double> narrow, int narrow_count, int vector_count) {
  const auto count = static_cast<std::size_t>(narrow_count);
  const auto wide_count = static_cast<std::size_t>(vector_count);
  HugePageVector wide(narrow.size() / count * wide_count);
  for (std::size_t k = 0; k < narrow.size(); ++k) wide[k / count * wide_count + k % count] = narrow[k];
  return wide;
}

HugePageVector cut_down(std::span<const double> wide, int vector_count, const VectorPlace& place) {
  const auto count = static_cast<std::size_t>(place.column_count);
  const auto wide_count = static_cast<std::size_t>(vector_count);
  HugePageVector narrow(place.local_size);
  for (std::size_t k = 0; k < narrow.size(); ++k) narrow[k] = wide[k / count * wide_count + k % count];
  return narrow;
}

/// The higher the worse.
std::ptrdiff_t severity_of(ExitCode code) {
  constexpr std::array rising{ExitCode::success, ExitCode::interrupted, ExitCode::not_converged,
                              ExitCode::not_positive_definite, ExitCode::not_finite};
  return std::ranges::find(rising, code) - rising.begin();
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
  for (const auto& feature : feature_table())
    refuse_if(!feature.against_several.empty() && feature.is_used_by(options_),
              std::string(feature.against_several));
  const auto& classic = cg_variant_table().front().name;
  refuse_if(options_.variant != classic,
            fmt::format("--variant {} takes one; take {}", options_.variant, classic));
  refuse_if(options_.configuration.overlaps, "--overlap on takes one; take --overlap off");
  refuse_if(!find_preconditioner(options_.preconditioner)->takes_several_vectors,
            fmt::format("--preconditioner {} takes one; take another one", options_.preconditioner));
  const auto& asked = options_.configuration;
  const auto known = is_streamed() ? streamed_kernel_names(vector_count()) : names_of_kernels_for_several();
  const auto takes_several = [&](const kernels::KernelRow& row) {
    return is_streamed() ? row.make_several_external != nullptr : row.make_for_several != nullptr;
  };
  refuse_if(asked.has_kernel() && !takes_several(kernels::kernel_named(asked.kernel)),
            fmt::format("--kernel {} takes one; take one of {}", asked.kernel, known));
}

void SolveRun::check_solve_memory(const comm::BlockLayout& layout) const {
  agree_on(group_, [&] {
    check_memory(session_.granted_environment(), [&](int rank) {
      return bytes_of_rank(matrix_->facts(), plan_memory(*matrix_, configuration(), layout, rank), layout,
                           rank);
    });
  });
}

/// The matrix, the vectors of all right-hand sides, and the preconditioner. plan: for one right-hand side.
std::int64_t SolveRun::bytes_of_rank(const MatrixFacts& matrix, const MemoryPlan& plan,
                                     const comm::BlockLayout& layout, int rank) const {
  // Beside those of the benchmark: b and p; other forms of CG have up to eight more.
  const bool is_classic = options_.variant == cg_variant_table().front().name;
  const auto further_vectors = is_classic ? std::int64_t{2} : std::int64_t{10};
  auto beside = find_preconditioner(options_.preconditioner)->memory;
  beside.bytes_per_row += further_vectors * static_cast<std::int64_t>(sizeof(double));
  const auto of_pieces = piece_bytes(matrix, layout, rank, beside);
  const auto bytes_per_vector = saturated_sum(plan.vector_bytes, of_pieces);
  return saturated_sum(plan.total_bytes(), of_pieces + (vector_count() - 1) * bytes_per_vector);
}

HugePageVector SolveRun::make_vectors(const VectorOption& option, const VectorPlace& place) {
  auto vectors = make_vector(option, place);
  return has_several() ? filled_up(vectors, report_.right_hand_side_count, vector_count())
                       : std::move(vectors);
}

/// One copy of each entry per vector, as the preconditioner sees one long vector.
void SolveRun::expand_diagonal() {
  if (!has_several()) return;
  const auto count = static_cast<std::size_t>(vector_count());
  HugePageVector wide(diagonal_.size() * count);
  for (std::size_t k = 0; k < wide.size(); ++k) wide[k] = diagonal_[k / count];
  diagonal_ = std::move(wide);
}

/// The observers do not move as long as the solver works.
std::deque<SystemObservers> SolveRun::observe_systems(SystemSolver& solver, const OutsideOfPhases& outside) {
  const bool speaks = options_.monitors && group_.rank() == 0;
  std::deque<SystemObservers> observers;
  for (int number = 0; number < report_.right_hand_side_count; ++number) {
    const auto name = has_several() ? fmt::format("right-hand side {}, ", number + 1) : std::string();
    observers.emplace_back(options_.most_iterations, speaks, name, outside)
        .add_to(solver.observers_of(number));
  }
  return observers;
}

/// The exit code and the reason are those of the worst end, and the first of equals.
void SolveRun::take_solutions(std::vector<Solution> solutions) {
  const bool measures = options_.measures_iterations;
  const auto code_of = [&](const Solution& one) {
    return measures ? exit_code_of_measurement(one.result) : exit_code_of(one.result.end);
  };
  const auto severity = [&](const Solution& one) { return severity_of(code_of(one)); };
  const auto worst = std::ranges::max_element(solutions, {}, severity);
  report_.solution = *worst;
  report_.code = code_of(*worst);
  report_.reason = measures ? reason_of_measurement(*worst, options_.most_iterations) : reason_of(*worst);
  if (!has_several()) return;
  if (report_.code != ExitCode::success) {
    const auto others =
        std::ranges::count_if(solutions, [&](const auto& one) { return severity(one) > 0; }) - 1;
    report_.reason = fmt::format(
        "right-hand side {} of {}{}: {}", worst - solutions.begin() + 1, solutions.size(),
        others > 0 ? fmt::format(", and {} more without a solution", others) : "", report_.reason);
  }
  report_.solutions = std::move(solutions);
}

void SolveRun::write_solution(std::span<const double> x, const VectorPlace& place, OutputFile* file) {
  const auto& result = report_.solution->result;
  const auto& name = report_.matrix->name;
  if (!has_several()) {
    return write_vector(x, place,
                        fmt::format("x of A x = b, A {}, {}, residual {:.3e}", name, name_of(result.end),
                                    result.true_residual_norm),
                        group_, file);
  }
  const auto count = report_.right_hand_side_count;
  write_vector(
      cut_down(x, vector_count(), place), place,
      fmt::format("x of A x = b for {} right-hand sides, A {}, {}", count, name, name_of(result.end)), group_,
      file);
}

}  // namespace cg2d
