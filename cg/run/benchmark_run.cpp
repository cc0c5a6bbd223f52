#include "cg/run/benchmark_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/shared_output.hpp"
#include "cg/base/stopwatch.hpp"
#include "cg/base/text_format.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/matrix/matrix_market.hpp"
#include "cg/matrix/row_lengths.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/layout.hpp"
#include "cg/solver/overlapped_product.hpp"
#include "cg/timing/counter_setup.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {
namespace {

template <typename T>
std::vector<T> gather_one(comm::RankGroup& group, const T& mine) {
  std::vector<T> all;
  for (const auto& values : group.gather_all(std::span<const T>(&mine, 1))) all.push_back(values.front());
  return all;
}

/// What a product reads of p and writes of q.
std::int64_t product_vector_bytes(comm::Communicator& communicator) {
  auto bytes = communicator.column_block().size_bytes() + communicator.partial().size_bytes() +
               communicator.column_partial().size_bytes();
  // With one process column the row block may be the piece itself, which the column block holds.
  const bool is_held = communicator.row_block().data() == communicator.piece().data();
  if (!is_held) bytes += communicator.row_block().size_bytes();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

BenchmarkRun::BenchmarkRun(const RunOptions& options, comm::RankGroup& group, const Progress& progress)
    : options_(options), group_(group), progress_(progress), source_(default_source().make(options.problem)) {
  report_.problem = options.problem;
  report_.thread_count = options.thread_count;
  report_.sum_form = options.sum_form;
  report_.overlaps = options.overlaps;
  report_.ranks_per_node = options.ranks_per_node;
  report_.phases_timed = options.time_phases;
}

void BenchmarkRun::note_failure(const RunError& error) {
  report_.code = error.code();
  report_.reason = error.what();
}

void BenchmarkRun::prepare() {
  report_.environment = inspect_environment(group_, options_.thread_count);
  const bool yields = report_.environment->ranks_oversubscribed;
  group_.waiter().set_mode(yields ? comm::WaitMode::yield : comm::WaitMode::spin);
  report_.wait_mode = yields ? "yield" : "spin";
  if (report_.environment->oversubscribed && options_.thread_count > 1) {
    report_.warnings.push_back(fmt::format("ranks x threads ({} x {}) exceed the cores: expect slow threads",
                                           group_.size(), options_.thread_count));
  }
  const int rank_count = options_.planned_ranks > 0 ? options_.planned_ranks : group_.size();
  report_.grid = resolve_grid(options_, rank_count);
  report_.profile = load_profile(options_.profile, *report_.environment, group_);
  report_.grid_is_automatic = options_.leaves_grid_open();
  load_machine();
  report_.kernel_choice = kernel_for(report_.grid);
  if (report_.grid_is_automatic && options_.tries_grids && options_.planned_ranks == 0) {
    grid_shortlist_ = shortlist();
    report_.grid = grid_shortlist_.grids.front();
    report_.kernel_choice = kernel_for(report_.grid);
  }
}

/// Only rank 0 reports, so only rank 0 predicts. Without a description there is no prediction; one that
/// cannot be read is a warning.
void BenchmarkRun::load_machine() {
  if (group_.rank() != 0 || !options_.profile.is_used || options_.planned_ranks > 0) return;
  try {
    machine_ = calibrated_condition(report_.environment->nodes.front().processor_with_caches(), group_.size(),
                                    options_.thread_count);
  } catch (const InputError& error) {
    report_.warnings.push_back(fmt::format("no prediction: {}", error.what()));
  }
}

void BenchmarkRun::predict_phases() {
  if (!machine_) return;
  if (!machine_->has_kernel(configuration().kernel)) return;
  report_.prediction = predict(*machine_, source_->facts(), configuration(), options_.problem.niter);
}

Configuration BenchmarkRun::configuration() const {
  auto configuration = choices().configuration();
  configuration.grid = report_.grid;
  configuration.transport = options_.transport;
  return configuration;
}

ChosenKernel BenchmarkRun::kernel_for(const comm::ProcessGrid& grid) const {
  const Configuration configuration{
      .grid = grid, .kernel = options_.kernel.name, .thread_count = options_.thread_count};
  return choose_kernel(source_->facts(), configuration,
                       {.asked = options_.kernel.tuning,
                        .ranks_oversubscribed = report_.environment->ranks_oversubscribed,
                        .profile = report_.profile});
}

GridShortlist BenchmarkRun::shortlist() const {
  const auto shared = configuration();
  return make_grid_shortlist(group_,
                             {.matrix = source_->facts(),
                              .configuration = shared,
                              .machine = machine_,
                              .kernel_for = [this](const auto& grid) { return kernel_for(grid).kernel; }});
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
  report_.grid = report_.grid_trial->best;
  report_.kernel_choice = kernel_for(report_.grid);
}

Environment BenchmarkRun::granted_environment() const {
  Environment granted = *report_.environment;
  if (options_.memory_limit_bytes > 0) {
    for (auto& node : granted.nodes) {
      node.available_bytes = std::min(node.available_bytes, options_.memory_limit_bytes);
    }
  }
  return granted;
}

/// Where the transport is still to be chosen, the grids are compared over the default one: the choice is then
/// made on the best grid.
const comm::TransportRow& BenchmarkRun::first_transport() const {
  return chooses_transport() ? comm::default_transport() : *comm::find_transport(options_.transport);
}

/// With the run's own block: nothing is generated for the trial.
void BenchmarkRun::choose_transport(const comm::BlockLayout& layout, BlockProduct& product) {
  progress_.say("choosing the transport");
  const auto so_far = configuration();
  auto trial = cg2d::choose_transport(group_, {.source = *source_,
                                               .layout = layout,
                                               .configuration = so_far,
                                               .product = product,
                                               .shift = options_.problem.shift,
                                               .environment = *report_.environment,
                                               .profile = report_.profile,
                                               .profile_source = options_.profile});
  if (!trial.not_kept_because.empty() && options_.profile.is_used)
    report_.warnings.push_back("the trial of transports is not kept: " + trial.not_kept_because);
  report_.transport_trial = std::move(trial);
}

void BenchmarkRun::check_choices() {
  const auto& transport = first_transport();
  if (const auto reason = transport.why_unavailable(group_); !reason.empty()) {
    throw RunError(ExitCode::unavailable, fmt::format("--transport {}: {}", transport.name, reason));
  }
  agree_on(group_, [&] {
    const auto& kernel = report_.kernel_choice.kernel;
    if (const auto reason = kernel.why_unavailable(); !reason.empty()) {
      throw RunError(ExitCode::unavailable,
                     fmt::format("--kernel {}: {} (rank {})", kernel.name, reason, group_.rank()));
    }
  });
}

kernels::CsrBlock BenchmarkRun::generate(const comm::BlockLayout& layout) {
  progress_.say(fmt::format("generating class {} (n {}) on grid {}", options_.problem.class_name,
                            options_.problem.n, report_.grid.name()));
  group_.barrier();
  const Stopwatch stopwatch;
  auto sourced = source_->build(layout, group_, options_.thread_count);
  report_.generation_s = group_.maximum(stopwatch.seconds());
  report_.source_facts = sourced.facts;
  report_.nonzero_count = group_.sum(sourced.block.nonzero_count());
  facts_.nonzero_count = sourced.block.nonzero_count();
  facts_.row_lengths = row_lengths(sourced.block, report_.kernel_choice.critical_vector_length);
  facts_.csr_bytes = sourced.block.byte_count();
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

/// The block in the kernel's own format.
std::unique_ptr<BlockProduct> BenchmarkRun::convert(kernels::CsrBlock block,
                                                    const comm::BlockLayout& layout) {
  const auto& choice = report_.kernel_choice;
  std::unique_ptr<BlockProduct> product;
  double conversion_s = 0.0;
  group_.barrier();
  agree_on(group_, [&] {
    const Stopwatch stopwatch;
    const auto make_product = options_.overlaps ? &make_overlapped_product : &make_block_product;
    product = make_product(choice.kernel, std::move(block), layout, group_.rank(),
                           {.thread_count = options_.thread_count, .tuning = choice.tuning});
    conversion_s = stopwatch.seconds();
  });
  report_.conversion_s = group_.maximum(conversion_s);
  report_.converted = choice.kernel.converts || choice.kernel.is_symmetric || product->part_count() > 1;
  facts_.block_bytes = product->matrix_byte_count();
  return product;
}

void BenchmarkRun::perform() {
  check_choices();
  prepare_counters();
  binding_.emplace(group_, *report_.environment, options_.bind, options_.thread_count);
  report_.binding = binding_->facts();
  if (!grid_shortlist_.grids.empty()) try_grids();
  predict_phases();
  const auto layout = make_layout(source_->facts(), configuration());
  agree_on(group_, [&] { check_memory(*source_, configuration(), layout, granted_environment()); });
  const CycleCalibration calibration;
  auto block = generate(layout);
  if (!options_.export_mtx.empty()) export_matrix(block, layout);

  const auto product = convert(std::move(block), layout);
  if (chooses_transport()) choose_transport(layout, *product);
  const auto& transport =
      *comm::find_transport(report_.transport_trial ? report_.transport_trial->best : options_.transport);
  const auto communicator = make_communicator(transport, group_, layout,
                                              communicator_options(configuration(), product->is_symmetric()));
  report_.kernel = product->kernel_name();
  report_.is_symmetric = product->is_symmetric();
  report_.instruction_set = product->instruction_set();
  report_.transport = communicator->name();
  if (options_.time_phases) group_.waiter().set_tick_source(&read_cycle_counter);
  TimedSolver solver(options_, *communicator, *product, group_);
  std::optional<PhaseCounters> phase_counters;
  if (counters_) solver.count_events(phase_counters.emplace(*counters_));
  iterate(solver);
  if (phase_counters) facts_.clocks_per_reading = phase_counters->measure_clocks_per_reading();
  facts_.clocks_per_scope = solver.timer().measure_clocks_per_scope();
  facts_.ticks_per_second = calibration.ticks_per_second();
  facts_.peak_bytes = peak_resident_bytes();
  facts_.resident_bytes = resident_bytes();
  facts_.huge_page_bytes = huge_page_bytes();
  facts_.product_bytes = product->matrix_byte_count() + product_vector_bytes(*communicator);
  if (options_.measures_limits) measure_limits(*communicator, product->matrix_byte_count());
  report_.ranks = gather_one(group_, facts_);
  if (!options_.trace.path.empty()) keep_trace(solver);
  note_warnings(solver);
}

/// Where ranks share cores, what one of them can do depends on what the others do at that moment.
void BenchmarkRun::measure_limits(comm::Communicator& communicator, std::int64_t matrix_bytes) {
  if (report_.environment->ranks_oversubscribed) {
    report_.warnings.emplace_back(
        "--roofline: not measured, since ranks outnumber cores and each one's limit would change with the "
        "others; start no more ranks than cores");
    return;
  }
  progress_.say("measuring what this machine can read and compute");
  constexpr std::int64_t vectors_of_a_step = 5;  // x or q, z, r, p, and p again
  facts_.limits =
      cg2d::measure_limits(group_, options_.thread_count, matrix_bytes,
                           vectors_of_a_step * static_cast<std::int64_t>(communicator.piece().size_bytes()));
}

void BenchmarkRun::keep_trace(const TimedSolver& solver) {
  const auto rank = static_cast<std::size_t>(group_.rank());
  const auto origins = gather_one(group_, solver.first_mark());
  trace_events_.assign(solver.trace_events().begin(), solver.trace_events().end());
  trace_ = RankTrace{.events = trace_events_,
                     .clocks = ClockMap(solver.first_mark(), solver.last_mark()),
                     .origin_clocks = origins.front().reference_clocks,
                     .ticks_per_second = report_.ranks.front().ticks_per_second,
                     .rank = group_.rank(),
                     .node = report_.environment->ranks[rank].node};
}

/// The set is made before this rank's first threads are: they inherit it.
void BenchmarkRun::prepare_counters() {
  const auto names = wanted_events(options_.counters, group_);
  if (!names.empty() && !options_.time_phases) {  // the option itself has been refused: the environment's
    report_.warnings.emplace_back(
        "PAPI_EVENTS: nothing is counted, since --no-phases leaves no phases to count for");
    return;
  }
  auto setup = set_up_counters(names, options_.counters, group_);
  report_.counters.asked = setup.asked;
  report_.counters.refused = setup.refused;
  report_.counters.multiplexed = options_.counters.multiplexed;
  if (!setup.refused.empty()) report_.warnings.push_back("--papi: " + refusal_text(setup.refused));
  if (!setup.counters || setup.counters->event_names().empty()) return;
  counters_ = std::move(setup.counters);
  report_.counters.counted = counters_->event_names();
  report_.counters.counts_all_threads = counters_->counts_all_threads();
}

void BenchmarkRun::iterate(TimedSolver& solver) {
  const InterruptWatch watch(options_.stops_when_asked);
  if (const auto first = solver.warm_up(watch); must_stop(first)) {
    end_early({first}, "the untimed first iteration");
    return;
  }
  for (int repeat = 0; repeat < options_.repeat_count; ++repeat) {
    auto steps = solver.iterate(watch, [&](std::size_t done, const OuterStep& step) {
      progress_.say(fmt::format("run {}, outer iteration {}/{}: zeta {:.13f}, residual {:.3e}", repeat + 1,
                                done, options_.problem.niter, step.zeta, step.residual_norm));
    });
    const bool is_complete =
        static_cast<int>(steps.size()) == options_.problem.niter && is_finite(steps.back());
    const bool has_more = repeat + 1 < options_.repeat_count;
    const bool stop = must_stop(steps.back()) && (has_more || !is_complete);
    if (is_complete) {
      report_.repeats.push_back(
          {.time_s = group_.maximum(solver.times().region_s),
           .steps = steps,
           .ranks = gather_one(group_, solver.times()),
           .counts = counters_ ? gather_one(group_, solver.counts()) : std::vector<RankCounts>{}});
    }
    if (stop) {
      end_early(steps, fmt::format("outer iteration {} of {} in run {} of {}", steps.size(),
                                   options_.problem.niter, repeat + 1, options_.repeat_count));
      return;
    }
  }
  verify();
}

void BenchmarkRun::end_early(const std::vector<OuterStep>& steps, const std::string& where) {
  report_.unfinished = steps;
  if (is_finite(steps.back())) {
    report_.code = ExitCode::interrupted;
    report_.reason = fmt::format("interrupted by a signal after {}", where);
  } else {
    report_.code = ExitCode::not_finite;
    report_.reason = fmt::format(
        "zeta or the residual became NaN or infinite in {}: this shift or matrix is beyond "
        "double precision, or p . A p vanished",
        where);
  }
}

void BenchmarkRun::note_warnings(const TimedSolver& solver) {
  if (solver.curvature_signs().indefinite()) {
    report_.warnings.emplace_back(
        "p . A p changed its sign: with this shift A is indefinite, and zeta means little");
  }
  if (options_.time_phases && !cycle_counter_is_invariant()) {
    report_.warnings.emplace_back(
        "the cycle counter is not invariant here: clocks follow the core's frequency");
  }
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

}  // namespace cg2d
