#include "cg/tuning/trial.hpp"

#include <cmath>
#include <iterator>

#include "cg/machine/noise_monitor.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_segment.hpp"

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

}  // namespace

std::string measure_with_retries(comm::RankGroup& group, const RetriedMeasurement& measurement) {
  // A quiet machine's quartiles lie 1 to 10 % apart, and 20 % where virtual machines share its caches.
  constexpr double most_spread = 0.3;
  auto& record = measurement.record;
  for (int attempt = 1;; ++attempt) {
    NoiseMonitor monitor(group, measurement.environment);
    monitor.begin();
    measurement.measure();
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
    const auto fault = group.broadcast(measurement.why_unphysical());
    const auto& reason = !fault.empty() || measurement.keeps_disturbed ? fault : record.disturbance;
    if (reason.empty()) return {};
    if (attempt >= measurement.most_attempts)
      return fmt::format(
          "measured {}, and refused: {}; nothing is saved: try again when the machine is quiet{}",
          format_count(attempt, "time"), reason, fault.empty() ? ", or keep it by --keep-disturbed" : "");
    measurement.say(fmt::format("{}: once more, since {}", measurement.name, reason));
  }
}

void measure_or_refuse(comm::RankGroup& group, const RetriedMeasurement& measurement) {
  const auto refusal = measure_with_retries(group, measurement);
  if (refusal.empty()) return;
  measurement.show();
  throw RunError(ExitCode::try_again, "{}: {}", measurement.name, refusal);
}

std::vector<std::string> warnings_of(const KeptResult& kept, std::string_view measurement,
                                     const ProfileSource& source, const MatrixFacts& matrix) {
  std::vector<std::string> warnings;
  if (!kept.not_kept_because.empty() && source.is_used)
    warnings.push_back(fmt::format("{} is not kept: {}", measurement, kept.not_kept_because));
  const auto remark = kept.kept_in.empty() ? std::string() : remark_on(kept.measured, date_now());
  if (!remark.empty()) {
    warnings.push_back(
        fmt::format("{} was {}; cg2d tune --remove {} renews it", measurement, remark, matrix.key.name));
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
        transport.make(group, layout.with_elements_times(product->vector_count()),
                       with_page_memory(communicator_options(configuration, product->is_symmetric())));
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
      } catch (const comm::SharedMemoryError& error) {  // the others may serve
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
  const auto& cases = profile.processor.transports;
  const auto known = std::ranges::find_if(cases, [&](const auto& timed) { return timed.is_like(wanted); });
  if (known == cases.end()) return std::nullopt;
  TransportTrial trial;
  trial.from_profile = true;
  trial.kept_in = profile.path;
  trial.measured = known->measured;
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
  const auto refusal = measure_with_retries(
      group, {.name = "the trial of transports",
              .environment = config.environment,
              .keeps_disturbed = source.takes_disturbed(),
              .say = config.say,
              .record = trial.measured,
              .measure = [&] { trial = try_transports(group, trial_config); },
              .why_unphysical = [&] { return why_unphysical_steps(trial.tried, nonzeros_per_thread); }});
  trial.not_kept_because = refusal;
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

}  // namespace cg2d
