#include "cg/run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/matrix/matrix_facts.hpp"
#include "cg/matrix/reproducible_sums.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/run_plan.hpp"
#include "cg/tuning/trial.hpp"

namespace cg2d {

Session::Session(const SessionOptions& options, comm::RankGroup& group, const Progress& progress,
                 SessionReport& report, WorkKind kind)
    : options_(options),
      group_(group),
      progress_(progress),
      report_(report),
      features_({.options = options_,
                 .group = group_,
                 .progress = progress_,
                 .report = report_,
                 .mine = mine_,
                 .trace = trace_,
                 .kind = kind}) {
  report_.configuration = options.configuration;
}

void Session::prepare() {
  check_configuration(options_.configuration);
  features_.call(&Feature::prepare);
  const int thread_count = options_.configuration.thread_count;
  report_.environment = inspect_environment(group_, thread_count, options_.memory_limit_bytes);
  if (options_.names_hosts) name_by_host(*report_.environment);
  if (group_.rank() == 0) report_.provenance = inspect_provenance(*report_.environment, options_.names_hosts);
  group_.waiter().set_mode(report_.environment->wait_mode());
  report_.wait_mode = group_.waiter().mode();
  report_.transport_origin = options_.transport_origin;
  if (options_.transport_is_default) {
    report_.configuration = with_default_transport(group_, report_.configuration);
    report_.transport_origin = ChoiceOrigin::built_in_rule;
  }
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
  if (const auto& warning = report_.environment->memory_warning; !warning.empty())
    report_.warnings.push_back(warning);
  report_.profile = load_profile(options_.profile, *report_.environment, group_);
  report_.grid_is_automatic = options_.leaves_grid_open();
}

void Session::set_grid(const comm::ProcessGrid& grid) {
  report_.configuration.grid = grid;
  report_.kernel_choice = kernel_for_(grid);
  report_.configuration.kernel = report_.kernel_choice.kernel->name;
}

void Session::check_reproducible() const {
  if (!report_.configuration.is_reproducible) return;
  agree_on(group_, [&] {
    if (const auto reason = why_not_reproducible_here(); !reason.empty())
      throw RunError(ExitCode::unavailable,
                     fmt::format("--reproducible on: {} (rank {})", reason, group_.rank()));
  });
}

void Session::check_choices() const {
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

void Session::begin_threads() {
  features_.call(&Feature::before_threads);
  binding_.emplace(group_, *report_.environment, options_.bind, report_.configuration.thread_count);
  report_.binding = binding_->result();
}

GridShortlist Session::shortlist(const MatrixFacts& matrix,
                                 const std::optional<MachineDescription>& machine) {
  return make_grid_shortlist(
      group_,
      {.matrix = matrix,
       .configuration = report_.configuration,
       .machine = machine,
       .kernel_for = [&](const auto& grid) -> const kernels::KernelRow& { return *kernel_for_(grid).kernel; },
       .speeds = report_.speed_trial ? report_.speed_trial->speeds : std::vector<double>(),
       .ranks = uneven_ranks()});
}

void Session::try_grids(MatrixSource& source, const GridShortlist& shortlist) {
  if (shortlist.grids.size() > 1) progress_.say("trying grids");
  const auto& environment = *report_.environment;
  const auto shared = configuration_of_trials();
  GridTrialConfig config{.source = source,
                         .configuration = shared,
                         .environment = environment,
                         .kernel_for = kernel_for_,
                         .slowness = features_.slowness()};
  if (report_.speed_trial)
    config.cut_for = [&](const comm::ProcessGrid& grid) -> GridCut {
      const auto shares = agreed_shares_and_places(group_, report_.speed_trial->speeds, grid);
      return {shares.grid, source.balanced_piece_starts(shares.pieces, group_)};
    };
  report_.grid_trial = cg2d::try_grids(group_, config, shortlist);
  set_grid(report_.grid_trial->best_grid);
}

const comm::TransportRow& Session::first_transport() const {
  return chooses_transport() ? comm::default_transport()
                             : *comm::find_transport(report_.configuration.transport);
}

Configuration Session::configuration_of_trials() const {
  auto shared = report_.configuration;
  shared.transport = first_transport().name;
  return shared;
}

void Session::choose_transport(const MatrixSource& source, const comm::BlockLayout& layout,
                               const std::shared_ptr<BlockProduct>& product, std::optional<double> shift) {
  progress_.say("choosing the transport");
  const std::function<void(const std::string&)> say = [&](const std::string& line) { progress_.say(line); };
  const auto& environment = *report_.environment;
  auto trial = cg2d::choose_transport(group_, {.source = source,
                                               .trial = {.layout = layout,
                                                         .configuration = report_.configuration,
                                                         .product = product,
                                                         .shift = shift},
                                               .environment = environment,
                                               .profile = report_.profile,
                                               .profile_source = options_.profile,
                                               .say = say});
  std::ranges::move(warnings_of(trial, "the trial of transports", options_.profile, source.facts()),
                    std::back_inserter(report_.warnings));
  set_transport(std::move(trial));
}

void Session::set_transport(TransportTrial trial) {
  report_.configuration.transport = trial.best;
  report_.transport_origin = trial.from_profile ? ChoiceOrigin::profile : ChoiceOrigin::trial;
  report_.transport_trial = std::move(trial);
}

bool Session::learn_speeds(const MatrixFacts& matrix) {
  if (report_.configuration.cut != speed_cut) return false;
  if (report_.speed_trial && report_.speed_trial->grid == report_.configuration.grid) return true;
  progress_.say("measuring the speeds of the ranks");
  report_.speed_trial = choose_speeds(group_, {.trial = {.matrix = matrix,
                                                         .configuration = report_.configuration,
                                                         .chosen = report_.kernel_choice,
                                                         .slowness = features_.slowness()},
                                               .environment = *report_.environment,
                                               .binding = *report_.binding,
                                               .profile = report_.profile,
                                               .profile_source = options_.profile});
  return true;
}

void Session::cut_by_speed(MatrixSource& source) {
  if (!learn_speeds(source.facts())) return;
  if (uneven_ranks().slow.ranks.empty())
    std::ranges::move(
        warnings_of(*report_.speed_trial, "the measurement of speeds", options_.profile, source.facts()),
        std::back_inserter(report_.warnings));
  report_.configuration.grid = report_.speed_trial->grid;
  source.set_piece_starts(source.balanced_piece_starts(report_.speed_trial->shares, group_));
}

UnevenRanks Session::uneven_ranks() const {
  UnevenRanks ranks{.slow = options_.features.of<SlowRanks>()};
  if (report_.speed_trial)
    ranks.slowness = own_slowness(report_.speed_trial->speeds, factors_at(ranks.slow, group_.size(), 0));
  return ranks;
}

void Session::record_block(const kernels::CsrBlock& block, const comm::BlockLayout& layout) {
  mine_.nonzero_count = block.nonzero_count();
  mine_.row_lengths = row_lengths(block, report_.kernel_choice.critical_vector_length);
  mine_.csr_bytes = block.byte_count();
  features_.call(&Feature::with_block, block, layout);
}

ConvertedBlock Session::convert(kernels::CsrBlock block, const comm::BlockLayout& layout) {
  auto converted = convert_block(std::move(block),
                                 assembly_plan(group_, layout, report_.configuration, report_.kernel_choice));
  mine_.block_bytes = converted.product->matrix_byte_count();
  return converted;
}

/// With this rank's work of a product.
std::unique_ptr<comm::Communicator> Session::communicator_for(const comm::BlockLayout& layout,
                                                              const BlockProduct& product) {
  const auto& configuration = report_.configuration;
  auto communicator = cg2d::connect(product, *comm::find_transport(configuration.transport),
                                    assembly_plan(group_, layout, configuration, report_.kernel_choice));
  mine_.product_work[index_of(Phase::multiply)] =
      work_of_block_product(*communicator, product, mine_.nonzero_count);
  return communicator;
}

std::unique_ptr<AssembledOperator> Session::connect(const comm::BlockLayout& layout,
                                                    std::shared_ptr<BlockProduct> product) {
  auto communicator = communicator_for(layout, *product);
  report_.is_resolved = true;
  report_.is_symmetric = product->is_symmetric();
  report_.instruction_set = product->instruction_set();
  if (options_.time_phases) group_.waiter().set_tick_source(&read_cycle_counter);
  auto assembled =
      std::make_unique<AssembledOperator>(std::move(product), std::move(communicator), group_,
                                          report_.configuration.thread_count, options_.time_phases);
  features_.call(&Feature::with_operator, *assembled);
  return assembled;
}

void Session::reconnect(AssembledOperator& assembled, const comm::BlockLayout& layout,
                        std::shared_ptr<BlockProduct> product) {
  auto communicator = communicator_for(layout, *product);
  assembled.exchange(std::move(product), std::move(communicator));
}

void Session::perform(Workload& workload) {
  workload.choose();
  const CycleCalibration calibration;
  const auto ready = workload.make();
  RegionMeasurement measurement(ready.solver, group_);
  workload.begin(measurement);
  const RepeatReport* last = nullptr;
  {
    // Detached however this ends.
    const std::shared_ptr<void> attached(nullptr, [this](void*) { features_.call(&Feature::detach); });
    features_.call(&Feature::attach, ready, measurement);
    last = workload.iterate();
  }
  gather_results(ready.solver.timer, calibration.ticks_per_second(), last);
  workload.conclude();
}

RepeatReport Session::measured_repeat(const RegionMeasurement& measurement) {
  RepeatReport repeat;
  repeat.time_s = group_.maximum(measurement.times().region_s);
  repeat.ranks = group_.gather_one(measurement.times());
  features_.call(&Feature::end_repeat, repeat);
  return repeat;
}

/// The figures of this rank, and then those of all in the report. last: as Feature::conclude().
void Session::gather_results(PhaseTimer& timer, double ticks_per_second, const RepeatReport* last) {
  mine_.clocks_per_scope = timer.measure_clocks_per_scope();
  mine_.ticks_per_second = ticks_per_second;
  mine_.resident_bytes = resident_bytes();
  // The system counts the peak by fewer readings than the memory of the moment.
  mine_.peak_bytes = std::max(peak_resident_bytes(), mine_.resident_bytes);
  mine_.huge_page_bytes = huge_page_bytes();
  features_.call(&Feature::finish);
  report_.ranks = group_.gather_one(mine_);
  features_.call(&Feature::conclude, last);
}

std::int64_t Session::memory_of_rank() const { return report_.environment->memory_of_rank(group_.rank()); }

}  // namespace cg2d
