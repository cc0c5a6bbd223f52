#include "cg/tuning/transport_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/stopwatch.hpp"
#include "cg/machine/operation_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/solver/configuration.hpp"
#include "cg/solver/stepped_solver.hpp"
#include "cg/tuning/profile_file.hpp"
#include "cg/tuning/tune_measure.hpp"
#include "comm/shared_segment.hpp"

namespace cg2d {
namespace {

constexpr RaceLimits transport_race{
    .fewest_rounds = 1, .most_rounds = 5, .budget_s = 0.5, .hopeless_factor = 1.5, .shortest_turn_s = 2e-3};

/// The solver with one transport.
class TransportContestant {
 public:
  /// Throws SharedMemoryError, on all ranks alike.
  TransportContestant(comm::RankGroup& group, const TransportTrialSetting& setting,
                      const comm::TransportRow& transport)
      : communicator_(transport.make(group, setting.layout,
                                     with_page_memory({.sum_form = setting.sum_form,
                                                       .mirrored = setting.product.is_symmetric(),
                                                       .ranks_per_node = setting.ranks_per_node}))),
        solver_(*communicator_, setting.product, setting.thread_count, setting.problem.shift) {}

  void iterate() { solver_.iterate(); }
  [[nodiscard]] double zeta() const { return solver_.zeta(); }

 private:
  std::unique_ptr<comm::Communicator> communicator_;
  SteppedSolver solver_;
};

/// One that finds no memory is left out: the others may serve.
std::unique_ptr<TransportContestant> make_contestant(comm::RankGroup& group,
                                                     const TransportTrialSetting& setting,
                                                     const comm::TransportRow& transport,
                                                     TransportTrial& trial) {
  try {
    return std::make_unique<TransportContestant>(group, setting, transport);
  } catch (const comm::SharedMemoryError& error) {
    trial.skipped.push_back({.name = std::string(transport.name), .reason = error.what()});
    return nullptr;
  }
}

/// Wrong results would make the fastest transport.
void require_same_zeta(const TransportContestant& contestant, std::string_view name,
                       std::optional<double>& expected) {
  const double zeta = contestant.zeta();
  if (!expected) expected = zeta;
  // Not a number is one for all transports: the run itself will say so.
  if (!(std::abs(zeta - *expected) > Problem::tolerance * std::abs(*expected))) return;
  throw RunError(ExitCode::verification_failed,
                 fmt::format("transport {}: zeta {:.13f} differs from {:.13f} of the first transport", name,
                             zeta, *expected));
}

std::vector<TimedTransport> race_transports(comm::RankGroup& group, const TransportTrialSetting& setting,
                                            std::span<const comm::TransportRow* const> transports,
                                            TransportTrial& trial, std::optional<double>& zeta) {
  std::vector<std::unique_ptr<TransportContestant>> contestants;
  std::vector<std::function<void()>> works;
  std::vector<TimedTransport> timed;
  for (const auto* transport : transports) {
    auto contestant = make_contestant(group, setting, *transport, trial);
    if (!contestant) continue;
    works.emplace_back([one = contestant.get()] { one->iterate(); });
    contestants.push_back(std::move(contestant));
    timed.push_back({.name = std::string(transport->name), .step_s = 0.0});
  }
  const auto seconds = race(group, works, transport_race);
  for (std::size_t k = 0; k < timed.size(); ++k) {
    require_same_zeta(*contestants[k], timed[k].name, zeta);
    timed[k].step_s = seconds[k] / cg_steps_per_solve;
  }
  return timed;
}

/// Those that can serve this group and have that form of the sum; the others with their reasons. Collective.
std::vector<const comm::TransportRow*> available_transports(comm::RankGroup& group, comm::SumForm form,
                                                            std::vector<SkippedTransport>& skipped) {
  auto choice = transports_for(group);
  for (auto& [name, reason] : choice.left_out) skipped.push_back({.name = name, .reason = std::move(reason)});
  std::erase_if(choice.available, [&](const auto* transport) {
    if (transport->has(form)) return false;
    skipped.push_back({.name = std::string(transport->name),
                       .reason = fmt::format("it has no sum in the form {}", sum_form_name(form))});
    return true;
  });
  return std::move(choice.available);
}

void rank_by_time(TransportTrial& trial) {
  std::ranges::stable_sort(trial.tried, {}, &TimedTransport::step_s);
  trial.best = trial.tried.front().name;
}

TransportTask task_of(const TransportChoiceSetting& setting) {
  const auto& problem = setting.problem;
  return {.class_name = problem.class_name,
          .n = problem.n,
          .nonzer = problem.nonzer,
          .grid = setting.layout.grid(),
          .thread_count = setting.configuration.thread_count,
          .node_count = static_cast<int>(setting.environment.nodes.size()),
          .sum_form = sum_form_name(setting.configuration.sum_form),
          .kernel = std::string(setting.product.kernel().name),
          .wait_mode = setting.wait_mode,
          .overlaps = setting.configuration.overlaps,
          .ranks_per_node = setting.configuration.ranks_per_node};
}

/// Half of what is free stays free: the estimate is of one transport's vectors.
bool has_room_for_all(comm::RankGroup& group, const TransportChoiceSetting& setting) {
  const auto plan =
      plan_memory(setting.problem, setting.configuration, setting.layout, group.rank(), setting.source);
  const auto bytes = plan.vector_bytes * std::ssize(comm::transport_table());
  const auto& place = setting.environment.ranks[static_cast<std::size_t>(group.rank())];
  const auto& node = setting.environment.nodes[static_cast<std::size_t>(place.node)];
  const bool fits = bytes * node.rank_count < available_memory_bytes() / 2;
  return group.minimum(std::int64_t{fits}) != 0;
}

}  // namespace

std::string describe_transport_trial(const TransportTrial& trial) {
  std::string text;
  for (const auto& one : trial.tried)
    text += fmt::format("{}{} {:.4g} us", text.empty() ? "" : ", ", one.name, 1e6 * one.step_s);
  text += " per CG step; ";
  if (trial.from_profile) return text + fmt::format("from the profile {}", trial.kept_in);
  return text + fmt::format("measured now in {:.3g} s, {}", trial.duration_s,
                            trial.not_kept_because.empty()
                                ? fmt::format("kept in {}", trial.kept_in)
                                : fmt::format("not kept: {}", trial.not_kept_because));
}

TransportTrial try_transports(comm::RankGroup& group, const TransportTrialSetting& setting) {
  const Stopwatch watch;
  TransportTrial trial;
  const auto available = available_transports(group, setting.sum_form, trial.skipped);
  std::optional<double> zeta;
  if (setting.has_room_for_all) {
    trial.tried = race_transports(group, setting, available, trial, zeta);
  } else {
    for (const auto* transport : available) {
      const auto one = race_transports(group, setting, {&transport, 1}, trial, zeta);
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
                                               const TransportTask& task) {
  const auto known = std::ranges::find(profile.transports, task, &TransportCase::task);
  if (known == profile.transports.end()) return std::nullopt;
  TransportTrial trial;
  trial.from_profile = true;
  trial.kept_in = profile.path;
  const auto form = find_sum_form(task.sum_form).value_or(default_sum_form);
  for (const auto* transport : available_transports(group, form, trial.skipped)) {
    const auto timed = std::ranges::find(known->transports, transport->name, &TimedTransport::name);
    if (timed == known->transports.end()) return std::nullopt;
    trial.tried.push_back(*timed);
  }
  if (trial.tried.empty()) return std::nullopt;
  rank_by_time(trial);
  return trial;
}

void keep_transports(comm::RankGroup& group, const ProfileSource& source, const Environment& environment,
                     const TransportTask& task, TransportTrial& trial) {
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
      file.add(*processor, TransportCase{.task = task, .transports = trial.tried});
      trial.kept_in = file.path();
    } catch (const RunError& error) {
      trial.not_kept_because = error.what();
    }
  }
  trial.kept_in = group.broadcast(trial.kept_in);
  trial.not_kept_because = group.broadcast(trial.not_kept_because);
}

TransportTrial choose_transport(comm::RankGroup& group, const TransportChoiceSetting& setting) {
  const auto task = task_of(setting);
  if (auto known = known_transports(group, setting.profile, task)) return *std::move(known);
  auto trial = try_transports(group, {.problem = setting.problem,
                                      .layout = setting.layout,
                                      .product = setting.product,
                                      .sum_form = setting.configuration.sum_form,
                                      .thread_count = setting.configuration.thread_count,
                                      .ranks_per_node = setting.configuration.ranks_per_node,
                                      .has_room_for_all = has_room_for_all(group, setting)});
  keep_transports(group, setting.profile_source, setting.environment, task, trial);
  return trial;
}

}  // namespace cg2d
