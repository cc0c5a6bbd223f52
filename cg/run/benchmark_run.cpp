#include "cg/run/benchmark_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/sample.hpp"
#include "cg/check/check.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/matrix_market.hpp"
#include "cg/matrix/reproducible_sums.hpp"
#include "cg/matrix/row_lengths.hpp"
#include "cg/run/counter_setup.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/timing/phase_counters.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
BenchmarkRun::BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress)
    : options_(options), group_(group), progress_(progress), source_(default_source().make(options.problem)) {
  report_.detail = options.detail;
  report_.problem = options.problem;
  report_.configuration = options.configuration;
  report_.phases_timed = options.time_phases;
}

void BenchmarkRun::note_failure(const RunError& error) {
  report_.code = error.code();
  report_.reason = error.what();
}

void BenchmarkRun::prepare() {
  check_configuration(options_.configuration);
  wanted_events_ = wanted_events(options_.counters, group_);
  const int thread_count = configuration().thread_count;
  report_.environment = inspect_environment(group_, thread_count);
  if (options_.names_hosts) name_by_host(*report_.environment);
  if (group_.rank() == 0) report_.provenance = inspect_provenance(*report_.environment, options_.names_hosts);
  group_.waiter().set_mode(report_.environment->wait_mode());
  report_.wait_mode = group_.waiter().mode();
  if (report_.environment->oversubscribed && thread_count > 1) {
    report_.warnings.push_back(fmt::format("ranks x threads ({} x {}) exceed the cores: expect slow threads",
                                           group_.size(), thread_count));
  }
  for (const auto& node : report_.environment->nodes) {
    if (node.processor_quota > 0.0)
      report_.warnings.push_back(
          fmt::format("a control group allows the time of {:.3g} processors on {}: {} used as such",
                      node.processor_quota, node.name, format_count(node.core_count, "core")));
  }
  const int rank_count = options_.planned_ranks > 0 ? options_.planned_ranks : group_.size();
  const auto grid = resolve_grid(options_, rank_count);
  report_.profile = load_profile(options_.profile, *report_.environment, group_);
  report_.grid_is_automatic = options_.leaves_grid_open();
  load_machine();
  take_grid(grid);
  if (report_.grid_is_automatic && options_.open_grid.tries_grids && options_.planned_ranks == 0) {
    grid_shortlist_ = shortlist();
    take_grid(grid_shortlist_.grids.front());
  }
  if (!options_.dry_run) open_checkpoints();
}

/// Early, so that a folder that will not do is found before the matrix is made.
void BenchmarkRun::open_checkpoints() {
  auto choice = choose_restart(options_.checkpoint, "run", group_);
  if (choice.found) report_.restart = restart_facts(std::move(*choice.found), options_.problem);
  std::ranges::move(choice.warnings, std::back_inserter(report_.warnings));
  if (choice.claim) checkpoint_writer_.emplace(std::move(*choice.claim), choice.generation, group_);
}

/// Puts the grid and its kernel into the configuration.
void BenchmarkRun::take_grid(const comm::ProcessGrid& grid) {
  report_.configuration.grid = grid;
  report_.kernel_choice = kernel_for(grid);
  if (options_.out_of_core.chooses_kernel) report_.kernel_choice.kernel_origin = ChoiceOrigin::built_in_rule;
  report_.configuration.kernel = report_.kernel_choice.kernel->name;
}

/// Only rank 0 reports, so only rank 0 predicts. Without a description there is no prediction; one that
/// cannot be read is a warning.
void BenchmarkRun::load_machine() {
  if (group_.rank() != 0 || !options_.profile.is_used || options_.planned_ranks > 0) return;
  try {
    machine_ = calibrated_condition(report_.environment->nodes.front().processor_with_caches(), group_.size(),
                                    configuration().thread_count);
  } catch (const InputError& error) {
    report_.warnings.push_back(fmt::format("no prediction: {}", error.what()));
  }
}

void BenchmarkRun::predict_phases() {
  if (!machine_ || report_.restart) return;  // it would be of the whole run
  if (!machine_->has_kernel(configuration().kernel)) return;
  auto prediction = predict(*machine_, source_->facts(), configuration(), options_.problem.niter);
  if (std::isfinite(prediction.total_s())) {
    report_.prediction = std::move(prediction);
  } else {
    report_.warnings.push_back(
        fmt::format("no prediction: by the description of {} the run never ends", machine_->name));
  }
}

ChosenKernel BenchmarkRun::kernel_for(const comm::ProcessGrid& grid) const {
  auto asked = options_.configuration;
  asked.grid = grid;
  return choose_kernel(source_->facts(), asked,
                       {.asked = options_.tuning,
                        .ranks_oversubscribed = report_.environment->ranks_oversubscribed,
                        .profile = report_.profile});
}

GridShortlist BenchmarkRun::shortlist() const {
  return make_grid_shortlist(group_, {.matrix = source_->facts(),
                                      .configuration = configuration(),
                                      .machine = machine_,
                                      .kernel_for = [this](const auto& grid) -> const kernels::KernelRow& {
                                        return *kernel_for(grid).kernel;
                                      }});
}

/// The grid by a trial of the best few, with its kernel.
void BenchmarkRun::try_grids() {
  const auto environment = granted_environment();
  if (grid_shortlist_.grids.size() > 1) progress_.say("trying grids");
  auto shared = configuration();
  shared.transport = first_transport().name;
  report_.grid_trial = cg2d::try_grids(group_,
                                       {.source = *source_,
                                        .configuration = shared,
                                        .environment = environment,
                                        .kernel_for = [this](const auto& grid) { return kernel_for(grid); }},
                                       grid_shortlist_);
  take_grid(report_.grid_trial->best);
  expect_by_trial();
}

/// A grid of the trial has been generated, as the one of the run is now, and its steps have been timed.
void BenchmarkRun::expect_by_trial() const {
  const auto& tried = report_.grid_trial->tried;
  if (tried.empty()) return;
  const double generation_s = report_.grid_trial->duration_s / static_cast<double>(tried.size());
  const double outer_step_s =
      OuterStepCalls::products * std::ranges::min_element(tried, {}, &TriedGrid::step_s)->step_s;
  progress_.expect(generation_s + outer_step_s * (1.0 + options_.problem.niter * options_.repeat_count));
}

Environment BenchmarkRun::granted_environment() const {
  return report_.environment->granted(options_.memory_limit_bytes);
}

/// With --transport auto the grids are compared over the default transport; the transport is then chosen on
/// the best grid.
const comm::TransportRow& BenchmarkRun::first_transport() const {
  return chooses_transport() ? comm::default_transport() : *comm::find_transport(configuration().transport);
}

/// By a trial with the run's own block.
void BenchmarkRun::choose_transport(const comm::BlockLayout& layout,
                                    const std::shared_ptr<BlockProduct>& product) {
  progress_.say("choosing the transport");
  const std::function<void(const std::string&)> say = [&](const std::string& line) { progress_.say(line); };
  const auto environment = granted_environment();
  auto trial = cg2d::choose_transport(group_, {.source = *source_,
                                               .trial = {.layout = layout,
                                                         .configuration = configuration(),
                                                         .product = product,
                                                         .shift = options_.problem.shift},
                                               .environment = environment,
                                               .profile = report_.profile,
                                               .profile_source = options_.profile,
                                               .say = say});
  auto warnings = warnings_of(trial, options_.profile, source_->facts());
  std::ranges::move(warnings, std::back_inserter(report_.warnings));
  report_.configuration.transport = trial.best;
  report_.transport_trial = std::move(trial);
}

void BenchmarkRun::check_choices() {
  if (configuration().is_reproducible) {
    agree_on(group_, [&] {
      if (const auto reason = why_not_reproducible_here(); !reason.empty())
        throw RunError(ExitCode::unavailable,
                       fmt::format("--reproducible on: {} (rank {})", reason, group_.rank()));
    });
  }
  const auto& transport = first_transport();
  if (const auto reason = transport.why_unavailable(group_); !reason.empty())
    throw RunError(ExitCode::unavailable, fmt::format("--transport {}: {}", transport.name, reason));
  agree_on(group_, [&] {
    const auto& kernel = *report_.kernel_choice.kernel;
    if (const auto reason = kernel.why_unavailable(); !reason.empty()) {
      throw RunError(ExitCode::unavailable,
                     fmt::format("--kernel {}: {} (rank {})", kernel.name, reason, group_.rank()));
    }
  });
}

kernels::CsrBlock BenchmarkRun::generate(const comm::BlockLayout& layout) {
  progress_.say(fmt::format("generating class {} (n {}) on grid {}", options_.problem.class_name,
                            options_.problem.n, configuration().grid.name()));
  group_.barrier();
  const Stopwatch stopwatch;
  auto sourced = source_->build(layout, group_, configuration().thread_count);
  report_.generation_s = group_.maximum(stopwatch.seconds());
  report_.source_facts = sourced.facts;
  report_.nonzero_count = group_.sum(sourced.block.nonzero_count());
  mine_.nonzero_count = sourced.block.nonzero_count();
  mine_.row_lengths = row_lengths(sourced.block, report_.kernel_choice.critical_vector_length);
  mine_.csr_bytes = sourced.block.byte_count();
  progress_.say(fmt::format("{} nonzeros in {:.3f} s", report_.nonzero_count, report_.generation_s));
  return std::move(sourced.block);
}

void BenchmarkRun::export_matrix(const kernels::CsrBlock& block, const comm::BlockLayout& layout) {
  const auto file = open_output(options_.export_mtx, group_);
  const auto& problem = options_.problem;
  export_matrix_market(
      block, layout,
      fmt::format("NAS CG class {}: n {}, nonzer {}, rcond {}, shift {} (shift included)", problem.class_name,
                  problem.n, problem.nonzer, Problem::rcond, problem.shift),
      group_, file.get());
  progress_.say(fmt::format("wrote the matrix to {}", options_.export_mtx));
}

/// The product of a block that is in memory as a whole.
std::unique_ptr<BlockProduct> BenchmarkRun::make_in_memory(const comm::BlockLayout& layout) {
  agree_on(group_, [&] { check_memory(*source_, configuration(), layout, granted_environment()); });
  auto block = generate(layout);
  if (!options_.export_mtx.empty()) export_matrix(block, layout);
  if (options_.guard.checks) take_checksums(block, layout);
  return convert(std::move(block), layout);
}

std::int64_t BenchmarkRun::vector_bytes(const comm::BlockLayout& layout) const {
  return plan_memory(*source_, configuration(), layout, group_.rank()).vector_bytes;
}

/// With this rank's part in the memory of its node, without what its vectors will take.
StreamedBlockParts BenchmarkRun::stream_parts(const comm::BlockLayout& layout) const {
  const auto environment = granted_environment();
  const auto& problem = options_.problem;
  return {.source = *source_,
          .matrix_hash = hash_of_text(fmt::format("npb n {} nonzer {} rcond {} shift {}", problem.n,
                                                  problem.nonzer, Problem::rcond, problem.shift)),
          .layout = layout,
          .kernel = report_.kernel_choice,
          .options = options_.out_of_core,
          .memory_bytes =
              environment.memory_of_rank(group_.rank(), options_.memory_limit_bytes) - vector_bytes(layout),
          .share = {.beside_bytes = environment.process_bytes + vector_bytes(layout),
                    .node_rank_count = environment.node_of(group_.rank()).rank_count},
          .room = environment.node_of(group_.rank()).memory,
          .storages = report_.profile.storages};
}

StreamPlan BenchmarkRun::plan_streaming(const comm::BlockLayout& layout) {
  predict_phases();
  double multiply_s = 0.0;
  if (report_.prediction)
    multiply_s =
        report_.prediction->phase_s(Phase::multiply) / (OuterStepCalls::products * options_.problem.niter);
  return plan_stream(stream_parts(layout), group_.maximum(multiply_s), group_);
}

/// The product of a block on local storage.
std::unique_ptr<BlockProduct> BenchmarkRun::stream(const comm::BlockLayout& layout) {
  streamed_ = make_streamed_block(stream_parts(layout), group_, progress_);
  const auto& figures = streamed_.figures;
  report_.generation_s = streamed_.generation_s;
  report_.source_facts = figures.source;
  report_.nonzero_count = group_.sum(figures.nonzero_count);
  report_.converted = true;
  mine_.nonzero_count = figures.nonzero_count;
  mine_.row_lengths = figures.row_lengths;
  streamed_kernel_ = streamed_.kernel.get();
  note_storage();
  mine_.block_bytes = streamed_kernel_->matrix_byte_count();
  return std::make_unique<BlockProduct>(*report_.kernel_choice.kernel, std::move(streamed_.kernel),
                                        layout.column_block(layout.grid().column_of(group_.rank())).size(),
                                        report_.kernel_choice.vector_count);
}

/// The storage as a limit of this run.
void BenchmarkRun::note_storage() {
  mine_.streamed_bytes_per_product = static_cast<double>(streamed_kernel_->streamed_byte_count());
  const double rate = streamed_.storage_bytes_per_s;
  const double reading_s = group_.maximum(rate > 0.0 ? mine_.streamed_bytes_per_product / rate : 0.0);
  if (!report_.prediction) return;
  // A product waits for its panels.
  auto& multiply_s = report_.prediction->phases[index_of(Phase::multiply)];
  multiply_s = std::max(multiply_s, reading_s * OuterStepCalls::products * options_.problem.niter);
}

void BenchmarkRun::note_stream() {
  report_.out_of_core =
      facts_of(streamed_, *streamed_kernel_, options_.out_of_core, options_.memory_limit_bytes, group_);
}

/// The block in the kernel's own format.
std::unique_ptr<BlockProduct> BenchmarkRun::convert(kernels::CsrBlock block,
                                                    const comm::BlockLayout& layout) {
  auto [product, conversion_s] =
      convert_block(std::move(block), assembly_plan(group_, layout, configuration(), report_.kernel_choice));
  report_.conversion_s = conversion_s;
  const auto& kernel = product->kernel();
  report_.converted = kernel.converts || kernel.stores_half() || product->part_count() > 1;
  mine_.block_bytes = product->matrix_byte_count();
  return std::move(product);
}

void BenchmarkRun::perform() {
  choose();
  const auto layout = make_layout(source_->facts(), configuration());
  const CycleCalibration calibration;
  AssembledOperator assembled =
      connect(layout, options_.out_of_core.is_used() ? stream(layout) : make_in_memory(layout));
  if (options_.checks_first)
    check_before_run(short_check_plan(configuration(), report_.kernel_choice.tuning), group_, progress_);

  if (options_.guard.is_used())
    guard_.emplace(options_.guard,
                   GuardedParts{group_, layout, assembled.communicator(), assembled.product(),
                                configuration().thread_count},
                   checksums_ ? &*checksums_ : nullptr);
  SteppedSolver solver(assembled, options_.problem.shift, guard_ ? &*guard_ : nullptr);
  std::optional<PhaseCounters> phase_counters;
  RegionMeasurement measurement(measured_parts(solver, assembled.communicator()), group_);
  measurement.measure_quiet(quiet_.emplace(group_, *report_.environment, configuration().thread_count));
  if (counters_) measurement.count_events(phase_counters.emplace(*counters_));
  const bool is_traced = !options_.trace.path.empty();
  if (is_traced) measurement.record_trace(options_.trace.step_count, assembled.product().part_count());
  prepare_checkpoints(layout, solver);
  if (iterate_watched(solver, measurement)) verify();
  if (checkpoints_) report_.checkpoints = checkpoints_->facts();
  checkpoints_.reset();
  if (guard_) note_guard();
  if (streamed_kernel_ != nullptr) note_stream();

  if (phase_counters) mine_.clocks_per_reading = phase_counters->clocks_per_reading();
  mine_.clocks_per_scope = solver.timer().measure_clocks_per_scope();
  mine_.ticks_per_second = calibration.ticks_per_second();
  mine_.product_work[index_of(Phase::multiply)] =
      work_of_block_product(assembled.communicator(), assembled.product(), mine_.nonzero_count);
  mine_.resident_bytes = resident_bytes();
  // The system counts the peak by fewer readings than the memory of the moment.
  mine_.peak_bytes = std::max(peak_resident_bytes(), mine_.resident_bytes);
  mine_.huge_page_bytes = huge_page_bytes();
  if (options_.measures_limits)
    measure_limits(assembled.communicator(), assembled.product().matrix_byte_count());
  report_.ranks = group_.gather_one(mine_);
  if (is_traced) keep_trace(measurement);
  note_warnings(solver);
}

void BenchmarkRun::take_checksums(const kernels::CsrBlock& block, const comm::BlockLayout& layout) {
  agree_on(group_,
           [&] { checksums_.emplace(block, report_.kernel_choice.kernel->storage, layout, group_.rank()); });
}

void BenchmarkRun::note_guard() {
  double repeats_s = 0.0;
  for (const auto& repeat : report_.repeats) repeats_s += repeat.time_s;
  report_.guard = guard_->report(repeats_s);
}

/// Everything that is chosen without the matrix.
void BenchmarkRun::choose() {
  check_choices();
  prepare_counters();
  binding_.emplace(group_, *report_.environment, options_.bind, configuration().thread_count);
  report_.binding = binding_->result();
  if (!grid_shortlist_.grids.empty()) try_grids();
  predict_phases();
  remark_on_measurements();
}

/// One line for an old or poor profile or calibration that this run uses.
void BenchmarkRun::remark_on_measurements() {
  const auto now = date_now();
  const auto& choice = report_.kernel_choice;
  const bool uses_profile =
      choice.kernel_origin == ChoiceOrigin::profile || choice.tuning_origin == ChoiceOrigin::profile;
  if (uses_profile) {
    const auto remark =
        remark_on(report_.profile.processor->record_for(source_->facts().key, configuration()), now);
    if (!remark.empty())
      report_.warnings.push_back(fmt::format("the profile is {}; cg2d tune renews it", remark));
  }
  if (!report_.prediction) return;
  if (const auto remark = remark_on(machine_->measured, now); !remark.empty()) {
    report_.warnings.push_back(
        fmt::format("the calibration is {}; cg2d model --calibrate renews it", remark));
  }
}

/// Over the transport that was named, or that wins the trial.
AssembledOperator BenchmarkRun::connect(const comm::BlockLayout& layout,
                                        std::shared_ptr<BlockProduct> product) {
  if (chooses_transport()) choose_transport(layout, product);
  auto communicator = cg2d::connect(*product, *comm::find_transport(configuration().transport),
                                    assembly_plan(group_, layout, configuration(), report_.kernel_choice));
  report_.is_resolved = true;
  report_.is_symmetric = product->is_symmetric();
  report_.instruction_set = product->instruction_set();
  if (options_.time_phases) group_.waiter().set_tick_source(&read_cycle_counter);
  return {std::move(product), std::move(communicator), group_, configuration().thread_count,
          options_.time_phases};
}

void BenchmarkRun::measure_limits(comm::Communicator& communicator, std::int64_t matrix_bytes) {
  if (auto reason = why_no_limits(*report_.environment); !reason.empty()) {
    report_.warnings.push_back(std::move(reason));
    return;
  }
  progress_.say("measuring what this machine can read and compute");
  // A streamed matrix is multiplied from buffers, of which there are few.
  const bool is_streamed = streamed_kernel_ != nullptr && streamed_kernel_->streamed_byte_count() > 0;
  const auto footprint = is_streamed ? streamed_kernel_->file().most_panel_bytes() : matrix_bytes;
  mine_.limits =
      cg2d::measure_limits(group_, configuration().thread_count, footprint,
                           vectors_of_a_step * static_cast<std::int64_t>(communicator.piece().size_bytes()));
  mine_.limits.storage_bytes_per_s = streamed_.storage_bytes_per_s;
}

void BenchmarkRun::keep_trace(const RegionMeasurement& measurement) {
  const auto rank = static_cast<std::size_t>(group_.rank());
  trace_ =
      measurement.rank_trace(report_.environment->ranks[rank].node, report_.ranks.front().ticks_per_second);
  trace_events_.assign(trace_->events.begin(), trace_->events.end());
  trace_->events = trace_events_;
}

/// The counters are made before this rank's first threads, which inherit them.
void BenchmarkRun::prepare_counters() {
  if (!wanted_events_.empty() &&
      !options_.time_phases) {  // the option itself has been refused: the environment's
    report_.warnings.emplace_back(
        "PAPI_EVENTS: nothing is counted, since --no-phases leaves no phases to count for");
    return;
  }
  auto counter_options = options_.counters;
  counter_options.has_threads = configuration().thread_count > 1;
  counters_ =
      make_counters(wanted_events_, counter_options, group_,
                    {.result = report_.counters, .warnings = report_.warnings, .progress = progress_});
}

/// With the watch of --stall-limit, if there is one.
bool BenchmarkRun::iterate_watched(SteppedSolver& solver, RegionMeasurement& measurement) {
  std::optional<StallWatch> stall_watch;
  if (options_.stall.limit_s > 0.0)
    stall_watch.emplace(options_.stall, group_, solver.timer(),
                        solver.iteration().conjugate_gradient().observers());
  stall_watch_ = stall_watch ? &*stall_watch : nullptr;
  const bool is_complete = iterate(solver, measurement);
  stall_watch_ = nullptr;
  return is_complete;
}

/// This rank's part of the state to go on from, and a rehearsal of saving it.
void BenchmarkRun::prepare_checkpoints(const comm::BlockLayout& layout, SteppedSolver& solver) {
  const auto range = layout.piece(layout.column_piece_of(group_.rank()));
  if (report_.restart) restarted_x_ = restarted_x(*report_.restart, range, group_);
  if (!checkpoint_writer_) return;
  checkpoints_.emplace(
      options_.checkpoint.interval_s, options_.problem, CheckpointedVector{solver.iteration(), range},
      report_.restart ? report_.restart->earlier_steps : std::vector<OuterStep>(), *checkpoint_writer_);
}

/// x as it is before the first outer iteration, of the benchmark or after the restart.
void BenchmarkRun::reset(SteppedSolver& solver) const {
  solver.reset();
  if (!report_.restart) return;
  solver.iteration().restore(report_.restart->step_count(), restarted_x_, report_.restart->signs);
}

/// The end of the sentence about a signal; empty without --checkpoint, and on ranks that do not report.
std::string BenchmarkRun::how_to_go_on() const {
  if (!checkpoint_writer_ || !report_.provenance) return {};
  return cg2d::how_to_go_on({.asked = options_.checkpoint,
                             .configuration = configuration(),
                             .grid_was_open = report_.grid_is_automatic,
                             .kernel_was_open = !options_.configuration.has_kernel(),
                             .is_restarted = report_.restart.has_value(),
                             .last_generation = checkpoint_writer_->last_generation(),
                             .failure = checkpoints_ ? checkpoints_->facts().failure : std::string()},
                            report_.provenance->command);
}

/// The untimed first iteration, which touches every page and every path, and all repetitions. False: it ended
/// early.
bool BenchmarkRun::iterate(SteppedSolver& solver, RegionMeasurement& measurement) {
  const auto& watch = watch_.emplace(options_.stops_when_asked);
  progress_.begin("the untimed first iteration");
  reset(solver);
  const Stopwatch stopwatch;
  if (const auto first = solver.outer_step(watch.asked()); must_stop(first)) {
    end_early({first}, "the untimed first iteration");
    return false;
  }
  first_step_s_ = stopwatch.seconds();
  for (int repeat_number = 1; repeat_number <= repeats_in_all(); ++repeat_number) {
    if (!iterate_once(repeat_number, watch, solver, measurement)) return false;
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
bool BenchmarkRun::iterate_once(int repeat_number, const InterruptWatch& watch, SteppedSolver& solver,
                                RegionMeasurement& measurement) {
  const int earlier_count = report_.restart ? report_.restart->step_count() : 0;
  const int outer_step_count = options_.problem.niter - earlier_count;
  InterruptRequests interrupts(watch);
  ProgressLines progress(progress_, {repeat_number, repeats_in_all(), options_.problem.niter, earlier_count});
  std::vector<OuterStepObserver*> observers{&interrupts, &progress};
  if (checkpoints_) observers.push_back(&*checkpoints_);
  if (stall_watch_ != nullptr) {
    stall_watch_->begin_repeat(repeat_number);
    observers.push_back(stall_watch_);
  }
  reset(solver);
  if (guard_) guard_->begin_repetition(outer_step_count);
  expect_steps(repeat_number);
  if (checkpoints_) checkpoints_->begin();
  const Progress::TimedRegion region(progress_);
  // A clock reading per CG step: nothing beside steps that take so long.
  constexpr double long_s = 0.2;
  auto& step_observers = solver.iteration().conjugate_gradient().observers();
  const bool is_long = first_step_s_ >= long_s;
  if (is_long) step_observers.add(progress);
  const auto steps = measurement.around(
      observers, [&](auto all_observers) { return solver.outer_steps(outer_step_count, all_observers); });
  if (is_long) step_observers.remove(progress);
  const bool is_complete = static_cast<int>(steps.size()) == outer_step_count && is_finite(steps.back()) &&
                           !steps.back().is_refused;
  if (is_complete) {
    report_.repeats.push_back(
        {.time_s = group_.maximum(measurement.times().region_s),
         .steps = steps,
         .ranks = group_.gather_one(measurement.times()),
         .counts = counters_ ? group_.gather_one(measurement.counts()) : std::vector<RankCounts>{},
         .quiet = quiet_->result()});
  }
  const bool has_more = repeat_number < repeats_in_all();
  if (is_complete && !(has_more && must_stop(steps.back()))) return true;
  end_early(steps, fmt::format("outer iteration {} of {} in run {} of {}", earlier_count + std::ssize(steps),
                               options_.problem.niter, repeat_number, repeats_in_all()));
  return false;
}

/// By the untimed iteration, until one has been timed.
void BenchmarkRun::expect_steps(int repeat_number) const {
  if (repeat_number > 1) return;
  const int outer_step_count = options_.problem.niter - (report_.restart ? report_.restart->step_count() : 0);
  progress_.expect(std::max(first_step_s_ * outer_step_count * options_.repeat_count, options_.least_time_s));
}

void BenchmarkRun::end_early(const std::vector<OuterStep>& steps, const std::string& where) {
  // Where the storage failed, numbers are NaN for that reason.
  agree_on(group_, [&] {
    if (streamed_kernel_ != nullptr && streamed_kernel_->failure())
      throw RunError(*streamed_kernel_->failure());
  });
  report_.unfinished = steps;
  if (steps.back().is_refused) {
    report_.code = ExitCode::soft_error;
    report_.reason = guard_->reason();
  } else if (is_finite(steps.back())) {
    report_.code = ExitCode::interrupted;
    report_.reason = fmt::format("interrupted by a signal after {}{}", where, how_to_go_on());
  } else {
    report_.code = ExitCode::not_finite;
    report_.reason = fmt::format(
        "zeta or the residual became NaN or infinite in {}: this shift or matrix is beyond "
        "double precision, or p . A p vanished",
        where);
  }
}

void BenchmarkRun::note_warnings(SteppedSolver& solver) {
  if (solver.iteration().curvature_signs().indefinite()) {
    report_.warnings.emplace_back(
        "p . A p changed its sign: with this shift A is indefinite, and zeta is not meaningful");
  }
  if (options_.time_phases && !cycle_counter_is_invariant()) {
    report_.warnings.emplace_back(
        "the cycle counter is not invariant here: clocks follow the core's frequency");
  }
  if (counters_ && group_.rank() == 0 && !report_.repeats.empty())
    note_doubts(report_.counters, median_repeat(report_), report_.warnings);
}

/// The verdict on complete repetitions.
void BenchmarkRun::verify() {
  if (!report_.problem.reference_zeta) return;
  for (const auto& repeat : report_.repeats) {
    const double zeta = repeat.steps.back().zeta;
    if (meets_reference(report_.problem, zeta)) continue;
    report_.code = ExitCode::verification_failed;
    report_.reason = fmt::format("zeta {:.13f} differs from the reference {:.13f} by more than {:g} of it",
                                 zeta, *report_.problem.reference_zeta, Problem::tolerance);
    return;
  }
}

RunReport complete_run(const RunOptions& options, comm::RankGroup& group, const Progress& progress) {
  BenchmarkRun run(options, group, progress);
  try {
    run.prepare();
    run.perform();
  } catch (const RunError& error) {
    run.note_failure(error);
  }
  return run.report();
}

comm::RankGroup* FirstRanks::of(int rank_count) {
  if (all_.rank() >= rank_count) return nullptr;
  auto& group = groups_[rank_count];
  if (!group) group = std::make_unique<comm::RankGroup>(all_.first_ranks(rank_count));
  return group.get();
}

}  // namespace cg2d
