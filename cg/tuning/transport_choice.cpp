#include "cg/tuning/transport_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {
namespace {

constexpr RaceLimits transport_race{
    .fewest_rounds = 1, .most_rounds = 9, .budget_s = 0.5, .hopeless_factor = 1.5, .shortest_turn_s = 2e-3};

/// The candidates that can be made: where the ranks cannot share as much memory as a transport needs, the others may serve.
std::vector<NamedCandidate> make_candidates(const TransportTrialConfig& config,
                                            std::span<const comm::TransportRow* const> transports,
                                            TransportTrial& trial) {
  std::vector<NamedCandidate> candidates;
  for (const auto* transport : transports) {
    const std::string name(transport->name);
    try {
      candidates.push_back({.name = name, .candidate = config.make(*transport)});
    } catch (const comm::SharedMemoryError& error) {
      trial.skipped.push_back({.name = name, .reason = error.what()});
    }
  }
  return candidates;
}

/// Why a trial would only cost time; empty where it is worth it. Class S by put on 4 hosts with 2 cores for all took 7.5 s, by two-sided
/// 0.4 s (2026-11). Collective.
std::string why_hopeless(const comm::TransportRow& transport, const Configuration& configuration,
                         comm::RankGroup& group) {
  if (!transport.needs_calls_of_target || group.waiter().mode() != comm::WaitMode::yield) return {};
  if (comm::make_node_map(group, configuration.ranks_per_node).node_count() == 1) return {};
  return "between nodes it waits inside of MPI, and keeps its core from the ranks that outnumber the cores";
}

/// The transports that can serve this group in this configuration; the others go to `skipped` with their
/// reasons. Collective.
std::vector<const comm::TransportRow*> available_transports(comm::RankGroup& group,
                                                            const Configuration& configuration,
                                                            std::vector<SkippedCandidate>& skipped) {
  auto transports = transports_for(group);
  for (auto& [name, reason] : transports.left_out)
    skipped.push_back({.name = name, .reason = std::move(reason)});
  std::erase_if(transports.available, [&](const auto* transport) {
    auto with_it = configuration;
    with_it.transport = transport->name;
    auto reason = why_refused(with_it);
    if (reason.empty()) reason = why_hopeless(*transport, configuration, group);
    if (reason.empty()) return false;
    skipped.push_back({.name = with_it.transport, .reason = std::move(reason)});
    return true;
  });
  return std::move(transports.available);
}

TransportConditions conditions_of(comm::RankGroup& group, const TransportChoiceConfig& config) {
  TransportConditions conditions{.matrix = config.source.facts().key,
                                 .configuration = config.trial.configuration,
                                 .node_count = static_cast<int>(config.environment.nodes.size()),
                                 .wait_mode = group.waiter().mode()};
  conditions.configuration.transport = automatic_choice;
  return conditions;
}

std::string why_unphysical(const TransportTrial& trial, const TransportChoiceConfig& config) {
  const auto& configuration = config.trial.configuration;
  const double nonzeros_per_thread =
      config.source.facts().nonzero_count / configuration.grid.rank_count() / configuration.thread_count;
  for (const auto& one : trial.tried) {
    if (auto fault = cg2d::why_unphysical(one.name, one.step_s, nonzeros_per_thread); !fault.empty())
      return fault;
  }
  return {};
}

/// Beside the block, and twice: the estimate is of one transport's vectors.
bool has_room_for_all(comm::RankGroup& group, const TransportChoiceConfig& config) {
  const auto plan = plan_memory(config.source, config.trial.configuration, config.trial.layout, group.rank());
  const auto bytes = plan.total_bytes() + 2 * plan.vector_bytes * std::ssize(comm::transport_table());
  const auto& node = config.environment.node_of(group.rank());
  const bool fits = bytes * node.rank_count < node.memory.available_bytes;
  return group.minimum(std::int64_t{fits}) != 0;
}

}  // namespace

std::string describe_transport_trial(const TransportTrial& trial) {
  return fmt::format("{}; {}", trial.text(), describe_origin(trial, trial.duration_s));
}

TransportTrialConfig block_trial(comm::RankGroup& group, const BlockTrialConfig& config) {
  const auto make = [&group, config](const comm::TransportRow& transport) -> std::unique_ptr<TrialCandidate> {
    const auto options =
        with_page_memory(communicator_options(config.configuration, config.product->is_symmetric()));
    return std::make_unique<TrialSolver>(
        std::make_unique<AssembledOperator>(
            config.product,
            transport.make(group, config.layout.with_elements_times(config.product->vector_count()), options),
            group, config.configuration.thread_count),
        config.shift);
  };
  return {.configuration = config.configuration,
          .make = make,
          .step_count = config.shift ? cg_steps_per_solve : TrialSolver::few_steps};
}

TransportTrial try_transports(comm::RankGroup& group, const TransportTrialConfig& config) {
  const Stopwatch watch;
  TransportTrial trial;
  const auto available = available_transports(group, config.configuration, trial.skipped);
  const TrialRace race{.thing = "transport", .step_count = config.step_count, .limits = transport_race};
  std::optional<double> zeta;
  if (config.has_room_for_all) {
    race_candidates(group, make_candidates(config, available, trial), race, trial, zeta);
  } else {
    for (const auto* transport : available)
      race_candidates(group, make_candidates(config, {&transport, 1}, trial), race, trial, zeta);
    trial.verdict = {};  // none was measured in turns
  }
  if (trial.tried.empty()) {
    throw RunError(ExitCode::unavailable,
                   "--transport auto: no transport can serve here; name one to see why");
  }
  rank_by_time(trial.tried, trial.verdict);
  trial.best = trial.tried.front().name;
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

std::optional<TransportTrial> known_transports(comm::RankGroup& group, const LoadedProfile& profile,
                                               const TransportConditions& conditions) {
  const auto known = std::ranges::find(profile.transports, conditions, &TransportCase::conditions);
  if (known == profile.transports.end()) return std::nullopt;
  TransportTrial trial;
  trial.from_profile = true;
  trial.kept_in = profile.path;
  trial.measured = known->measured;
  // In the order of the file, whose first was taken when it was written.
  const auto available = available_transports(group, conditions.configuration, trial.skipped);
  std::ranges::copy_if(known->transports, std::back_inserter(trial.tried), [&](const TimedCandidate& timed) {
    return std::ranges::find(available, timed.name, &comm::TransportRow::name) != available.end();
  });
  if (trial.tried.empty() || trial.tried.size() < available.size()) return std::nullopt;
  trial.best = trial.tried.front().name;
  return trial;
}

void keep_transports(comm::RankGroup& group, const ProfileSource& source, const Environment& environment,
                     const TransportConditions& conditions, TransportTrial& trial) {
  keep_result(
      group, source, common_processor(environment),
      {.transports = {{.conditions = conditions, .transports = trial.tried, .measured = trial.measured}}},
      trial);
}

TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceConfig& config) {
  const auto conditions = conditions_of(group, config);
  if (auto known = known_transports(group, config.profile, conditions)) return *std::move(known);
  auto trial_config = block_trial(group, config.trial);
  trial_config.has_room_for_all = has_room_for_all(group, config);
  const Stopwatch watch;
  const auto& source = config.profile_source;
  auto trial = with_record(measure_up_to_three_times(
      group,
      {.environment = config.environment,
       .thread_count = config.trial.configuration.thread_count,
       .keeps_disturbed = source.keeps_disturbed || !source.is_used,
       .say = config.say},
      "the trial of transports", [&] { return try_transports(group, trial_config); },
      [&](const auto& tried) { return why_unphysical(tried, config); }));
  trial.duration_s = group.maximum(watch.seconds());
  keep_transports(group, source, config.environment, conditions, trial);
  return trial;
}

void describe(Members& m, TransportTrial& trial) {
  describe_origin(m, trial);
  describe_tried(m, "transport", trial);
  describe_skipped(m, "transport", trial);
  describe_verdict(m, trial);
  m("duration_s", trial.duration_s, at_least(0, "0 where nothing was measured."));
  describe_place(m, trial);
}

}  // namespace cg2d
