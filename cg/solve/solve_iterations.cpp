// The iterations of a solve: vectors, preconditioner, CG with its observers and clocks.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cg/files/vector_file.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solve/solve_observers.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/solver/solve.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
HugePageVector SolveRun::make_vector(const VectorOption& option, const VectorPlace& place) {
  if (option.kind == VectorOption::Kind::file) return read_vector(option.path, place, group_);
  if (option.kind == VectorOption::Kind::random) return random_vector(option.seed, place);
  HugePageVector vector(place.local_size);
  if (option.kind == VectorOption::Kind::ones) std::ranges::fill(vector, 1.0);
  return vector;
}

std::unique_ptr<Preconditioner> SolveRun::make_preconditioner(const ReadySystem& system) {
  const Stopwatch making;
  auto preconditioner = find_preconditioner(options_.preconditioner)
                            ->make({.matrix = system.matrix,
                                    .diagonal = diagonal_,
                                    .diagonal_block = &diagonal_block_,
                                    .first_row = system.first_row,
                                    .thread_count = configuration().thread_count});
  diagonal_block_ = {};  // its factors are made
  report_.matrix->preconditioner_s += group_.maximum(making.seconds());
  return preconditioner;
}

void SolveRun::solve(const ReadySystem& system, OutputFile* solution_file) {
  if (has_several()) return solve_several(system, solution_file);
  const auto b = make_vector(options_.right_hand_side, system.place);
  auto x = make_vector(options_.first_guess, system.place);
  const CycleCalibration calibration;
  DistributedVectors vectors(system.matrix, system.timer, configuration().thread_count);
  const auto preconditioner = make_preconditioner(system);
  ConjugateGradient conjugate_gradient(system.matrix, *preconditioner, vectors,
                                       *find_cg_variant(options_.variant));
  const Tolerance tolerance({.relative = options_.relative_tolerance,
                             .absolute = options_.absolute_tolerance,
                             .most_steps = options_.most_iterations});
  SystemObservers observers({.most_steps = options_.most_iterations,
                             .progress = progress_,
                             .target_norm = tolerance.residual_norm_for(std::sqrt(vectors.dot(b, b))),
                             .monitors = group_.rank() == 0});
  conjugate_gradient.add(observers.history);
  conjugate_gradient.add(observers.estimates);
  conjugate_gradient.add(observers.progress);
  if (options_.monitors) conjugate_gradient.add(observers.monitor);

  system.timer.reset();
  group_.barrier();
  const RegionClocks clocks(group_, system, vectors);
  const auto result = cg2d::solve(
      conjugate_gradient,
      {.b = b, .x = x, .starts_from_x = options_.first_guess.kind != VectorOption::Kind::zeros}, tolerance);
  take_times(clocks.times(), system.timer.measure_clocks_per_scope(), calibration.ticks_per_second());
  report_.solution = solution_of(result, observers, *preconditioner);
  report_.code = exit_code_of(result.end);
  report_.reason = report_.solution->reason();
  if (options_.solution_path.empty()) return;
  write_vector(x, system.place,
               fmt::format("x of A x = b, A {}, {}, residual {:.3e}", report_.matrix->name,
                           name_of(result.end), result.true_residual_norm),
               group_, solution_file);
}

void SolveRun::take_times(const RankTimes& times, double clocks_per_scope, double ticks_per_second) {
  report_.repeat.time_s = group_.maximum(times.region_s);
  report_.repeat.ranks = group_.gather_one(times);
  mine_.clocks_per_scope = clocks_per_scope;
  mine_.ticks_per_second = ticks_per_second;
  mine_.peak_bytes = peak_resident_bytes();
  mine_.resident_bytes = resident_bytes();
  mine_.huge_page_bytes = huge_page_bytes();
  report_.ranks = group_.gather_one(mine_);
}

}  // namespace cg2d
