#include "cg/tuning/transport_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/timing/measurement_quality.hpp"
#include "cg/tuning/careful_measurement.hpp"
#include "cg/tuning/grid_solver.hpp"
#include "cg/tuning/profile_file.hpp"
#include "cg/tuning/run_plan.hpp"
#include "comm/node_map.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {
namespace {

constexpr RaceLimits transport_race{
    .fewest_rounds = 1, .most_rounds = 9, .budget_s = 0.5, .hopeless_factor = 1.5, .shortest_turn_s = 2e-3};

/// Iterations with this rank's block.
class BlockContestant final : public TransportContestant {
 public:
  /// Throws SharedMemoryError, on all ranks alike.
  BlockContestant(comm::RankGroup& group, const BlockTrialConfig& config, const comm::TransportRow& transport)
      : assembled_(config.product,
                   transport.make(group, config.layout.with_elements_times(config.product->vector_count()),
                                  with_page_memory(communicator_options(config.configuration,
                                                                        config.product->is_symmetric()))),
                   group, config.configuration.thread_count),
        solver_(assembled_, config.shift.value_or(0.0)),
        is_benchmark_(config.shift.has_value()) {}

  void iterate() override {
    if (is_benchmark_) {
      solver_.iterate();
    } else {
      solver_.iteration().steps(GridSolver::few_steps);
    }
  }
  [[nodiscard]] double zeta() const override {
    return is_benchmark_ ? solver_.zeta() : TransportContestant::zeta();
  }

 private:
  AssembledOperator assembled_;
  SteppedSolver solver_;
  bool is_benchmark_;
};

/// nullptr where the ranks cannot share as much memory as the transport needs: the others may serve.
std::unique_ptr<TransportContestant> make_contestant(const TransportTrialConfig& config,
                                                     const comm::TransportRow& transport,
                                                     TransportTrial& trial) {
  try {
    return config.make(transport);
  } catch (const comm::SharedMemoryError& error) {
    trial.skipped.push_back({.name = std::string(transport.name), .reason = error.what()});
    return nullptr;
  }
}

/// Throws RunError for a zeta that differs from the first one: a transport may be fast because it is wrong.
void require_same_zeta(const TransportContestant& contestant, std::string_view name,
                       std::optional<double>& expected) {
  const double zeta = contestant.zeta();
  if (!expected) expected = zeta;
  // NaN passes: it is compared by none, or computed alike by all, and the run itself reports it.
  if (!(std::abs(zeta - *expected) > Problem::tolerance * std::abs(*expected))) return;
  throw RunError(ExitCode::verification_failed,
                 fmt::format("transport {}: zeta {:.13f} differs from {:.13f} of the first transport", name,
                             zeta, *expected));
}

std::vector<TimedTransport> race_transports(comm::RankGroup& group, const TransportTrialConfig& config,
                                            std::span<const comm::TransportRow* const> transports,
                                            TransportTrial& trial, std::optional<double>& zeta) {
  std::vector<std::unique_ptr<TransportContestant>> contestants;
  std::vector<TimedTransport> timed;
  for (const auto* transport : transports) {
    auto contestant = make_contestant(config, *transport, trial);
    if (!contestant) continue;
    contestants.push_back(std::move(contestant));
    timed.push_back({.name = std::string(transport->name), .step_s = 0.0});
  }
  const auto result = race(group, calls_of(contestants, &TransportContestant::iterate), transport_race);
  const auto seconds = result.medians();
  for (std::size_t k = 0; k < timed.size(); ++k) {
    require_same_zeta(*contestants[k], timed[k].name, zeta);
    timed[k].step_s = seconds[k] / config.step_count;
    trial.spread = std::max(trial.spread, spread_of_repeats(result.turns[k]));
  }
  if (!timed.empty() && config.has_room_for_all) trial.verdict = race_verdict(result.turns, names_of(timed));
  return timed;
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
                                                            std::vector<SkippedTransport>& skipped) {
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

void rank_by_time(TransportTrial& trial) {
  std::ranges::stable_sort(trial.tried, {}, [&](const TimedTransport& one) {
    return one.name == trial.verdict.candidate ? 0.0 : one.step_s;
  });
  trial.best = trial.tried.front().name;
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
  std::string text;
  for (const auto& one : trial.tried)
    text += fmt::format("{}{} {:.4g} us", text.empty() ? "" : ", ", one.name, 1e6 * one.step_s);
  text += " per CG step; ";
  if (!trial.verdict.reason.empty()) text += trial.verdict.text() + "; ";
  if (trial.from_profile) return text + fmt::format("from the profile {}", trial.kept_in);
  return text + fmt::format("measured now in {:.3g} s, {}", trial.duration_s,
                            trial.not_kept_because.empty()
                                ? fmt::format("kept in {}", trial.kept_in)
                                : fmt::format("not kept: {}", trial.not_kept_because));
}

std::vector<std::string> warnings_of(const TransportTrial& trial, const ProfileSource& source,
                                     const MatrixFacts& matrix) {
  std::vector<std::string> warnings;
  if (!trial.not_kept_because.empty() && source.is_used)
    warnings.push_back("the trial of transports is not kept: " + trial.not_kept_because);
  const auto remark = trial.kept_in.empty() ? std::string() : remark_on(trial.measured, date_now());
  if (!remark.empty()) {
    warnings.push_back(fmt::format("the trial of transports was {}; cg2d tune --remove {} renews it", remark,
                                   matrix.key.name));
  }
  return warnings;
}

TransportTrialConfig block_trial(comm::RankGroup& group, const BlockTrialConfig& config) {
  return {
      .configuration = config.configuration,
      .make = [&group, config](const comm::TransportRow& transport) -> std::unique_ptr<TransportContestant> {
        return std::make_unique<BlockContestant>(group, config, transport);
      },
      .step_count = config.shift ? cg_steps_per_solve : GridSolver::few_steps};
}

TransportTrial try_transports(comm::RankGroup& group, const TransportTrialConfig& config) {
  const Stopwatch watch;
  TransportTrial trial;
  const auto available = available_transports(group, config.configuration, trial.skipped);
  std::optional<double> zeta;
  if (config.has_room_for_all) {
    trial.tried = race_transports(group, config, available, trial, zeta);
  } else {
    for (const auto* transport : available) {
      const auto one = race_transports(group, config, {&transport, 1}, trial, zeta);
      trial.tried.insert(trial.tried.end(), one.begin(), one.end());
    }
  }
  if (trial.tried.empty()) {
    throw RunError(ExitCode::unavailable,
                   "--transport auto: no transport can serve here; name one to see why");
  }
  rank_by_time(trial);
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
  std::ranges::copy_if(known->transports, std::back_inserter(trial.tried), [&](const TimedTransport& timed) {
    return std::ranges::find(available, timed.name, &comm::TransportRow::name) != available.end();
  });
  if (trial.tried.empty() || trial.tried.size() < available.size()) return std::nullopt;
  trial.best = trial.tried.front().name;
  return trial;
}

void keep_transports(comm::RankGroup& group, const ProfileSource& source, const Environment& environment,
                     const TransportConditions& conditions, TransportTrial& trial) {
  if (!source.is_used) {
    trial.not_kept_because = "--no-profile";
    return;
  }
  const auto processor = common_processor(environment);
  if (!processor) {
    trial.not_kept_because = "the nodes have different processors";
    return;
  }
  if (group.rank() == 0) {
    try {
      ProfileFile file(source);
      file.add(
          *processor,
          TransportCase{.conditions = conditions, .transports = trial.tried, .measured = trial.measured});
      trial.kept_in = file.path();
    } catch (const RunError& error) {
      trial.not_kept_because = error.what();
    }
  }
  trial.kept_in = group.broadcast(trial.kept_in);
  trial.not_kept_because = group.broadcast(trial.not_kept_because);
}

TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceConfig& config) {
  const auto conditions = conditions_of(group, config);
  if (auto known = known_transports(group, config.profile, conditions)) return *std::move(known);
  auto trial_config = block_trial(group, config.trial);
  trial_config.has_room_for_all = has_room_for_all(group, config);
  const Stopwatch watch;
  const auto& source = config.profile_source;
  auto careful = measure_up_to_three_times(
      group,
      {.ranks_share_cores = config.environment.oversubscribed,
       .keeps_disturbed = source.keeps_disturbed || !source.is_used,
       .say = config.say},
      "the trial of transports", [&] { return try_transports(group, trial_config); },
      [&](const auto& trial) { return why_unphysical(trial, config); });
  auto trial = std::move(careful.result);
  trial.measured = std::move(careful.record);
  trial.duration_s = group.maximum(watch.seconds());
  if (careful.refusal.reason.empty()) {
    keep_transports(group, source, config.environment, conditions, trial);
  } else {
    trial.not_kept_because = careful.refusal.text(trial.measured.attempts);
  }
  return trial;
}

}  // namespace cg2d
