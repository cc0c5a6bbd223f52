#include "cg/run/benchmark_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/files/vector_file.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"

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

/// The last state is the result, and no state to go on from; nor is one that the guard has refused.
void RunCheckpoints::after_outer_step(int number, const OuterStep& step) {
  saved_.earlier_steps.push_back(step);
  if (number == saved_.problem.niter || step.is_refused || !is_finite(step)) return;
  if (step.stop_asked || checkpoints_.is_due()) checkpoints_.save(state());
}

BenchmarkRun::BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress,
                           RunReport& report)
    : Session(options, group, progress, report, WorkKind::outer_iterations),
      options_(options),
      report_(report),
      own_source_(default_source().make(options.problem)) {
  source_ = own_source_.get();
  shift_ = options.problem.shift;
  report_.is_verbose = options.is_verbose;
  report_.problem = options.problem;
  report_.phases_timed = options.time_phases;
}

void BenchmarkRun::prepare() {
  const auto cut = with_cut(configuration(), even_cut).cut;
  const auto kind = matrix_cut_from(cut).kind;
  require_cut_of_benchmark(cut);
  const bool has_borders = kind == MatrixCut::Kind::nonzeros || kind == MatrixCut::Kind::file;
  if (has_borders && options_.planned_ranks > 0)
    throw InputError("--cut {}: --ranks plans even pieces only", cut);
  lay_out(even_cut, options_.planned_ranks > 0 ? options_.planned_ranks : group_.size());
  // Only rank 0 reports, so only rank 0 predicts. Without a description there is no prediction; one that cannot be read is a warning.
  if (group_.rank() == 0 && options_.profile.is_used && options_.planned_ranks == 0) {
    try {
      machine_ = calibrated_condition(report_.environment->nodes.front().processor_with_caches(),
                                      group_.size(), configuration().thread_count);
    } catch (const InputError& error) {
      report_.warn("no prediction: {}", error.what());
    }
  }
  if (report_.grid_is_automatic && options_.open_grid.tries_grids && options_.planned_ranks == 0) {
    set_grid(shortlist().grids.front());
  }
  if (options_.dry_run) return;
  begin_work();
  if (checkpoints_ && checkpoints_->found() != nullptr)
    report_.restart = restart_facts(*checkpoints_->found(), options_.problem);
}

void BenchmarkRun::predict_phases() {
  // After a restart it would be of the whole run.
  if (!machine_ || report_.restart || !machine_->has_kernel(configuration().kernel)) return;
  auto prediction =
      cg2d::predict(*machine_, source_->facts(), configuration(), options_.problem.niter, uneven_ranks());
  if (std::isfinite(prediction.total_s())) {
    report_.prediction = std::move(prediction);
  } else {
    report_.warn("no prediction: by the description of {} the run never ends", machine_->name);
  }
}

void BenchmarkRun::note_choices() {
  if (const auto& trial = report_.grid_trial; trial && !trial->tried.empty()) {
    // A grid of the trial has been generated, as the one of the run is now, and its steps have been timed.
    const double generation_s = trial->duration_s / static_cast<double>(trial->tried.size());
    const double outer_step_s =
        products_per_outer_step * std::ranges::min_element(trial->tried, {}, &TimedCandidate::step_s)->step_s;
    progress_.expect(generation_s + outer_step_s * (1.0 + options_.problem.niter * options_.repeat_count));
  }
  predict_phases();
  // One line for an old or poor profile or calibration that this run uses.
  const auto now = date_now();
  const auto& choice = report_.kernel_choice;
  if (choice.kernel_origin == ChoiceOrigin::profile || choice.tuning_origin == ChoiceOrigin::profile) {
    const auto& known = report_.profile.processor;
    if (const auto remark = remark_on(known.record_for(source_->facts().key, configuration()), now);
        !remark.empty())
      report_.warn("the profile is {}; cg2d tune renews it", remark);
  }
  if (!report_.prediction) return;
  if (const auto remark = remark_on(machine_->measured, now); !remark.empty()) {
    report_.warn("the calibration is {}; cg2d model --calibrate renews it", remark);
  }
}

MeasuredSolver BenchmarkRun::make_solver() {
  iteration_.emplace(*assembled_, options_.problem.shift, guard_ ? &*guard_ : nullptr);
  piece_ = make_layout(source_->facts(), configuration()).own_piece(group_.rank());
  if (options_.features.rebalances)
    rebalancer_.emplace(feature_context(), assembled_->timer(), set_up_s_,
                        [this](auto shares) { move_to(shares); });
  const auto& restart = report_.restart;
  if (restart) {
    restarted_x_ = HugePageVector(static_cast<size_t>(piece_.size()));
    const std::array targets{std::span<double>(restarted_x_)};
    read_vectors(restart->checkpoint, piece_, targets, group_);
  }
  if (auto* const saved = saved_checkpoints())
    run_checkpoints_.emplace(options_.problem, *iteration_, piece_,
                             restart ? restart->earlier_steps : std::vector<OuterStep>(), *saved);
  return {.timer = assembled_->timer(),
          .observers = iteration_->observers(),
          .sent = [this](comm::Operation operation) { return assembled_->sent(operation); },
          .vectors = iteration_->vectors(),
          .local_size = assembled_->local_size()};
}

/// Between two outer iterations: the block is made anew, and x goes over. The times of the set-up stay in the report.
void BenchmarkRun::move_to(std::span<const double> shares) {
  const auto set_up = std::pair(report_.generation_s, report_.conversion_s);
  const auto before = make_layout(source_->facts(), configuration());
  source_->set_piece_starts(source_->balanced_piece_starts(shares, group_));
  const auto layout = make_layout(source_->facts(), configuration());
  const auto x = moved_piece(iteration_->x(), before, layout, group_);
  assembled_->release();
  std::shared_ptr<BlockProduct> product = make_product(layout);
  auto communicator = communicator_for(layout, *product);
  assembled_->exchange(std::move(product), std::move(communicator));
  piece_ = layout.own_piece(group_.rank());
  iteration_->lay_out(x);
  std::tie(report_.generation_s, report_.conversion_s) = set_up;
}

std::unique_ptr<BlockProduct> BenchmarkRun::make_product(const comm::BlockLayout& layout) {
  const bool is_first = assembled_ == nullptr;
  if (is_first) note_choices();
  const bool exports = !options_.export_mtx.empty() && is_first;
  const auto exported = exports ? open_output(options_.export_mtx, group_) : nullptr;  // fails at once
  if (streaming_) return stream(layout);
  const auto& problem = options_.problem;
  agree_on(group_, [&] { check_memory(*source_, configuration(), layout, *report_.environment); });
  progress_.say(fmt::format("generating class {} (n {}) on grid {}", problem.class_name, problem.n,
                            configuration().grid.name()));
  group_.barrier();
  const Stopwatch stopwatch;
  auto [block, facts] = source_->build(layout, group_, configuration().thread_count);
  report_.generation_s = group_.maximum(stopwatch.seconds());
  report_.source_facts = facts;
  report_.nonzero_count = group_.sum(block.nonzero_count());
  progress_.say(fmt::format("{} nonzeros in {:.3f} s", report_.nonzero_count, report_.generation_s));
  if (exports) {
    export_matrix_market(
        block, layout,
        fmt::format("NAS CG class {}: n {}, nonzer {}, rcond {}, shift {} (shift included)",
                    problem.class_name, problem.n, problem.nonzer, Problem::rcond, problem.shift),
        group_, exported.get());
    progress_.say(fmt::format("wrote the matrix to {}", options_.export_mtx));
  }
  auto [product, conversion_s] = convert(std::move(block), layout);
  report_.conversion_s = conversion_s;
  const auto& kernel = product->kernel();
  report_.converted = kernel.converts || kernel.stores_half() || product->part_count() > 1;
  return std::move(product);
}

StreamedMatrix BenchmarkRun::streamed_matrix(const comm::BlockLayout& layout) const {
  const auto& problem = options_.problem;
  return {.source = *source_,
          .hash = hash_of_text(fmt::format("npb n {} nonzer {} rcond {} shift {}", problem.n, problem.nonzer,
                                           Problem::rcond, problem.shift)),
          .vector_bytes = plan_memory(*source_, configuration(), layout, group_.rank()).vector_bytes};
}

std::optional<StreamPlan> BenchmarkRun::plan_streaming(const comm::BlockLayout& layout) {
  if (!streaming_) return {};
  predict_phases();
  double multiply_s = 0.0;
  if (report_.prediction)
    multiply_s =
        report_.prediction->phase_s(Phase::multiply) / (products_per_outer_step * options_.problem.niter);
  return streaming_->plan(streamed_matrix(layout), layout, group_.maximum(multiply_s));
}

/// The product of a block on local storage.
std::unique_ptr<BlockProduct> BenchmarkRun::stream(const comm::BlockLayout& layout) {
  auto product = streaming_->make_product(streamed_matrix(layout), layout);
  report_.generation_s = streaming_->generation_s();
  report_.source_facts = streaming_->figures().source;
  report_.nonzero_count = group_.sum(streaming_->figures().nonzero_count);
  report_.converted = true;
  // The storage is a limit of this run: a product waits for its panels.
  const double rate = streaming_->storage_bytes_per_s();
  const double reading_s = group_.maximum(rate > 0.0 ? mine_.streamed_bytes_per_product / rate : 0.0);
  if (!report_.prediction) return product;
  auto& multiply_s = report_.prediction->phases[index_of(Phase::multiply)];
  multiply_s = std::max(multiply_s, reading_s * products_per_outer_step * options_.problem.niter);
  return product;
}

// ---------------------------------------------------------------- the outer iterations: untimed, and then timed, as often as they are asked for

void BenchmarkRun::after_outer_step(int number, const OuterStep& step) {
  progress_.tick([&] {
    const int niter = options_.problem.niter;
    const auto done = static_cast<int>(report_.repeats.size());
    const auto count = static_cast<double>(repeats_in_all() - done) * niter;
    progress_.expect(since_begin_.seconds() / (number - niter + timed_part(report_).niter) *
                     (count - number));
    return fmt::format("run {}, outer iteration {}/{}: zeta {:.13f}, residual {:.3e}", done + 1, number,
                       niter, step.zeta, step.residual_norm);
  });
}

/// x as it is before the first outer iteration, of the benchmark or after the restart.
void BenchmarkRun::reset_x() {
  iteration_->reset();
  const auto& restart = report_.restart;
  if (restart) iteration_->restore(restart->step_count(), restarted_x_, restart->signs);
}

/// The untimed first iteration, which touches every page and every path, and all repetitions, into the report; and the verdict on them, where
/// all are complete.
const RepeatReport* BenchmarkRun::iterate() {
  const auto& watch = watch_.emplace(options_.stops_when_asked);
  progress_.begin("the untimed first iteration");
  reset_x();
  const Stopwatch stopwatch;
  const auto first = iteration_->outer_step(watch.asked());
  bool goes_on = !must_stop(first);
  if (!goes_on) end_early({first}, "the untimed first iteration");
  first_step_s_ = stopwatch.seconds();
  for (int number = 1; goes_on && number <= repeats_in_all(); ++number) goes_on = repeat_once(number);
  if (goes_on && report_.problem.reference_zeta) {
    for (const auto& repeat : report_.repeats) {
      const double zeta = repeat.steps.back().zeta;
      if (meets_reference(report_.problem, zeta)) continue;
      report_.code = ExitCode::verification_failed;
      report_.reason = fmt::format("zeta {:.13f} differs from the reference {:.13f} by more than {:g} of it",
                                   zeta, *report_.problem.reference_zeta, Problem::tolerance);
      break;
    }
  }
  if (guard_) report_.features.guard = guard_->report(repeats_s());
  if (rebalancer_) rebalancer_->finish();
  if (iteration_->curvature_signs().indefinite()) {
    report_.warn("p . A p changed its sign: with this shift A is indefinite, and zeta is not meaningful");
  }
  if (options_.time_phases && !cycle_counter_is_invariant()) {
    report_.warn("the cycle counter is not invariant here: clocks follow the core's frequency");
  }
  return report_.repeats.empty() ? nullptr : &median_repeat(report_);
}

/// Seconds of the repetitions so far.
double BenchmarkRun::repeats_s() const {
  double time_s = 0.0;
  for (const auto& repeat : report_.repeats) time_s += repeat.time_s;
  return time_s;
}

/// As far as it can be known yet: with --min-time those until now and, at the mean of their times, those that the rest of
/// the time takes. The times are alike on all ranks, and so is this number once there is a repetition.
int BenchmarkRun::repeats_in_all() const {
  constexpr double most_repeats = 100'000;
  const auto done = static_cast<double>(report_.repeats.size());
  const double time_s = repeats_s();
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
  since_begin_ = {};
  std::vector<OuterStepObserver*> observers{this};
  if (run_checkpoints_) observers.push_back(&*run_checkpoints_);
  if (guard_) guard_->begin_repetition(earlier_count + 1, options_.problem.niter);
  if (rebalancer_) {
    observers.push_back(&*rebalancer_);
    rebalancer_->begin_repeat(repeat_number, options_.problem.niter);
  }
  if (stall_watch_ != nullptr) {
    observers.push_back(stall_watch_);
    stall_watch_->begin_repeat(repeat_number, earlier_count);
  }
  reset_x();
  // By the untimed iteration, until one has been timed.
  if (repeat_number == 1)
    progress_.expect(
        std::max(first_step_s_ * outer_step_count * options_.repeat_count, options_.least_time_s));
  const auto all_observers = measurement_->begin(std::move(observers));
  const auto steps = iteration_->outer_steps(outer_step_count, all_observers);
  measurement_->end();
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
