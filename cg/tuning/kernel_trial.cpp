#include "cg/tuning/kernel_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/sample.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/solver/block_product.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

ChosenKernel chosen_for(const Configuration& configuration, const KernelTrialConfig& config) {
  if (config.vector_count > 1)
    return choose_kernel_for_several(configuration, config.asked, config.vector_count);
  const LoadedProfile none;
  return choose_kernel(config.source.facts(), configuration, {.asked = config.asked, .profile = none});
}

/// One candidate for each kernel that is to be tried.
std::vector<TriedConfiguration> candidates_of(const KernelTrialConfig& config) {
  std::vector<TriedConfiguration> candidates;
  for (const auto& row : kernels::kernel_table()) {
    const bool is_tried = config.vector_count > 1
                              ? row.make_for_several != nullptr && !row.is_taken_by_name_only
                              : row.is_tried;
    const bool is_perhaps_tried =
        row.has_use_for != nullptr && row.maker_for({.vector_count = config.vector_count});
    const bool may_serve = !row.stores_half() || !config.environment.ranks_oversubscribed;
    if (!(is_tried || is_perhaps_tried) || !may_serve || !row.why_unavailable().empty()) continue;
    auto configuration = config.configuration;
    configuration.kernel = row.name;
    candidates.push_back({.configuration = configuration, .kernel = chosen_for(configuration, config)});
  }
  return candidates;
}

/// The one that is taken unless another one is clearly faster.
const kernels::KernelRow& usual_kernel(const KernelTrialConfig& config) {
  return config.vector_count > 1 ? kernels::default_kernel_for_several() : kernels::kernel_for_any_pattern();
}

/// The reason against a trial; empty if there is to be one.
std::string why_none(const KernelTrialConfig& config, std::span<const TriedConfiguration> candidates) {
  // A step of a smaller system takes less than 0.1 ms, and noise would decide.
  constexpr double least_nonzeros_per_rank = 1e5;
  const double nonzeros = config.source.facts().nonzero_count / config.configuration.grid.rank_count();
  if (nonzeros < least_nonzeros_per_rank)
    return fmt::format("{:.0f} nonzeros per rank are too few to tell kernels apart", nonzeros);
  return why_no_trial(config.source, config.environment, candidates, "kernels");
}

/// The usual kernel, unless the verdict's candidate takes less than 0.95 of its time: so the choice, and with it the order
/// of additions, is the same in most runs.
std::string best_of(const KernelTrial& trial, const KernelTrialConfig& config) {
  const auto& usual = trial.tried_one(usual_kernel(config).name);
  const auto& candidate = trial.tried_one(trial.verdict.candidate);
  return candidate.step_s < 0.95 * usual.step_s ? candidate.name : usual.name;
}

/// The options of a kernel for the rank's block.
kernels::KernelOptions options_of(const comm::RankGroup& group, const KernelTrialConfig& config,
                                  const ChosenKernel& chosen) {
  return placed({.thread_count = config.configuration.thread_count,
                 .tuning = chosen.tuning,
                 .vector_count = chosen.vector_count},
                make_layout(config.source.facts(), config.configuration), group.rank());
}

/// Whether the pattern of some rank's block is one that the kernel gains by, where it can tell. Collective.
bool has_use(comm::RankGroup& group, const KernelTrialConfig& config, const ChosenKernel& chosen,
             const kernels::CsrBlock& block) {
  const auto has_use_for = chosen.kernel->has_use_for;
  if (has_use_for == nullptr) return true;
  return group.maximum(has_use_for(block, options_of(group, config, chosen)) ? 1.0 : 0.0) > 0.0;
}

/// Seconds that the conversion of the whole block takes, on the slowest rank, by that of its first rows. Collective.
double expected_conversion_s(comm::RankGroup& group, const KernelTrialConfig& config,
                             const ChosenKernel& chosen, const kernels::CsrBlock& block) {
  constexpr std::int64_t share = 16;
  constexpr std::int64_t least_rows = 4096;  // fewer tell nothing of formats that order rows
  const auto layout = make_layout(config.source.facts(), config.configuration);
  double seconds = 0.0;
  agree_on(group, [&] {
    const auto rows = std::min(block.row_count, std::max(least_rows, block.row_count / share));
    auto sample = block.first_rows(rows);
    const auto sampled = static_cast<double>(std::max<std::int64_t>(sample.nonzero_count(), 1));
    keep_stored(sample, chosen.kernel->storage, layout, group.rank());
    const auto options = options_of(group, config, chosen);
    const Stopwatch watch;
    const auto kernel = chosen.kernel->maker_for(options)(std::move(sample), options);
    seconds = watch.seconds() * static_cast<double>(block.nonzero_count()) / sampled;
  });
  return group.maximum(seconds);
}

/// Seconds of a CG step, the slowest rank's, after a first one. Collective.
double step_seconds(comm::RankGroup& group, TrialSolver& solver) {
  solver.iterate();
  group.barrier();
  const Stopwatch watch;
  solver.iterate();
  return group.maximum(watch.seconds()) / TrialSolver::few_steps;
}

/// Leaves out those that the pattern is nothing for, and those that would take too long to convert. Collective.
void skip_unsuitable(comm::RankGroup& group, const KernelTrialConfig& config, TrialSolver& usual,
                     std::vector<TriedConfiguration>& candidates, KernelTrial& trial) {
  const auto layout = make_layout(config.source.facts(), config.configuration);
  const auto block = config.source.build(layout, group, config.configuration.thread_count).block;
  const double most_s = std::max(config.limit.seconds, config.limit.steps * step_seconds(group, usual));
  std::erase_if(candidates, [&](const TriedConfiguration& candidate) {
    if (candidate.configuration.kernel == trial.best) return false;
    if (!has_use(group, config, candidate.kernel, block)) return true;
    const double seconds = expected_conversion_s(group, config, candidate.kernel, block);
    if (seconds <= most_s) return false;
    trial.skipped.push_back(
        {.name = candidate.configuration.kernel,
         .reason =
             fmt::format("its conversion would take about {:.2g} s, more than {:.2g} s", seconds, most_s)});
    return true;
  });
}

}  // namespace

std::string describe_trial(const KernelTrial& trial) {
  if (!trial.skipped_because.empty()) return fmt::format("none: {}", trial.skipped_because);
  std::string skipped;
  for (const auto& one : trial.skipped) skipped += fmt::format("; not {}: {}", one.name, one.reason);
  return fmt::format("{}{}; the trial took {:.3g} s", trial.text(), skipped, trial.duration_s);
}

KernelTrial try_kernels(comm::RankGroup& group, const KernelTrialConfig& config) {
  KernelTrial trial;
  trial.best = usual_kernel(config).name;
  auto candidates = candidates_of(config);
  trial.skipped_because = why_none(config, candidates);
  if (!trial.skipped_because.empty()) return trial;

  const Stopwatch watch;
  const auto make_solver = [&](const TriedConfiguration& one) {
    return TrialSolver::make(group, config.source, one.configuration, one.kernel, std::nullopt);
  };
  auto usual = make_solver(*std::ranges::find(
      candidates, trial.best, [](const TriedConfiguration& one) { return one.configuration.kernel; }));
  skip_unsuitable(group, config, *usual, candidates, trial);
  std::vector<NamedCandidate> solvers;
  for (const auto& one : candidates) {
    const auto& name = one.configuration.kernel;
    solvers.push_back({.name = name, .candidate = name == trial.best ? std::move(usual) : make_solver(one)});
  }
  race_candidates(group, solvers,
                  {.thing = "kernel",
                   .step_count = TrialSolver::few_steps,
                   .limits = {.fewest_rounds = 2,
                              .most_rounds = 9,
                              .budget_s = 0.3,
                              .hopeless_factor = 1.3,
                              .shortest_turn_s = 1e-3}},
                  trial);
  trial.best = best_of(trial, config);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

void describe(Members& m, KernelTrial& trial) {
  describe_tried(m, "kernel", trial);
  describe_skipped(m, "kernel", trial);
  describe_verdict(m, trial);
  m("duration_s", trial.duration_s,
    at_least(0, "In the runs of a study: of the first one on this grid and cut."));
  m("skipped_because", trial.skipped_because, meaning("Empty with a trial."));
}

}  // namespace cg2d
