#include "cg/tuning/trial.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/node_map.hpp"

namespace cg2d {
namespace {

/// The transports that can serve this group in this configuration; the others go to `skipped` with their
/// reasons. Collective.
std::vector<const comm::TransportRow*> available_transports(comm::RankGroup& group,
                                                            const Configuration& configuration,
                                                            Named<std::string>& skipped) {
  auto transports = transports_for(group);
  skipped = std::move(transports.left_out);
  std::erase_if(transports.available, [&](const auto* transport) {
    auto with_it = configuration;
    with_it.transport = transport->name;
    auto reason = why_refused(with_it);
    // A trial would only cost time: class S by put on 4 hosts with 2 cores for all took 7.5 s, by two-sided 0.4 s (2026-11).
    if (reason.empty() && transport->needs_calls_of_target &&
        group.waiter().mode() == comm::WaitMode::yield &&
        comm::make_node_map(group, configuration.ranks_per_node).node_count() > 1)
      reason =
          "between nodes it waits inside of MPI, and keeps its core from the ranks that outnumber the cores";
    if (reason.empty()) return false;
    skipped.emplace_back(with_it.transport, std::move(reason));
    return true;
  });
  return std::move(transports.available);
}

KeptResult known_result(const LoadedProfile& profile, const MeasurementRecord& measured) {
  return {.from_profile = true, .measured = measured, .kept_in = profile.path};
}

// ---------------------------------------------------------------- --cut speed: its samples, and what the profile knows

constexpr int most_speed_rounds = 3;
constexpr double least_gain = 1.02;
constexpr double most_sample_nonzeros = 1e6;
constexpr double another_shape = 0.05;  // of each length; speeds change with it by less than least_gain
constexpr int window_count = 5;
constexpr double window_s = 0.008;
constexpr double shared_window_s = 0.025;  // several time slices, where ranks share a core

/// A block of rows of one length.
struct SampleShape {
  double row_length = 1.0;
  double row_count = 1.0;
  double columns = 1.0;

  bool is_near(const SampleShape& other) const {
    const auto are_near = [](double a, double b) {
      return std::abs(a - b) <= another_shape * std::max(a, b);
    };
    return are_near(row_length, other.row_length) && are_near(row_count, other.row_count) &&
           are_near(columns, other.columns);
  }
};

/// The shape and the mean length of rows that a rank's block has with these shares.
SampleShape sample_shape(const SpeedTrialConfig& config, std::span<const double> shares,
                         const comm::ProcessGrid& grid, int rank) {
  const auto order = static_cast<double>(config.matrix.key.order);
  const auto layout = comm::BlockLayout(grid, comm::piece_starts_of_shares(config.matrix.key.order, shares));
  const auto rows = static_cast<double>(layout.rows_of(rank).size());
  const auto columns = static_cast<double>(layout.columns_of(rank).size());
  double row_length = config.matrix.nonzero_count / order * columns / order;
  if (config.chosen.kernel->stores_half()) row_length *= 0.5;
  const double length = std::max(std::round(row_length), 1.0);
  // As many nonzeros as the block has, also where its rows have less than one.
  const double row_count =
      std::clamp(rows * row_length / length, 1.0, std::max(most_sample_nonzeros / length, 1.0));
  return {.row_length = length, .row_count = row_count, .columns = std::max(columns, 1.0)};
}

/// Nonzeros per second of this rank's products, while all ranks compute, in a few windows.
std::vector<double> measured_speeds(comm::RankGroup& group, const std::function<void()>& product,
                                    double nonzeros, double slowness) {
  product();
  Slowdown slowdown(std::vector{SlowRank{.factor = slowness}});
  const double least_s = group.waiter().mode() == comm::WaitMode::yield ? shared_window_s : window_s;
  std::vector<double> speeds;
  for (int window = 0; window < window_count; ++window) {
    group.barrier();
    const Stopwatch watch;
    double count = 0.0;
    double seconds = 0.0;
    do {
      const Stopwatch of_product;
      slowdown.begin_product();
      product();
      slowdown.extend(of_product);
      ++count;
      seconds = watch.seconds();
    } while (seconds < least_s);
    speeds.push_back(count * nonzeros / seconds);
  }
  return speeds;
}

/// Their sum is 1.
std::vector<double> even_shares(const comm::ProcessGrid& grid) {
  std::vector shares(static_cast<size_t>(grid.rank_count()), 1.0 / grid.rank_count());
  return shares;
}

/// The three speeds of all ranks together, from those of each, their places and the shares.
void complete(SpeedTrial& trial) {
  const auto& grid = trial.grid;
  trial.ideal = std::accumulate(trial.speeds.begin(), trial.speeds.end(), 0.0);
  trial.reachable = comm::speed_of_shares(trial.shares, trial.speeds, grid);
  trial.even = comm::speed_of_shares(even_shares(grid), trial.speeds, grid);
}

std::optional<SpeedTrial> known_speeds(const LoadedProfile& profile, const SpeedCase& wanted) {
  const auto known = find_like(profile.processor.speeds, wanted);
  if (known == profile.processor.speeds.end()) return std::nullopt;
  SpeedTrial trial;
  static_cast<KeptResult&>(trial) = known_result(profile, known->measured);
  std::vector<int> rank_at;
  for (const auto& rank : known->ranks) {
    trial.speeds.push_back(rank.nonzeros_per_s);
    trial.shares.push_back(rank.share);
    rank_at.push_back(rank.rank_here);
  }
  trial.grid = wanted.configuration.grid.in_order(rank_at);
  complete(trial);
  return trial;
}

}  // namespace

std::string measure_with_retries(comm::RankGroup& group, const RetriedMeasurement& measurement) {
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  auto& record = measurement.record;
  for (int attempt = 1;; ++attempt) {
    NoiseMonitor monitor(group, measurement.environment);
    monitor.begin();
    auto fault = measurement.measure();
    monitor.end();
    auto quiet = monitor.result();
    record.attempts = attempt;
    record.switches_per_s = quiet.switches_per_s;
    record.steal_share = quiet.steal_share.value_or(0.0);
    record.spread = group.maximum(record.spread);
    if (record.spread > most_spread)
      quiet.disturbances.push_back(fmt::format("the repeats' quartiles lie {:.0f} % apart (at most {:.0f} %)",
                                               100.0 * record.spread, 100.0 * most_spread));
    record.disturbance = quiet.reason();
    record.date = group.broadcast(date_now());
    fault = group.broadcast(std::move(fault));
    const auto& reason = !fault.empty() || measurement.keeps_disturbed ? fault : record.disturbance;
    if (reason.empty()) return {};
    if (attempt >= measurement.most_attempts)
      return fmt::format(
          "measured {}, and refused: {}; nothing is saved: try again when the machine is quiet{}",
          format_count(attempt, "time"), reason, fault.empty() ? ", or keep it by --keep-disturbed" : "");
    measurement.say(fmt::format("{}: once more, since {}", measurement.name, reason));
  }
}

std::vector<std::string> warnings_of(const KeptResult& kept, std::string_view measurement,
                                     const ProfileSource& source, const MatrixFacts& matrix) {
  std::vector<std::string> warnings;
  if (!kept.not_kept_because.empty() && source.is_used)
    warnings.push_back(fmt::format("{} is not kept: {}", measurement, kept.not_kept_because));
  const auto remark = kept.kept_in.empty() ? std::string() : remark_on(kept.measured, date_now());
  if (!remark.empty()) {
    warnings.push_back(fmt::format(
        "{} was {}; it is measured anew after cg2d tune --remove {}{}, which forgets all of this matrix",
        measurement, remark, matrix.key.name, source.path.empty() ? "" : " --profile " + source.path));
  }
  return warnings;
}

void keep_result(comm::RankGroup& group, const ProfileSource& source,
                 const std::optional<std::string>& processor, const ProcessorProfile& found,
                 KeptResult& kept) {
  auto& reason = kept.not_kept_because;
  if (reason.empty() && !source.is_used) reason = "--no-profile";
  if (reason.empty() && !processor) reason = "the nodes have different processors";
  if (!reason.empty()) return;
  if (group.rank() == 0) {
    try {
      const auto path = writable_profile(source);
      add_to_profile(path, *processor, found);
      kept.kept_in = path;
    } catch (const RunError& error) {
      reason = error.what();
    }
  }
  kept.kept_in = group.broadcast(kept.kept_in);
  reason = group.broadcast(reason);
}

void describe_kept(Members& m, KeptResult& kept) {
  std::string from = kept.from_profile ? "profile" : "measurement";
  auto kept_in = kept.kept_in.empty() ? std::nullopt : std::optional(kept.kept_in);
  m("from", from, meaning("Whether it was measured now, or is known from an earlier run."));
  m("duration_s", kept.duration_s, at_least(0, "0 where nothing was measured."));
  m("kept_in", kept_in, or_null("The tuning profile; null: none."));
  m("not_kept_because", kept.not_kept_because, meaning("Empty where kept."));
  if (!m.reads()) return;
  kept.from_profile = from == "profile";
  kept.kept_in = kept_in.value_or("");
}

void race_candidates(comm::RankGroup& group, const std::vector<TrialCandidate>& candidates,
                     const TrialRace& race, Trial& trial) {
  std::vector<double> zetas(candidates.size());
  std::vector<std::function<void()>> works;
  for (size_t k = 0; k < candidates.size(); ++k)
    works.emplace_back([&zeta = zetas[k], &work = candidates[k].work] { zeta = work(); });
  const auto result = cg2d::race(group, works, race.limits);
  const auto seconds = result.medians();
  for (size_t k = 0; k < candidates.size(); ++k) {
    const double zeta = zetas[k];
    if (!trial.zeta) trial.zeta = zeta;
    const double expected = *trial.zeta;
    // Where all have NaN they compare none, or computed it alike, and the run itself reports it.
    const bool agrees = std::abs(zeta - expected) <= Problem::tolerance * std::abs(expected) ||
                        (std::isnan(zeta) && std::isnan(expected));
    if (!agrees) {
      throw RunError(ExitCode::verification_failed,
                     "{} {}: zeta {:.13f} differs from {:.13f} of the first {}", race.thing,
                     candidates[k].name, zeta, expected, race.thing);
    }
    trial.tried.push_back({.name = candidates[k].name, .step_s = seconds[k] / race.step_count});
  }
  auto& spread = trial.measured.spread;
  spread = std::max(spread, result.spread());
  if (!candidates.empty()) trial.verdict = race_verdict(result.turns, names_of(candidates));
}

void rank_by_time(Trial& trial) {
  std::ranges::stable_sort(trial.tried, {}, [&](const TimedCandidate& one) {
    return one.name == trial.verdict.candidate ? 0.0 : one.step_s;
  });
}

TrialWork trial_work(std::shared_ptr<AssembledOperator> assembled, std::optional<double> shift) {
  const auto iteration = std::make_shared<NpbIteration>(*assembled, shift.value_or(0.0));
  return [assembled = std::move(assembled), iteration, is_whole = shift.has_value()] {
    if (!is_whole) {
      iteration->steps(few_trial_steps);
      return std::nan("");
    }
    iteration->reset();
    return iteration->outer_step().zeta;
  };
}

TriedBlock make_tried_block(comm::RankGroup& group, const MatrixSource& source,
                            const Configuration& configuration, const ChosenKernel& chosen,
                            bool times_phases) {
  const auto layout = make_layout(source.facts(), configuration);
  auto block = source.build(layout, group, configuration.thread_count).block;
  const auto nonzero_count = block.nonzero_count();
  auto plan = assembly_plan(group, layout, configuration, chosen);
  plan.sums_reproducibly = false;  // trials time the usual sums
  return {assemble(std::move(block), *comm::find_transport(configuration.transport), plan, times_phases),
          nonzero_count};
}

void describe_race(Members& m, std::string_view thing, Trial& trial) {
  m.list("tried", trial.tried, {}, [&](TimedCandidate& one, size_t /*index*/) {
    m(thing, one.name, not_empty());
    m("step_s", one.step_s, positive("Time of a CG step."));
  });
  auto verdict = trial.verdict.candidate.empty() ? std::nullopt : std::optional(trial.verdict);
  m("verdict", verdict,
    or_null("How sure the choice of a trial is; null where nothing was measured in turns."));
  if (m.reads()) trial.verdict = verdict.value_or(RaceVerdict{});
}

void describe_skipped(Members& m, std::string_view thing, Trial& trial) {
  m.list("skipped", trial.skipped, meaning("Those that cannot serve here, or would take too long."),
         [&](auto& one, size_t /*index*/) {
           m(thing, one.first, not_empty());
           m("reason", one.second, not_empty());
         });
}

TransportTrialConfig block_trial(comm::RankGroup& group, const comm::BlockLayout& layout,
                                 const Configuration& configuration,
                                 const std::shared_ptr<BlockProduct>& product, std::optional<double> shift) {
  const auto make = [&, product, shift](const comm::TransportRow& transport) -> TrialWork {
    auto communicator =
        make_communicator(transport, group, layout.with_elements_times(product->vector_count()),
                          communicator_options(configuration, product->is_symmetric()));
    return trial_work(std::make_shared<AssembledOperator>(product, std::move(communicator), group,
                                                          configuration.thread_count),
                      shift);
  };
  return {.configuration = configuration,
          .make = make,
          .step_count = shift ? cg_steps_per_solve : few_trial_steps};
}

TransportTrial try_transports(comm::RankGroup& group, const TransportTrialConfig& config) {
  const Stopwatch watch;
  TransportTrial trial;
  const auto available = available_transports(group, config.configuration, trial.skipped);
  const TrialRace race{.thing = "transport",
                       .step_count = config.step_count,
                       .limits = {.fewest_rounds = 1,
                                  .most_rounds = 9,
                                  .budget_s = 0.5,
                                  .hopeless_factor = 1.5,
                                  .shortest_turn_s = 2e-3}};
  const auto at_once = config.has_room_for_all ? available.size() : 1;
  for (size_t first = 0; first < available.size(); first += at_once) {
    std::vector<TrialCandidate> candidates;
    for (const auto* transport : std::span(available).subspan(first, at_once)) {
      const std::string name(transport->name);
      try {
        candidates.push_back({.name = name, .work = config.make(*transport)});
      } catch (const RunError& error) {
        if (error.code() != ExitCode::memory) throw;  // else the others may serve
        trial.skipped.emplace_back(name, error.what());
      }
    }
    race_candidates(group, candidates, race, trial);
  }
  if (!config.has_room_for_all) trial.verdict = {};  // none was measured in turns
  if (trial.tried.empty()) {
    throw RunError(ExitCode::unavailable,
                   "--transport auto: no transport can serve here; name one to see why");
  }
  rank_by_time(trial);
  trial.best = trial.tried.front().name;
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::optional<TransportTrial> known_transports(comm::RankGroup& group, const LoadedProfile& profile,
                                               const TransportCase& wanted) {
  const auto known = find_like(profile.processor.transports, wanted);
  if (known == profile.processor.transports.end()) return std::nullopt;
  TransportTrial trial;
  static_cast<KeptResult&>(trial) = known_result(profile, known->measured);
  // In the order of the file, whose first was taken when it was written.
  const auto available = available_transports(group, wanted.configuration, trial.skipped);
  std::ranges::copy_if(known->transports, std::back_inserter(trial.tried), [&](const TimedCandidate& timed) {
    return std::ranges::find(available, timed.name, &comm::TransportRow::name) != available.end();
  });
  if (trial.tried.empty() || trial.tried.size() < available.size()) return std::nullopt;
  trial.best = trial.tried.front().name;
  return trial;
}

TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceConfig& config) {
  const auto& configuration = config.trial.configuration;
  TransportCase mine{.matrix = config.source.facts().key,
                     .configuration = configuration,
                     .node_count = static_cast<int>(config.environment.nodes.size()),
                     .wait_mode = group.waiter().mode()};
  mine.configuration.transport = automatic_choice;
  if (auto known = known_transports(group, config.profile, mine)) return *std::move(known);
  const auto plan = plan_memory(config.source, configuration,
                                make_layout(config.source.facts(), configuration), group.rank());
  // Beside the block, and twice: the estimate is of one transport's vectors.
  const auto bytes = plan.total_bytes() + 2 * plan.vector_bytes * std::ssize(comm::transport_table());
  const auto& node = config.environment.node_of(group.rank());
  const bool has_room = bytes * node.rank_count < node.memory.available_bytes;
  auto trial_config = config.trial;
  trial_config.has_room_for_all = group.minimum(int64_t{has_room}) != 0;
  const double nonzeros_per_thread =
      nonzeros_per_rank(config.source.facts(), configuration.grid) / configuration.thread_count;
  const Stopwatch watch;
  const auto& source = config.profile_source;
  TransportTrial trial;
  const auto measure = [&] {
    trial = try_transports(group, trial_config);
    return why_unphysical_steps(trial.tried, nonzeros_per_thread);
  };
  trial.not_kept_because = measure_with_retries(group, {.name = "the trial of transports",
                                                        .environment = config.environment,
                                                        .keeps_disturbed = source.takes_disturbed(),
                                                        .say = config.say,
                                                        .record = trial.measured,
                                                        .measure = measure});
  trial.duration_s = group.maximum(watch.seconds());
  mine.transports = trial.tried;
  mine.measured = trial.measured;
  keep_result(group, source, common_processor(config.environment), {.transports = {mine}}, trial);
  return trial;
}

void describe(Members& m, TransportTrial& trial) {
  describe_kept(m, trial);
  describe_race(m, "transport", trial);
  describe_skipped(m, "transport", trial);
}

// ---------------------------------------------------------------- --cut speed

SpeedTrial measure_speeds(comm::RankGroup& group, const SpeedTrialConfig& config) {
  const Stopwatch watch;
  const auto own_grid = config.configuration.grid;
  const auto even = even_shares(own_grid);
  SpeedTrial trial;
  trial.grid = own_grid;
  trial.shares = even;
  const auto speed_of = [&](std::span<const double> shares, const comm::ProcessGrid& grid) {
    return comm::speed_of_shares(shares, trial.speeds, grid);
  };
  auto shape = sample_shape(config, trial.shares, trial.grid, group.rank());
  while (trial.round_count < most_speed_rounds) {
    ++trial.round_count;
    auto block = constant_rows_block(std::llround(shape.row_length), std::llround(shape.row_count),
                                     std::llround(shape.columns));
    const double nonzeros =
        (config.chosen.kernel->stores_half() ? 2.0 : 1.0) * static_cast<double>(block.nonzero_count());
    const auto product = local_product(*config.chosen.kernel, std::move(block),
                                       config.configuration.thread_count, config.chosen.tuning);
    const auto mine = measured_speeds(group, product, nonzeros, config.slowness);
    auto& spread = trial.measured.spread;
    spread = std::max(spread, spread_of_repeats(mine));
    trial.speeds = group.gather_one(middle_of(mine));
    const auto found = agreed_shares_and_places(group, trial.speeds, trial.grid);
    if (found.reachable < speed_of(trial.shares, trial.grid) * least_gain) break;
    trial.shares = found.pieces;
    trial.grid = found.grid;
    const auto before = std::exchange(shape, sample_shape(config, trial.shares, trial.grid, group.rank()));
    if (group.minimum(int64_t{shape.is_near(before)}) != 0) break;
  }
  // Where speeds vary more than they differ, the last ones may contradict the shares that others led to.
  if (speed_of(trial.shares, trial.grid) < speed_of(even, own_grid)) {
    trial.shares = even;
    trial.grid = own_grid;
  }
  complete(trial);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::vector<std::string> places_of(const Environment& environment, const BindingResult& binding) {
  std::vector<std::string> places;
  for (size_t rank = 0; rank < binding.ranks.size(); ++rank) {
    auto threads = binding.ranks[rank];
    threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
    places.push_back(
        fmt::format("{} {}", environment.node_of(static_cast<int>(rank)).host, fmt::join(threads, " ")));
  }
  return places;
}

SpeedTrial choose_speeds(comm::RankGroup& group, const SpeedChoiceConfig& config) {
  if (group.maximum(config.trial.slowness) > 1.0) {
    auto slowed = measure_speeds(group, config.trial);
    slowed.not_kept_because = "ranks are slowed on purpose";
    return slowed;
  }
  SpeedCase mine{.matrix = config.trial.matrix.key, .configuration = config.trial.configuration};
  for (auto& place : places_of(config.environment, config.binding))
    mine.ranks.push_back({.place = std::move(place)});
  if (auto known = known_speeds(config.profile, mine)) return *std::move(known);
  const Stopwatch watch;
  SpeedTrial trial;
  const auto& source = config.profile_source;
  const auto measure = [&] {
    trial = measure_speeds(group, config.trial);
    const double fastest = std::ranges::max(trial.speeds);
    return fastest <= config.trial.configuration.thread_count / PhysicalBounds::least_element_s
               ? std::string()
               : fmt::format("{:.4g} nonzeros per s are beyond what a machine can do", fastest);
  };
  trial.not_kept_because = measure_with_retries(group, {.name = {},
                                                        .environment = config.environment,
                                                        .keeps_disturbed = source.takes_disturbed(),
                                                        .most_attempts = 1,
                                                        .record = trial.measured,
                                                        .measure = measure});
  for (size_t rank = 0; rank < mine.ranks.size(); ++rank) {
    mine.ranks[rank].nonzeros_per_s = trial.speeds[rank];
    mine.ranks[rank].share = trial.shares[rank];
    mine.ranks[rank].rank_here = trial.grid.rank_at_place(static_cast<int>(rank));
  }
  mine.measured = trial.measured;
  keep_result(group, source, config.environment.nodes.front().processor_with_caches(), {.speeds = {mine}},
              trial);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::vector<double> agreed_shares(comm::RankGroup& group, std::span<const double> speeds,
                                  const comm::ProcessGrid& grid) {
  const auto mine = comm::shares_in_place(speeds, grid);
  return group.gather_all(std::span<const double>(mine)).front();
}

comm::SpeedShares agreed_shares_and_places(comm::RankGroup& group, std::span<const double> speeds,
                                           const comm::ProcessGrid& grid) {
  auto mine = comm::shares_on_grid(speeds, grid);
  const auto rank_at = mine.grid.ranks_by_place();
  mine.pieces = group.gather_all(std::span<const double>(mine.pieces)).front();
  mine.grid = grid.in_order(group.gather_all(std::span<const int>(rank_at)).front());
  mine.reachable = comm::speed_of_shares(mine.pieces, speeds, mine.grid);
  return mine;
}

std::vector<double> own_slowness(std::span<const double> speeds, std::span<const double> factors) {
  std::vector<double> slowness;
  for (size_t rank = 0; rank < speeds.size(); ++rank)
    slowness.push_back(1.0 / (speeds[rank] * factors[rank]));
  const double mean =
      std::accumulate(slowness.begin(), slowness.end(), 0.0) / static_cast<double>(speeds.size());
  for (double& one : slowness) one /= mean;
  return slowness;
}

void describe(Members& m, SpeedTrial& trial) {
  describe_kept(m, trial);
  m("ideal_nonzeros_per_s", trial.ideal, positive("Sum of the ranks' own speeds."));
  m("reachable_nonzeros_per_s", trial.reachable, positive("With these shares on this grid."));
  m("even_nonzeros_per_s", trial.even, positive("With even pieces on it."));
  m("speeds", trial.speeds, positive("Nonzeros per second of each rank, while all compute."));
  m("shares", trial.shares, positive("Of the nonzeros, for each piece."));
  auto rank_at = trial.grid.ranks_by_place();
  m("rank_at", rank_at, at_least(0, "The rank at each place of the grid, along its process rows."));
  if (m.reads()) {
    try {
      trial.grid =
          comm::ProcessGrid{.columns = static_cast<int>(rank_at.size()), .rows = 1}.in_order(rank_at);
    } catch (const std::invalid_argument&) {
      m.complain(fmt::format("{} must have each rank once", m.where("rank_at")));
    }
  }
  m("rounds", trial.round_count, at_least(0, "Of measuring and cutting; 0 where nothing was measured."));
}

}  // namespace cg2d
