// The iterations of a solve: vectors, preconditioner, CG with its observers and clocks.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cg/files/vector_file.hpp"
#include "cg/preconditioners/preconditioner_table.hpp"
#include "cg/solve/solve_run.hpp"
#include "cg/solver/solve.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
namespace {

/// A line on stderr for every iteration.
class Monitor final : public StepObserver {
 public:
  explicit Monitor(bool speaks) : speaks_(speaks) {}
  bool after_step(const CgState& state) override {
    if (speaks_) say_on_stderr(fmt::format("iteration {}: residual {:.6e}", ++count_, state.residual_norm()));
    return false;
  }

 private:
  bool speaks_;
  int count_ = 0;
};

/// Says about once a second how far a solve is, and how long it may take at the mean rate so far.
class SolveProgress final : public StepObserver {
 public:
  SolveProgress(const Progress& progress, double target_norm)
      : progress_(progress), target_norm_(target_norm) {}
  bool after_step(const CgState& state) override {
    ++count_;
    if (first_norm_ == 0.0) first_norm_ = state.first_residual_norm();
    constexpr double interval_s = 1.0;
    if (stopwatch_.seconds() < said_s_ + interval_s) return false;
    said_s_ = stopwatch_.seconds();
    const double done = std::log(state.residual_norm() / first_norm_) / std::log(target_norm_ / first_norm_);
    const auto rest = done > 0.0 && done < 1.0
                          ? fmt::format(", about {:.0f} s left", said_s_ * (1.0 / done - 1.0))
                          : std::string();
    progress_.say(fmt::format("iteration {}: residual {:.3e}, target {:.3e}{}", count_, state.residual_norm(),
                              target_norm_, rest));
    return false;
  }

 private:
  const Progress& progress_;
  double target_norm_;
  double first_norm_ = 0.0;
  double said_s_ = 0.0;
  int count_ = 0;
  Stopwatch stopwatch_;
};

/// The counts that grow with a solve; measure() takes their growth since then.
class RegionClocks {
 public:
  RegionClocks(comm::RankGroup& group, const ReadySystem& system, const DistributedVectors& vectors)
      : group_(group), system_(system), vectors_(vectors), before_(counts()) {}

  [[nodiscard]] RankTimes times() const {
    const auto end_clocks = read_cycle_counter();
    auto times = counts();
    times.region_s = stopwatch_.seconds();
    times.region_clocks = end_clocks - begin_clocks_;
    times.phases = system_.timer.records();
    times.wait_count -= before_.wait_count;
    times.dot_work = times.dot_work - before_.dot_work;
    times.update_work = times.update_work - before_.update_work;
    for (std::size_t k = 0; k < times.sent.size(); ++k) {
      times.sent[k].message_count -= before_.sent[k].message_count;
      times.sent[k].byte_count -= before_.sent[k].byte_count;
    }
    return times;
  }

 private:
  [[nodiscard]] RankTimes counts() const {
    RankTimes counts{};
    counts.wait_count = group_.waiter().wait_count();
    counts.dot_work = vectors_.dot_work();
    counts.update_work = vectors_.update_work();
    for (std::size_t k = 0; k < counts.sent.size(); ++k)
      counts.sent[k] = system_.sent(static_cast<comm::Operation>(k));
    return counts;
  }

  comm::RankGroup& group_;
  const ReadySystem& system_;
  const DistributedVectors& vectors_;
  RankTimes before_;
  Stopwatch stopwatch_;
  std::uint64_t begin_clocks_ = read_cycle_counter();
};

}  // namespace

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
  const double b_norm = std::sqrt(vectors.dot(b, b));
  const double target_norm = tolerance.residual_norm_for(b_norm);
  ResidualHistory history(options_.most_iterations);
  LanczosEstimates estimates(options_.most_iterations);
  conjugate_gradient.add(history);
  conjugate_gradient.add(estimates);
  SolveProgress says_progress(progress_, target_norm);
  Monitor monitor(group_.rank() == 0);
  conjugate_gradient.add(says_progress);
  if (options_.monitors) conjugate_gradient.add(monitor);

  std::optional<QuietMeter> quiet;
  if (options_.measures_iterations)
    quiet.emplace(group_, *report_.environment, configuration().thread_count).begin();
  system.timer.reset();
  group_.barrier();
  const RegionClocks clocks(group_, system, vectors);
  const auto result = cg2d::solve(
      conjugate_gradient,
      {.b = b, .x = x, .starts_from_x = options_.first_guess.kind != VectorOption::Kind::zeros}, tolerance);
  const auto times = clocks.times();
  if (quiet) quiet->end();
  if (quiet) report_.quiet = quiet->result();
  take_times(times, system.timer.measure_clocks_per_scope(), calibration.ticks_per_second());
  const auto spectrum = estimates.estimate();
  report_.solution = Solution{.result = result,
                              .target_norm = target_norm,
                              .history = history.norms(),
                              .spectrum = spectrum,
                              .predicted_steps = spectrum.predicted_steps(target_norm / b_norm),
                              .preconditioner_remark = preconditioner->remark()};
  report_.code =
      options_.measures_iterations ? exit_code_of_measurement(result.end) : exit_code_of(result.end);
  report_.reason = options_.measures_iterations
                       ? report_.solution->reason_of_measurement(options_.most_iterations)
                       : report_.solution->reason();
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
