#include "cg/studies/systems/system_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/run/benchmark_run.hpp"
#include "cg/solver/operators/matrix_free.hpp"
#include "cg/studies/systems/system_runs.hpp"

#include "cg/report/solve/solve_format.hpp"

namespace cg2d {
namespace {

/// The row of an operator that is to be measured without a matrix, or nullptr.
const MatrixFreeRow* matrix_free_row(const SystemOptions& system) {
  return system.operator_text.empty() ? nullptr : find_matrix_free(system.operator_text);
}

bool has_matrix(const SystemOptions& system) { return system.operator_text.empty() || system.assembles; }

std::vector<comm::DomainGrid> wanted_domains(const SystemSweepOptions& options, int rank_count) {
  const auto extents = stencil_from(options.system.operator_text).extents;
  auto domains = comm::domain_grids(rank_count);
  std::erase_if(domains, [&](const comm::DomainGrid& grid) {
    for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension) {
      if (grid.parts[dimension] > extents[dimension]) return true;
    }
    const auto& wanted = options.axes.domains;
    return !wanted.empty() && std::ranges::find(wanted, grid) == wanted.end();
  });
  if (domains.empty()) {
    throw InputError(fmt::format("--domain: no cut of {} into {} {}", options.system.operator_text,
                                 format_count(rank_count, "part"),
                                 options.axes.domains.empty() ? "has points for each" : "is among these"));
  }
  return domains;
}

SweepAxes grid_axes(const SystemAxes& axes) {
  return {.problems = {},
          .rank_counts = axes.rank_counts,
          .columns = axes.columns,
          .named = axes.named,
          .values = axes.values};
}

/// Stencils have neither a kernel nor a form of the sum.
std::vector<Configuration> configurations_of_stencils(const SystemSweepOptions& options) {
  auto values = options.axes.values;
  values.erase("kernel");
  values.erase("sum_form");
  return crossed(options.system.configuration, values);
}

class ConfigurationList {
 public:
  explicit ConfigurationList(const SystemOptions& system) : name_(system_name_of(system)) {}

  void add(const Configuration& configuration, const std::string& cut) {
    ConfiguredProblem one{.problem = name_, .configuration = configuration, .cut = cut};
    if (std::ranges::find(all_, one) == all_.end()) all_.push_back(std::move(one));
  }
  [[nodiscard]] std::vector<ConfiguredProblem> take() { return std::move(all_); }

 private:
  std::string name_;
  std::vector<ConfiguredProblem> all_;
};

/// Measurements of a system, for a sweep.
class SystemRuns final : public SweptRuns {
 public:
  SystemRuns(SystemSweepOptions options, comm::RankGroup& group)
      : options_(std::move(options)),
        group_(group),
        first_ranks_(group),
        progress_(options_.rounds.progress, group.rank()) {}

  std::vector<ConfiguredProblem> configurations() override {
    auto& rank_counts = options_.axes.rank_counts;
    const bool names_ranks = !rank_counts.empty();
    if (!names_ranks) rank_counts = usual_rank_counts(options_.axes.named, group_.size());
    require_started(names_ranks ? "--ranks" : "--grid", *std::ranges::max_element(rank_counts),
                    group_.size());
    auto all = system_configurations(options_);
    // A file that is no profile, or no matrix, is an error of this command line, not a result of each of its runs.
    static_cast<void>(load_profile(options_.system.profile, inspect_environment(group_, 1), group_));
    agree_on(group_, [&] {
      for (const auto& asked : all) {
        auto* const ranks = first_ranks_.of(asked.configuration.grid.rank_count());
        if (ranks != nullptr) systems_.of(system_options_for(options_, asked), *ranks, progress_);
      }
    });
    return all;
  }

  std::function<nlohmann::ordered_json()> perform(const SweepStep& step, comm::RankGroup& group,
                                                  const Progress& progress) override {
    auto options = system_options_for(options_, step.asked);
    auto report = measure_system(options, group, systems_.of(options, group, progress), progress);
    return [options = std::move(options), report = std::move(report)] { return solve_json(options, report); };
  }

 private:
  SystemSweepOptions options_;
  comm::RankGroup& group_;
  FirstRanks first_ranks_;
  Progress progress_;
  KeptSystems systems_;
};

}  // namespace

std::vector<ConfiguredProblem> system_configurations(const SystemSweepOptions& options) {
  const auto& system = options.system;
  ConfigurationList list(system);
  const auto* const row = matrix_free_row(system);
  if (row != nullptr && row->uses_grid) {
    for (const auto& one : configurations_on_grids(grid_axes(options.axes), system.configuration))
      list.add(one, std::string(factor_cut));
  } else if (row != nullptr) {
    const auto of_a_domain = configurations_of_stencils(options);
    for (const int rank_count : options.axes.rank_counts) {
      for (const auto& domain : wanted_domains(options, rank_count)) {
        for (auto one : of_a_domain) {
          one.grid = {.columns = 1, .rows = rank_count};
          list.add(one, fmt::format("{} {}", domain_cut, domain.name()));
        }
      }
    }
  }
  if (!has_matrix(system)) return list.take();
  for (const auto& cut : options.axes.cuts) {
    for (const auto& one : configurations_on_grids(grid_axes(options.axes), system.configuration))
      list.add(one, cut);
  }
  return list.take();
}

SystemOptions system_options_for(const SystemSweepOptions& options, const ConfiguredProblem& asked) {
  auto system = options.system;
  system.configuration = asked.configuration;
  system.assembles = !system.operator_text.empty() && !asked.cuts_domain() && asked.cut != factor_cut;
  if (asked.cuts_domain()) {
    system.configuration.grid = {.columns = 0, .rows = 0};
    system.domain_grid = domain_grid_from(asked.arrangement());
  } else if (asked.cut != factor_cut) {
    set_cut(system, asked.cut);
  }
  return system;
}

ExitCode sweep_system(const SystemSweepOptions& options, comm::RankGroup& group) {
  SystemRuns runs(options, group);
  return sweep_rounds(options.rounds, runs, group);
}

}  // namespace cg2d
