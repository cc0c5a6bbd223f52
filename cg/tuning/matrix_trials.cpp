#include "cg/tuning/trial.hpp"

#include <cmath>
#include <numeric>

#include "cg/base/agreement.hpp"
#include "cg/matrix/half_storage.hpp"
#include "cg/solver/communicator_setup.hpp"

namespace cg2d {
namespace {

/// One combination of a trial, with everything known.
struct TriedConfiguration {
  Configuration configuration;
  ChosenKernel kernel;
};

constexpr size_t most_grids = 4;
/// A calibrated machine's predictions are meant to be within 15 % of measured times.
constexpr double hopeless_factor = 1.25;

/// On rank 0. By the model where the machine and all kernels are described.
GridShortlist local_shortlist(const OpenGridConfig& config, int rank_count) {
  GridShortlist list;
  const bool knows_speeds = !config.speeds.empty();
  const double ideal = std::accumulate(config.speeds.begin(), config.speeds.end(), 0.0);
  bool is_described = config.machine.has_value();
  std::vector<std::pair<double, comm::ProcessGrid>> by_time;
  for (const auto& grid : comm::factorizations(rank_count)) {
    auto configuration = config.configuration;
    configuration.grid = grid;
    configuration.kernel = config.kernel_for(grid).kernel->name;
    auto matrix = config.matrix;
    if (knows_speeds) {
      const auto shares = comm::shares_on_grid(config.speeds, grid);
      list.reached.push_back({.grid = grid, .share = shares.reachable / ideal});
      configuration.grid = shares.grid;
      matrix.piece_starts = comm::piece_starts_of_shares(matrix.key.order, shares.pieces);
    }
    is_described = is_described && config.machine->has_kernel(configuration.kernel);
    if (is_described)
      by_time.emplace_back(predict(*config.machine, matrix, configuration, 1, config.ranks).total_s(), grid);
  }
  if (!is_described) by_time.clear();
  std::ranges::stable_sort(by_time, {}, &std::pair<double, comm::ProcessGrid>::first);
  for (const auto& [seconds, grid] : by_time) {
    if (list.grids.size() < most_grids && seconds <= hopeless_factor * by_time.front().first)
      list.grids.push_back(grid);
  }
  list.made_by = list.grids.empty() ? "rule" : "model";
  if (list.grids.empty()) {
    const auto product_s = [&](const comm::ProcessGrid& grid) {
      return ideal > 0.0 ? config.matrix.nonzero_count / (ideal * list.share_of(grid)) : 0.0;
    };
    list.grids = shortlist_by_rule(config.matrix, config.configuration, rank_count, most_grids, product_s);
  }
  return list;
}

// Larger blocks take seconds to generate, and seconds for each outer iteration.
constexpr double most_nonzeros_per_rank = 20e6;

/// The reason against a trial of these with all their blocks in memory at once: one phrase, the same on every rank; empty if
/// there is to be one. thing: "grid", "kernel".
std::string why_no_trial(const MatrixSource& source, const Environment& environment,
                         std::span<const TriedConfiguration> candidates, std::string_view thing) {
  if (candidates.size() == 1) return fmt::format("there is only one {} to try", thing);
  const double nonzeros = source.facts().nonzero_count / static_cast<double>(environment.ranks.size());
  if (nonzeros > most_nonzeros_per_rank)
    return fmt::format("{:.3g} million nonzeros per rank would take too long", nonzeros / 1e6);
  int64_t rank_bytes = 0;     // about what each has at once
  int64_t working_bytes = 0;  // stored rows are there once
  for (const auto& [configuration, kernel] : candidates) {
    const auto plan = plan_memory(source, configuration, make_layout(source.facts(), configuration), 0);
    rank_bytes += plan.total_bytes() - plan.working_bytes + (kernel.vector_count - 1) * plan.vector_bytes;
    working_bytes = std::max(working_bytes, plan.working_bytes);
  }
  rank_bytes += working_bytes;
  for (const auto& node : environment.nodes) {
    const auto bytes = rank_bytes * node.rank_count;
    // Half of it stays free: the estimate is for one block, with nothing else in the process.
    if (bytes > node.memory.available_bytes / 2) {
      return fmt::format("the blocks of {} {}s would take {} on {}", candidates.size(), thing,
                         format_bytes(bytes), node.name);
    }
  }
  return {};
}

/// One candidate for each kernel that is to be tried.
std::vector<TriedConfiguration> candidates_of(const KernelTrialConfig& config) {
  std::vector<TriedConfiguration> candidates;
  const LoadedProfile none;
  const KernelChoiceConfig choice{
      .asked = config.asked, .vector_count = config.vector_count, .profile = none};
  for (const auto& row : kernels::kernel_table()) {
    const bool is_tried =
        config.vector_count > 1 ? row.makes_several : row.is_tried || row.has_use_for != nullptr;
    const bool may_serve = !row.stores_half() || !config.environment.ranks_oversubscribed;
    if (!is_tried || !may_serve) continue;
    auto configuration = config.configuration;
    configuration.kernel = row.name;
    candidates.push_back({.configuration = configuration,
                          .kernel = choose_kernel(config.source.facts(), configuration, choice)});
  }
  return candidates;
}

/// Leaves out those that the pattern is nothing for, and those that would take too long to convert. Collective.
void skip_unsuitable(comm::RankGroup& group, const KernelTrialConfig& config, const TrialWork& usual,
                     std::vector<TriedConfiguration>& candidates, KernelTrial& trial) {
  const auto layout = make_layout(config.source.facts(), config.configuration);
  const auto block = config.source.build(layout, group, config.configuration.thread_count).block;
  usual();
  group.barrier();
  const Stopwatch watch;
  usual();
  const double step_s = group.maximum(watch.seconds()) / few_trial_steps;
  const double most_s = std::max(config.limit.seconds, config.limit.steps * step_s);
  std::erase_if(candidates, [&](const TriedConfiguration& candidate) {
    if (candidate.configuration.kernel == trial.best) return false;
    const auto& kernel = *candidate.kernel.kernel;
    const auto options = placed({.thread_count = config.configuration.thread_count,
                                 .tuning = candidate.kernel.tuning,
                                 .vector_count = candidate.kernel.vector_count},
                                layout, group.rank());
    // Whether the pattern of some rank's block is one that the kernel gains by, where it can tell.
    const bool has_use = kernel.has_use_for == nullptr || kernel.has_use_for(block, options);
    if (group.maximum(has_use ? 1.0 : 0.0) == 0.0) return true;
    // The conversion of the whole block, on the slowest rank, by that of its first rows.
    constexpr int64_t share = 16;
    constexpr int64_t least_rows = 4096;  // fewer tell nothing of formats that order rows
    double seconds = 0.0;
    agree_on(group, [&] {
      auto sample =
          block.first_rows(std::min(block.row_count, std::max(least_rows, block.row_count / share)));
      const auto sampled = static_cast<double>(std::max<int64_t>(sample.nonzero_count(), 1));
      keep_stored(sample, kernel.storage, layout, group.rank());
      const Stopwatch of_sample;
      const auto converted = kernel.make(std::move(sample), options);
      seconds = of_sample.seconds() * static_cast<double>(block.nonzero_count()) / sampled;
    });
    seconds = group.maximum(seconds);
    if (seconds <= most_s) return false;
    trial.skipped.emplace_back(
        candidate.configuration.kernel,
        fmt::format("its conversion would take about {:.2g} s, more than {:.2g} s", seconds, most_s));
    return true;
  });
}

}  // namespace

GridShortlist make_grid_shortlist(comm::RankGroup& group, const OpenGridConfig& config) {
  // Only rank 0 has the description; and speeds need exponentials, which may differ on other processors.
  GridShortlist list;
  if (group.rank() == 0) list = local_shortlist(config, group.size());
  const auto of_rank_0 = [&](const auto& values) { return group.gather_all(std::span(values)).front(); };
  list.grids = of_rank_0(std::as_const(list.grids));
  list.made_by = group.broadcast(list.made_by);
  list.reached = of_rank_0(std::as_const(list.reached));
  return list;
}

double GridShortlist::share_of(const comm::ProcessGrid& grid) const {
  return std::ranges::find(reached, grid, &ReachedSpeed::grid)->share;
}

GridTrial try_grids(comm::RankGroup& group, MatrixSource& source, const Environment& environment,
                    const OpenGridConfig& config, const GridShortlist& shortlist) {
  GridTrial trial;
  trial.best_grid = shortlist.grids.front();
  trial.shortlist = shortlist;
  std::vector<TriedConfiguration> shortlisted;
  for (const auto& grid : shortlist.grids) {
    auto& one = shortlisted.emplace_back(
        TriedConfiguration{.configuration = config.configuration, .kernel = config.kernel_for(grid)});
    one.configuration.grid = grid;
    one.configuration.kernel = one.kernel.kernel->name;
  }
  trial.skipped_because = why_no_trial(source, environment, shortlisted, "grid");
  if (!trial.skipped_because.empty()) return trial;

  const Stopwatch watch;
  const auto slowness = factors_at(config.ranks.slow, group.size(), 0)[static_cast<size_t>(group.rank())];
  Slowdown slowdown(std::vector{SlowRank{.factor = slowness}});
  std::vector<TrialCandidate> candidates;
  const auto own_cut = source.facts().piece_starts;
  for (auto& [configuration, kernel] : shortlisted) {
    if (!config.speeds.empty()) {
      const auto shares = agreed_shares_and_places(group, config.speeds, configuration.grid);
      configuration.grid = shares.grid;
      source.set_piece_starts(source.balanced_piece_starts(shares.pieces, group));
    }
    const auto assembled = make_tried_block(group, source, configuration, kernel).assembled;
    if (slowness > 1.0) assembled->set_slowdown(&slowdown);
    // No zeta: before the end of an outer iteration a system may be solved to rounding, and zeta be anything.
    const auto work = [step = trial_work(assembled, 0.0)] {
      step();
      return std::nan("");
    };
    candidates.push_back({.name = configuration.grid.name(), .work = work});
  }
  source.set_piece_starts(own_cut);
  race_candidates(group, candidates,
                  {.thing = "grid",
                   .step_count = cg_steps_per_solve,
                   .limits = {.fewest_rounds = 1, .most_rounds = 9, .budget_s = 0.5, .hopeless_factor = 1.3}},
                  trial);
  trial.best = trial.verdict.candidate;
  trial.best_grid = *std::ranges::find(shortlist.grids, trial.best, &comm::ProcessGrid::name);
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

void describe(Members& m, GridTrial& trial) {
  m("shortlist_by", trial.shortlist.made_by, meaning("Who named the grids: model or rule."));
  describe_race(m, "grid", trial);
  m.list(
      "reached", trial.shortlist.reached,
      meaning("With --cut speed: the speed of all ranks with the shares that suit the grid best, by the sum "
              "of their own."),
      [&](ReachedSpeed& one, size_t /*index*/) {
        describe_name(m, "grid", one.grid);
        m("share", one.share, positive());
      });
  m("duration_s", trial.duration_s, at_least(0, "With the blocks that were made for it."));
  m("skipped_because", trial.skipped_because, meaning("Empty with a trial."));
}

KernelTrial try_kernels(comm::RankGroup& group, const KernelTrialConfig& config) {
  KernelTrial trial;
  trial.best =
      (config.vector_count > 1 ? kernels::default_kernel_for_several() : kernels::kernel_for_any_pattern())
          .name;
  auto candidates = candidates_of(config);
  // A step of a smaller system takes less than 0.1 ms, and noise would decide.
  constexpr double least_nonzeros_per_rank = 1e5;
  const double nonzeros = nonzeros_per_rank(config.source.facts(), config.configuration.grid);
  trial.skipped_because =
      nonzeros < least_nonzeros_per_rank
          ? fmt::format("{:.0f} nonzeros per rank are too few to tell kernels apart", nonzeros)
          : why_no_trial(config.source, config.environment, candidates, "kernel");
  if (!trial.skipped_because.empty()) return trial;

  const Stopwatch watch;
  const auto make_work = [&](const TriedConfiguration& one) {
    return trial_work(make_tried_block(group, config.source, one.configuration, one.kernel).assembled, {});
  };
  const auto usual = make_work(*std::ranges::find(
      candidates, trial.best, [](const TriedConfiguration& one) { return one.configuration.kernel; }));
  skip_unsuitable(group, config, usual, candidates, trial);
  std::vector<TrialCandidate> works;
  for (const auto& one : candidates) {
    const auto& name = one.configuration.kernel;
    works.push_back({.name = name, .work = name == trial.best ? usual : make_work(one)});
  }
  race_candidates(group, works,
                  {.thing = "kernel",
                   .step_count = few_trial_steps,
                   .limits = {.fewest_rounds = 2, .most_rounds = 9, .budget_s = 0.3, .hopeless_factor = 1.3}},
                  trial);
  // The usual kernel, unless the verdict's candidate is clearly faster: so the choice, and with it the order of additions, is the same in
  // most runs.
  constexpr double clearly_faster = 0.95;
  const auto step_s = [&](const std::string& name) { return row_named(trial.tried, name)->step_s; };
  if (step_s(trial.verdict.candidate) < clearly_faster * step_s(trial.best))
    trial.best = trial.verdict.candidate;
  trial.duration_s = group.maximum(watch.seconds());
  return trial;
}

void describe(Members& m, KernelTrial& trial) {
  describe_race(m, "kernel", trial);
  describe_skipped(m, "kernel", trial);
  m("duration_s", trial.duration_s,
    at_least(0, "In the runs of a study: of the first one on this grid and cut."));
  m("skipped_because", trial.skipped_because, meaning("Empty with a trial."));
}

}  // namespace cg2d
