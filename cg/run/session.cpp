#include "cg/run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <limits>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/run/check/check.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/timing/race.hpp"
#include "kernels/cpu_features.hpp"
#include "kernels/machine_rates.hpp"

namespace cg2d {
namespace {

/// Throws RunError where --reproducible is asked for and a process does not round to nearest, or keeps no numbers below the normal ones, as
/// reproducible sums need. Collective.
void check_reproducible(const Configuration& configuration, comm::RankGroup& group) {
  if (!configuration.is_reproducible) return;
  agree_on(group, [&] {
    // volatile: computed here and now, not by the compiler.
    const volatile double smallest = std::numeric_limits<double>::min();
    const volatile double half = smallest / 2.0;
    const bool rounds_to_nearest = std::fegetround() == FE_TONEAREST;
    if (rounds_to_nearest && half != 0.0 && half + half == smallest) return;
    throw RunError(ExitCode::unavailable, "--reproducible on: the processor {} (rank {})",
                   rounds_to_nearest ? "flushes small numbers to zero" : "does not round to nearest",
                   group.rank());
  });
}

/// The limits of this machine. Measured on all ranks at the same time, since they share caches and memory in a run, too: a batch of all
/// ranks ends with the slowest one, see common_pass_rate(). matrix_bytes, vector_bytes: this rank's footprints. Collective. Cost: about a
/// second. Throws RunError (on every rank alike).
MachineLimits measure_limits(comm::RankGroup& group, int thread_count, int64_t matrix_bytes,
                             int64_t vector_bytes) {
  constexpr int64_t least_bytes = 4096;  // of a rank without rows
  MachineLimits limits;
  const auto read_rate = [&](int64_t byte_count, int64_t& footprint_bytes) {
    std::optional<kernels::ReadWork> reading;
    agree_on(group, [&] { reading.emplace(thread_count, std::max(byte_count, least_bytes)); });
    footprint_bytes = reading->byte_count();
    return static_cast<double>(footprint_bytes) *
           common_pass_rate(group, [&](int64_t pass_count) { return reading->read(pass_count); });
  };
  limits.matrix_bytes_per_s = read_rate(matrix_bytes, limits.matrix_footprint_bytes);
  limits.vector_bytes_per_s = read_rate(vector_bytes, limits.vector_footprint_bytes);
  limits.flops_per_s = static_cast<double>(kernels::flops_of_pass(thread_count)) *
                       common_pass_rate(group, [&](int64_t pass_count) {
                         return kernels::compute_passes(thread_count, pass_count);
                       });
  return limits;
}

}  // namespace

// ---------------------------------------------------------------- the course

/// All that is done, in its order.
void Session::perform(const std::function<void()>& open_files) {
  begin();
  open_files();
  read();
  if (source_ != nullptr) {  // kernel, grid, block, product, transport, operator
    choose_parts();
    const auto layout = make_layout(source_->facts(), found_.configuration);
    const Stopwatch of_block;
    const std::shared_ptr<BlockProduct> product = make_product(layout);
    set_up_s_ = of_block.seconds();
    if (chooses_transport()) choose_transport(layout, product);
    const Stopwatch of_communicator;
    connect(layout, product);
    set_up_s_ += of_communicator.seconds();
  }
  const auto solver = make_solver();
  if (asked_.features.checks_parts)  // neither counted nor traced
    check_before_run(short_check_plan(found_.configuration, found_.kernel_choice), group_, progress_);
  const int traced_steps = asked_.trace.path.empty() ? 0 : asked_.trace.step_count;
  measurement_.emplace(solver, group_, *found_.environment, counters_.get(), traced_steps);
  const RepeatReport* last = nullptr;
  {
    std::optional<StallWatch> stall_watch;  // begins when all else is ready, and ends with this scope
    if (const double limit_s = asked_.features.stall_limit_s; limit_s > 0.0)
      stall_watch_ = &stall_watch.emplace(limit_s, end_all_ranks, group_, solver.timer, solver.observers);
    last = iterate();
  }
  gather_results(solver, clocks_per_second(), last);
}

void Session::begin() {
  found_.configuration = asked_.configuration;
  if (asked_.features.out_of_core.is_used()) streaming_.emplace(feature_context());
  check_configuration(asked_.configuration);
  wanted_events_ =
      wanted_events(asked_.counters, group_);  // an event that nobody knows is found before the work
  const int thread_count = asked_.configuration.thread_count;
  found_.environment = inspect_environment(group_, thread_count, asked_.memory_limit_bytes);
  // The built-in kernel, and those that trials take, depend on it: ranks that choose differently wait for each other for ever.
  const bool has_vectors = kernels::of_this_processor(kernels::sets_without_gathers).size() > 1;
  if (group_.sum(int64_t{has_vectors}) % group_.size() != 0)
    throw RunError(ExitCode::unavailable,
                   "some ranks have wider vector instructions than others: set {}=portable for all of them",
                   kernels::instruction_set_variable);
  if (asked_.names_hosts) name_by_host(*found_.environment);
  if (group_.rank() == 0) found_.provenance = inspect_provenance(*found_.environment, asked_.names_hosts);
  group_.waiter().set_mode(found_.environment->wait_mode());
  found_.wait_mode = group_.waiter().mode();
  found_.transport_origin = asked_.transport_origin;
  if (asked_.transport_is_default) {
    found_.configuration = with_default_transport(group_, found_.configuration);
    found_.transport_origin = ChoiceOrigin::built_in_rule;
  }
  if (found_.environment->oversubscribed && thread_count > 1) {
    found_.warn("ranks x threads ({} x {}) exceed the cores: expect slow threads", group_.size(),
                thread_count);
  }
  for (const auto& node : found_.environment->nodes) {
    if (node.processor_quota > 0.0)
      found_.warn("a control group allows the time of {:.3g} processors on {}: {} used as such",
                  node.processor_quota, node.name, format_count(node.core_count, "core"));
  }
  if (const auto& warning = found_.environment->memory_warning; !warning.empty())
    found_.warnings.push_back(warning);
  found_.profile = load_profile(asked_.profile, *found_.environment, group_);
  found_.grid_is_automatic = !asked_.configuration.has_grid() && !asked_.open_grid.name_a_grid();
  prepare();
}

void Session::begin_work() {
  check_reproducible(found_.configuration, group_);
  const auto& slow = asked_.features.slow_ranks;
  require_ranks(slow, group_.size());
  if (const auto& checkpoints = asked_.features.checkpoint; checkpoints.is_used()) {
    checkpoints_.emplace(checkpoints, kind_ == WorkKind::solve ? "solve" : "run", group_);
    std::ranges::copy(checkpoints_->warnings(), std::back_inserter(found_.warnings));
  }
  if (auto mine = changes_of(slow, group_.rank()); !mine.empty()) slowdown_.emplace(std::move(mine));
  found_.features.slow_ranks = slow;
}

/// For that kernel, which may be open; with --out-of-core the shortest one that can be streamed.
ChosenKernel Session::chosen_kernel(const comm::ProcessGrid& grid, const std::string& kernel) const {
  auto asked = asked_.configuration;
  asked.grid = grid;
  const bool takes_shortest = asked_.features.out_of_core.chooses_kernel;
  asked.kernel = takes_shortest ? std::string(shortest_streamed_kernel(vector_count_).name) : kernel;
  auto choice = choose_kernel(source_->facts(), asked,
                              {.asked = asked_.tuning,
                               .vector_count = vector_count_,
                               .ranks_oversubscribed = found_.environment->ranks_oversubscribed,
                               .profile = found_.profile});
  if (takes_shortest) choice.kernel_origin = ChoiceOrigin::built_in_rule;
  return choice;
}

/// The one that is named, or that of the profile, or by rule; that of the benchmark's matrix is not for others.
ChosenKernel Session::kernel_for(const comm::ProcessGrid& grid) const {
  auto kernel = asked_.configuration.kernel;
  const auto choice = chosen_kernel(grid, kernel);
  if (kernel_trial_ == nullptr || choice.kernel_origin != ChoiceOrigin::built_in_rule || streaming_)
    return choice;
  const auto& trial = found_.kernel_trial;
  if (trial) {
    kernel = trial->best;
  } else if (vector_count_ == 1) {
    kernel = kernels::kernel_for_any_pattern().name;
  }
  auto own_choice = chosen_kernel(grid, kernel);
  const bool was_tried = trial && trial->skipped_because.empty();
  own_choice.kernel_origin = was_tried ? ChoiceOrigin::trial : ChoiceOrigin::built_in_rule;
  return own_choice;
}

/// On the grid that is most promising, before other grids are tried.
void Session::try_kernels() {
  if (kernel_trial_ == nullptr || found_.kernel_choice.kernel_origin != ChoiceOrigin::built_in_rule ||
      found_.configuration.is_reproducible || streaming_)
    return;
  auto& trial = *kernel_trial_;
  if (!trial) {
    progress_.say("trying kernels");
    const auto shared = configuration_of_trials();
    trial = cg2d::try_kernels(group_, {.source = *source_,
                                       .configuration = shared,
                                       .environment = *found_.environment,
                                       .asked = asked_.tuning,
                                       .vector_count = vector_count_});
  }
  found_.kernel_trial = trial;
  set_grid(found_.configuration.grid);
}

void Session::lay_out(std::string_view usual_cut, int rank_count) {
  found_.configuration = with_cut(found_.configuration, usual_cut);
  source_->set_piece_starts(piece_starts_for(matrix_cut_from(found_.configuration.cut), *source_, group_));
  set_grid(resolve_grid(asked_, source_->facts(), found_.configuration, rank_count));
}

void Session::set_grid(const comm::ProcessGrid& grid) {
  found_.configuration.grid = grid;
  found_.kernel_choice = kernel_for(grid);
  found_.configuration.kernel = found_.kernel_choice.kernel->name;
}

void Session::choose_parts() {
  static_cast<void>(
      transport_of(configuration_of_trials(), group_));  // refuses one that is not available here
  begin_threads();
  try_kernels();
  try_grids();
  cut_by_speed();
}

/// Threads inherit the counters of the rank that starts them.
void Session::begin_threads() {
  if (!wanted_events_.empty() &&
      !asked_.time_phases) {  // the option itself has been refused: the environment's
    found_.warn("PAPI_EVENTS: nothing is counted, since --no-phases leaves no phases to count for");
  }
  auto options = asked_.counters;
  options.has_threads = found_.configuration.thread_count > 1;
  auto setup = set_up_counters(wanted_events_, options, group_);
  auto& counted = found_.counters;
  counted = {.asked = wanted_events_, .refused = setup.refused, .multiplexed = options.multiplexed};
  if (!setup.refused.empty()) {
    found_.warn("--papi: {}", refusal_text(setup.refused));
    progress_.warn(found_.warnings.back());  // refused events are told of before the work begins
  }
  if (setup.counters && !setup.counters->event_names().empty()) {
    counted.counted = setup.counters->event_names();
    counted.counts_all_threads = setup.counters->counts_all_threads();
    counters_ = std::move(setup.counters);
  }
  binding_.emplace(group_, *found_.environment, asked_.bind, found_.configuration.thread_count);
  found_.binding = binding_->result();
}

OpenGridConfig Session::open_grid(const Configuration& configuration) {
  return {.matrix = source_->facts(),
          .configuration = configuration,
          .machine = machine_,
          .kernel_for = [this](const auto& grid) { return kernel_for(grid); },
          .speeds = found_.speed_trial ? found_.speed_trial->speeds : std::vector<double>(),
          .ranks = uneven_ranks()};
}

GridShortlist Session::shortlist() {
  auto configuration = found_.configuration;
  configuration.kernel = asked_.configuration.kernel;  // not that of a grid
  return make_grid_shortlist(group_, open_grid(configuration));
}

/// Where it is to be tried, the grid by a trial of the best few, with its kernel; with --cut speed once the speeds are known.
void Session::try_grids() {
  if (!found_.grid_is_automatic || !asked_.open_grid.tries_grids) return;
  learn_speeds();
  const auto candidates = shortlist();
  if (candidates.grids.size() > 1) progress_.say("trying grids");
  const auto shared = configuration_of_trials();
  found_.grid_trial = cg2d::try_grids(group_, *source_, *found_.environment, open_grid(shared), candidates);
  set_grid(found_.grid_trial->best_grid);
}

/// With the transport over which grids and kernels are compared.
Configuration Session::configuration_of_trials() const {
  auto shared = found_.configuration;
  if (chooses_transport()) shared.transport = comm::default_transport().name;
  return shared;
}

/// By the profile, or a trial with the work's own block.
void Session::choose_transport(const comm::BlockLayout& layout,
                               const std::shared_ptr<BlockProduct>& product) {
  progress_.say("choosing the transport");
  auto trials = block_trial(group_, layout, found_.configuration, product, shift_);
  if (vector_count_ > 1) {  // profiles know times of one right-hand side only
    trials.has_room_for_all = false;
    return try_transports(trials, "profiles have no several right-hand sides");
  }
  auto trial = cg2d::choose_transport(group_, {.source = *source_,
                                               .trial = trials,
                                               .environment = *found_.environment,
                                               .profile = found_.profile,
                                               .profile_source = asked_.profile,
                                               .say = [this](const auto& line) { progress_.say(line); }});
  std::ranges::move(warnings_of(trial, "the trial of transports", asked_.profile, source_->facts()),
                    std::back_inserter(found_.warnings));
  set_transport(std::move(trial));
}

void Session::try_transports(const TransportTrialConfig& trials, std::string_view why_not_kept) {
  auto trial = cg2d::try_transports(group_, trials);
  trial.not_kept_because = why_not_kept;
  set_transport(std::move(trial));
}

void Session::set_transport(TransportTrial trial) {
  found_.configuration.transport = trial.best;
  found_.transport_origin = trial.from_profile ? ChoiceOrigin::profile : ChoiceOrigin::trial;
  found_.transport_trial = std::move(trial);
}

/// With --cut speed: the speeds on the grid of the configuration, from now on known to shortlists, trials of grids and predictions.
/// Whether they are known.
bool Session::learn_speeds() {
  if (found_.configuration.cut != speed_cut) return false;
  if (found_.speed_trial && found_.speed_trial->grid == found_.configuration.grid) return true;
  progress_.say("measuring the speeds of the ranks");
  found_.speed_trial = choose_speeds(group_, {.trial = {.matrix = source_->facts(),
                                                        .configuration = found_.configuration,
                                                        .chosen = found_.kernel_choice,
                                                        .slowness = slowness()},
                                              .environment = *found_.environment,
                                              .binding = *found_.binding,
                                              .profile = found_.profile,
                                              .profile_source = asked_.profile});
  return true;
}

/// With --cut speed: cuts the matrix anew, by speeds on that grid, and sets the places of the ranks.
void Session::cut_by_speed() {
  if (!learn_speeds()) return;
  if (uneven_ranks().slow.empty())
    std::ranges::move(
        warnings_of(*found_.speed_trial, "the measurement of speeds", asked_.profile, source_->facts()),
        std::back_inserter(found_.warnings));
  found_.configuration.grid = found_.speed_trial->grid;
  source_->set_piece_starts(source_->balanced_piece_starts(found_.speed_trial->shares, group_));
}

/// Times as long as products of this rank take on purpose.
double Session::slowness() const {
  const auto factors = factors_at(asked_.features.slow_ranks, group_.size(), 0);
  return factors[static_cast<size_t>(group_.rank())];
}

UnevenRanks Session::uneven_ranks() const {
  UnevenRanks ranks{.slow = asked_.features.slow_ranks};
  if (found_.speed_trial)
    ranks.slowness = own_slowness(found_.speed_trial->speeds, factors_at(ranks.slow, group_.size(), 0));
  return ranks;
}

ConvertedBlock Session::convert(kernels::CsrBlock block, const comm::BlockLayout& layout) {
  mine_.nonzero_count = block.nonzero_count();
  mine_.row_lengths = row_lengths(block, found_.kernel_choice.critical_vector_length);
  mine_.csr_bytes = block.byte_count();
  if (asked_.features.guard.checks)
    agree_on(group_, [&] { checksums_.emplace(block, *found_.kernel_choice.kernel, layout, group_.rank()); });
  auto converted = convert_block(std::move(block),
                                 assembly_plan(group_, layout, found_.configuration, found_.kernel_choice));
  mine_.block_bytes = converted.product->matrix_byte_count();
  return converted;
}

std::unique_ptr<comm::Communicator> Session::communicator_for(const comm::BlockLayout& layout,
                                                              const BlockProduct& product) {
  const auto& configuration = found_.configuration;
  auto communicator = cg2d::connect(product, *comm::find_transport(configuration.transport),
                                    assembly_plan(group_, layout, configuration, found_.kernel_choice));
  mine_.product_work[index_of(Phase::multiply)] =
      work_of_block_product(*communicator, product, mine_.nonzero_count);
  // A streamed matrix is multiplied from buffers, of which there are few.
  const auto panel_bytes = streaming_ ? streaming_->panel_bytes() : 0;
  matrix_bytes_ = panel_bytes > 0 ? panel_bytes : product.matrix_byte_count();
  return communicator;
}

/// The operator over the communicator, and its guard, where one is asked for.
void Session::connect(const comm::BlockLayout& layout, std::shared_ptr<BlockProduct> product) {
  auto communicator = communicator_for(layout, *product);
  found_.is_resolved = true;
  found_.is_symmetric = product->is_symmetric();
  found_.instruction_set = product->instruction_set();
  if (asked_.time_phases) group_.waiter().set_tick_source(&read_cycle_counter);
  assembled_ = std::make_unique<AssembledOperator>(std::move(product), std::move(communicator), group_,
                                                   found_.configuration.thread_count, asked_.time_phases);
  if (slowdown_) assembled_->set_slowdown(&*slowdown_);
  if (const auto& asked = asked_.features.guard; asked.is_used())
    guard_.emplace(asked, group_, layout, *assembled_, std::move(checksums_));
}

/// The command names grid and kernel, since others give other last bits.
std::string Session::last_words() {
  const auto* const saved = saved_checkpoints();
  if (saved == nullptr || !found_.provenance) return {};
  const auto& used = found_.configuration;
  auto command = found_.provenance->command;
  if (found_.grid_is_automatic) command = with_option(std::move(command), "--grid", used.grid.name());
  if (!asked_.configuration.has_kernel()) command = with_option(std::move(command), "--kernel", used.kernel);
  return how_to_go_on(asked_.features.checkpoint, saved->found() != nullptr, saved->last_generation(),
                      saved->facts().failure, std::move(command));
}

/// The figures of this rank, and then those of all in the report.
void Session::gather_results(const MeasuredSolver& solver, double ticks_per_second,
                             const RepeatReport* last) {
  mine_.clocks_per_scope = solver.timer.measure_clocks_per_scope();
  mine_.ticks_per_second = ticks_per_second;
  mine_.resident_bytes = resident_bytes();
  // The system counts the peak by fewer readings than the memory of the moment.
  mine_.peak_bytes = std::max(peak_resident_bytes(), mine_.resident_bytes);
  mine_.huge_page_bytes = huge_page_bytes();
  if (const auto* const saved = saved_checkpoints()) found_.features.checkpoints = saved->facts();
  if (streaming_) streaming_->finish();
  mine_.clocks_per_reading = measurement_->clocks_per_reading();
  if (asked_.measures_limits && found_.environment->ranks_oversubscribed) {
    found_.warn(
        "--roofline: not measured, since ranks outnumber cores and each one's limit would change with the "
        "others; start no more ranks than cores");
  } else if (asked_.measures_limits) {
    progress_.say("measuring what this machine can read and compute");
    if (assembled_) assembled_->release();    // what is read takes as much memory as the matrix
    constexpr int64_t vectors_of_a_step = 5;  // x or q, z, r, p, and p again
    const auto vector_bytes = vectors_of_a_step * static_cast<int64_t>(solver.local_size * sizeof(double));
    mine_.limits = measure_limits(group_, found_.configuration.thread_count,
                                  matrix_bytes_ > 0 ? matrix_bytes_ : vector_bytes, vector_bytes);
    if (streaming_) mine_.limits.storage_bytes_per_s = streaming_->storage_bytes_per_s();
  }
  found_.ranks = group_.gather_one(mine_);
  // Counts that stand still are no result: a warning for each.
  const auto event_count = last != nullptr && group_.rank() == 0 ? found_.counters.counted.size() : 0;
  for (size_t event = 0; event < event_count; ++event) {
    const auto doubt = doubt_about(found_.counters, *last, event);
    if (!doubt.empty()) found_.warn("--papi: {}", doubt);
  }
  if (asked_.trace.path.empty()) return;
  const auto& rank = found_.environment->ranks[static_cast<size_t>(group_.rank())];
  trace_ = measurement_->rank_trace(rank.node, found_.ranks.front().ticks_per_second);
  trace_->is_of_solve = kind_ == WorkKind::solve;
}

// ---------------------------------------------------------------- a timed region

RegionMeasurement::RegionMeasurement(MeasuredSolver solver, comm::RankGroup& group,
                                     const Environment& environment, EventCounters* counters,
                                     int traced_steps)
    : solver_(std::move(solver)), group_(group), noise_(group, environment) {
  if (counters != nullptr) solver_.timer.attach(counters_.emplace(*counters));
  if (traced_steps > 0) trace_bars_.emplace(trace_.emplace(traced_steps));
}

std::vector<OuterStepObserver*> RegionMeasurement::begin(std::vector<OuterStepObserver*> observers) {
  is_traced_ = trace_ && trace_->events().empty();  // the first region
  if (is_traced_) {
    first_mark_ = take_clock_mark(group_);
    solver_.timer.attach(*trace_);
    solver_.observers.add(*trace_bars_);
    // The trace's bars enclose no other observer's work; the counters leave all of it out.
    observers.insert(observers.begin(), &*trace_bars_);
  }
  if (counters_) observers.push_back(this);
  solver_.timer.reset();
  noise_.begin();
  group_.barrier();
  times_ = totals();
  if (counters_) counters_->begin_region();
  stopwatch_ = {};
  start_clocks_ = read_cycle_counter();
  return observers;
}

void RegionMeasurement::outside_of_phases(const std::function<void()>& work) {
  work();
  if (counters_) counters_->leave_out();
}

void RegionMeasurement::end() {
  const uint64_t region_clocks = read_cycle_counter() - start_clocks_;
  const double region_s = stopwatch_.seconds();
  if (counters_) counters_->end_region();
  noise_.end();
  const auto before = std::exchange(times_, totals());
  times_.region_clocks = region_clocks;
  times_.region_s = region_s;
  times_.phases = solver_.timer.records();
  times_.wait_count -= before.wait_count;
  times_.dot_work = times_.dot_work - before.dot_work;
  times_.update_work = times_.update_work - before.update_work;
  for (size_t k = 0; k < before.sent.size(); ++k) {
    times_.sent[k].message_count -= before.sent[k].message_count;
    times_.sent[k].byte_count -= before.sent[k].byte_count;
  }
  if (!is_traced_) return;
  trace_->close();
  solver_.timer.detach(*trace_);
  solver_.observers.remove(*trace_bars_);
  last_mark_ = take_clock_mark(group_);
}

RepeatReport RegionMeasurement::repeat() {
  RepeatReport repeat;
  repeat.time_s = group_.maximum(times_.region_s);
  repeat.ranks = group_.gather_one(times_);
  if (counters_) repeat.counts = group_.gather_one(counters_->counts());
  repeat.quiet = noise_.result();
  return repeat;
}

RankTrace RegionMeasurement::rank_trace(int node, double ticks_per_second) const {
  return {.events = trace_->events(),
          .clocks = ClockMap(first_mark_, last_mark_),
          .origin_clocks = group_.gather_one(first_mark_).front().reference_clocks,
          .ticks_per_second = ticks_per_second,
          .rank = group_.rank(),
          .node = node};
}

/// Counts that only grow; no times.
RankTimes RegionMeasurement::totals() const {
  RankTimes now{};
  now.wait_count = group_.waiter().wait_count();
  now.dot_work = solver_.vectors.dot_work();
  now.update_work = solver_.vectors.update_work();
  for (size_t k = 0; k < now.sent.size(); ++k) now.sent[k] = solver_.sent(static_cast<comm::Operation>(k));
  return now;
}

}  // namespace cg2d
