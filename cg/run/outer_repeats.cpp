// The outer iterations of a run: untimed, and then timed, as often as they are asked for, and saved.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

RunCheckpoints::RunCheckpoints(const Problem& problem, const NpbIteration& iteration,
                               const comm::IndexRange& range, std::vector<OuterStep> earlier_steps,
                               Checkpoints& checkpoints)
    : iteration_(iteration),
      range_(range),
      saved_{.problem = problem, .earlier_steps = std::move(earlier_steps)},
      checkpoints_(checkpoints) {
  checkpoints_.rehearse(state());
}

CheckpointState RunCheckpoints::state() {
  saved_.signs = iteration_.curvature_signs();
  return {.header = {.kind = CheckpointKind::run,
                     .matrix_hash = saved_.problem_hash(),
                     .order = saved_.problem.n,
                     .step = saved_.step_count(),
                     .range = range_},
          .text = json_line(saved_),
          .vectors = {iteration_.x()}};
}

/// The last state is the result, and no state to go on from.
void RunCheckpoints::after_outer_step(int number, const OuterStep& step) {
  saved_.earlier_steps.push_back(step);
  if (number == saved_.problem.niter || !is_finite(step)) return;
  if (step.stop_asked || checkpoints_.is_due()) checkpoints_.save(state());
}

void BenchmarkRun::after_outer_step(int number, const OuterStep& step) {
  progress_.tick([&] {
    const auto count = static_cast<double>(place_.count - place_.number + 1) * place_.outer_step_count;
    progress_.expect(since_begin_.seconds() / (number - place_.earlier_count) * (count - number));
    return fmt::format("run {}, outer iteration {}/{}: zeta {:.13f}, residual {:.3e}", place_.number, number,
                       place_.outer_step_count, step.zeta, step.residual_norm);
  });
}

const RepeatReport* BenchmarkRun::iterate() {
  if (repeat() && report_.problem.reference_zeta) {  // the verdict on complete repetitions
    for (const auto& repeat : report_.repeats) {
      const double zeta = repeat.steps.back().zeta;
      if (meets_reference(report_.problem, zeta)) continue;
      report_.code = ExitCode::verification_failed;
      report_.reason = fmt::format("zeta {:.13f} differs from the reference {:.13f} by more than {:g} of it",
                                   zeta, *report_.problem.reference_zeta, Problem::tolerance);
      break;
    }
  }
  if (guard_) {
    double repeats_s = 0.0;
    for (const auto& repeat : report_.repeats) repeats_s += repeat.time_s;
    report_.features.guard = guard_->report(repeats_s);
  }
  if (rebalancer_) rebalancer_->finish();
  if (iteration_->curvature_signs().indefinite()) {
    report_.warnings.emplace_back(
        "p . A p changed its sign: with this shift A is indefinite, and zeta is not meaningful");
  }
  if (options_.time_phases && !cycle_counter_is_invariant()) {
    report_.warnings.emplace_back(
        "the cycle counter is not invariant here: clocks follow the core's frequency");
  }
  return report_.repeats.empty() ? nullptr : &median_repeat(report_);
}

/// x as it is before the first outer iteration, of the benchmark or after the restart.
void BenchmarkRun::reset_x() {
  iteration_->reset();
  const auto& restart = report_.restart;
  if (restart) iteration_->restore(restart->step_count(), restarted_x_, restart->signs);
}

/// The untimed first iteration, which touches every page and every path, and all repetitions, into the report. False: they ended early,
/// and the report says why.
bool BenchmarkRun::repeat() {
  const auto& watch = watch_.emplace(options_.stops_when_asked);
  progress_.begin("the untimed first iteration");
  reset_x();
  const Stopwatch stopwatch;
  if (const auto first = iteration_->outer_step(watch.asked()); must_stop(first)) {
    end_early({first}, "the untimed first iteration");
    return false;
  }
  first_step_s_ = stopwatch.seconds();
  for (int repeat_number = 1; repeat_number <= repeats_in_all(); ++repeat_number) {
    if (!repeat_once(repeat_number)) return false;
  }
  return true;
}

/// As far as it can be known yet: with --min-time those until now and, at the mean of their times, those that the rest of
/// the time takes. The times are alike on all ranks, and so is this number once there is a repetition.
int BenchmarkRun::repeats_in_all() const {
  constexpr double most_repeats = 100'000;
  const auto done = static_cast<double>(report_.repeats.size());
  double time_s = 0.0;
  for (const auto& repeat : report_.repeats) time_s += repeat.time_s;
  if (done == 0.0 || time_s >= options_.least_time_s)
    return std::max(options_.repeat_count, static_cast<int>(done));
  const double further = std::ceil((options_.least_time_s - time_s) / (time_s / done));
  return std::max(options_.repeat_count,
                  static_cast<int>(std::min(done + std::max(further, 1.0), most_repeats)));
}

/// One repetition, which the report keeps if it is complete. False: the run ends here, and early.
bool BenchmarkRun::repeat_once(int repeat_number) {
  const int outer_step_count = timed_part(report_).niter;
  const int earlier_count = options_.problem.niter - outer_step_count;
  place_ = {repeat_number, repeats_in_all(), options_.problem.niter, earlier_count};
  since_begin_ = {};
  std::vector<OuterStepObserver*> observers{this};
  if (checkpoints_) observers.push_back(&*checkpoints_);
  if (guard_) guard_->begin_repetition(outer_step_count);
  if (rebalancer_) {
    observers.push_back(&*rebalancer_);
    rebalancer_->begin_repeat(place_);
  }
  if (stall_watch_ != nullptr) {
    observers.push_back(stall_watch_);
    stall_watch_->begin_repeat(repeat_number);
  }
  reset_x();
  // By the untimed iteration, until one has been timed.
  if (repeat_number == 1)
    progress_.expect(
        std::max(first_step_s_ * outer_step_count * options_.repeat_count, options_.least_time_s));
  const Progress::TimedRegion region(progress_);
  // A clock reading per CG step: nothing beside steps that take so long.
  constexpr double long_s = 0.2;
  auto& step_observers = iteration_->observers();
  const bool is_long = first_step_s_ >= long_s;
  if (is_long) step_observers.add(*this);
  const auto steps = measurement_->around(observers, [&](auto all_observers) {
    return iteration_->outer_steps(outer_step_count, all_observers);
  });
  if (is_long) step_observers.remove(*this);
  const bool is_complete = static_cast<int>(steps.size()) == outer_step_count && is_finite(steps.back()) &&
                           !steps.back().is_refused;
  if (is_complete) {
    report_.repeats.push_back(measurement_->repeat());
    report_.repeats.back().steps = steps;
  }
  const bool has_more = repeat_number < repeats_in_all();
  if (is_complete && !(has_more && must_stop(steps.back()))) return true;
  end_early(steps, fmt::format("outer iteration {} of {} in run {} of {}", earlier_count + std::ssize(steps),
                               options_.problem.niter, repeat_number, repeats_in_all()));
  return false;
}

void BenchmarkRun::end_early(const std::vector<OuterStep>& steps, const std::string& where) {
  if (streaming_) streaming_->check_region();
  report_.unfinished = steps;
  if (steps.back().is_refused) {
    report_.code = ExitCode::soft_error;
    report_.reason = guard_->reason();
  } else if (is_finite(steps.back())) {
    report_.code = ExitCode::interrupted;
    report_.reason = fmt::format("{} after {}{}", interruption(), where, last_words());
  } else {
    report_.code = ExitCode::not_finite;
    report_.reason = fmt::format(
        "zeta or the residual became NaN or infinite in {}: this shift or matrix is beyond "
        "double precision, or p . A p vanished",
        where);
  }
}

}  // namespace cg2d
