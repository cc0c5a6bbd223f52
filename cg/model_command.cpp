#include "cg/model_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cg/agreement.hpp"
#include "cg/machine_description.hpp"
#include "cg/option_values.hpp"
#include "cg/output_file.hpp"
#include "cg/performance_model.hpp"
#include "cg/run_plan.hpp"
#include "cg/shared_output.hpp"
#include "cg/text_format.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

/// All grids of one problem and number of ranks.
struct RankCountModel {
  int rank_count = 1;
  std::vector<Prediction> grids;  ///< by growing Px, never empty
  /// Seconds on one rank by the number of ranks, over the seconds of the best grid.
  double efficiency = 1.0;

  [[nodiscard]] const Prediction& best() const {
    return *std::ranges::min_element(grids, {}, &Prediction::total_s);
  }
};

struct ProblemModel {
  Problem problem;
  std::vector<RankCountModel> rank_counts;
};

Prediction predict_grid(const Machine& machine, const ModelOptions& options, const Problem& problem,
                        const comm::ProcessGrid& grid) {
  const auto& condition = machine.for_ranks(grid.rank_count());
  if (options.kernel.empty()) return predict(condition, problem, grid);
  return predict(condition, condition.kernel(options.kernel), problem, grid, condition.network.sum_form);
}

std::vector<comm::ProcessGrid> grids_of(const ModelOptions& options, int rank_count) {
  if (options.grids.empty()) return comm::factorizations(rank_count);
  std::vector<comm::ProcessGrid> grids;
  for (const auto& grid : options.grids) {
    if (grid.rank_count() == rank_count) grids.push_back(grid);
  }
  return grids;
}

std::vector<int> rank_counts_of(const ModelOptions& options, int running_count) {
  auto counts = options.rank_counts;
  if (counts.empty()) {
    for (const auto& grid : options.grids) counts.push_back(grid.rank_count());
  }
  if (counts.empty()) counts.push_back(running_count);
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const auto& grid : options.grids) {
    if (std::ranges::find(counts, grid.rank_count()) == counts.end()) require_grid_of(grid, counts.front());
  }
  std::erase_if(counts, [&](int count) { return grids_of(options, count).empty(); });
  return counts;
}

std::vector<ProblemModel> model_all(const Machine& machine, const ModelOptions& options, int running_count) {
  std::vector<ProblemModel> models;
  for (const auto& problem : options.problems) {
    auto& model = models.emplace_back(ProblemModel{.problem = problem, .rank_counts = {}});
    const double one_rank_s = predict_grid(machine, options, problem, {.columns = 1, .rows = 1}).total_s();
    for (const int count : rank_counts_of(options, running_count)) {
      auto& row = model.rank_counts.emplace_back(RankCountModel{.rank_count = count, .grids = {}});
      for (const auto& grid : grids_of(options, count)) {
        row.grids.push_back(predict_grid(machine, options, problem, grid));
      }
      row.efficiency = one_rank_s / (count * row.best().total_s());
    }
  }
  return models;
}

std::string grid_table(const RankCountModel& row, double clock_hz, int product_count) {
  std::string text = fmt::format(" {:<14} {:<12}", "grid", "kernel");
  for (std::size_t k = 0; k < phase_count; ++k) text += fmt::format(" {:>14}", phase_name(phase_at(k)));
  text += fmt::format(" {:>12}", "seconds");
  if (clock_hz > 0.0) text += fmt::format(" {:>18}", "clocks per product");
  text += '\n';
  for (const auto& prediction : row.grids) {
    text += fmt::format(" {:<14} {:<12}", prediction.grid.name(), prediction.kernel);
    for (const double seconds : prediction.phases) text += fmt::format(" {:>14.6g}", seconds);
    text += fmt::format(" {:>12.6g}", prediction.total_s());
    if (clock_hz > 0.0) {
      double product_s = 0.0;
      for (const auto phase : {Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle}) {
        product_s += prediction.phase_s(phase);
      }
      text += fmt::format(" {:>18.0f}", product_s * clock_hz / product_count);
    }
    text += prediction.grid == row.best().grid ? "  best\n" : "\n";
  }
  return text;
}

std::string growth_table(const ProblemModel& model) {
  std::string text =
      fmt::format("\n Class {}: the best grid as the ranks grow\n {:>9} {:>14} {:>12} {:>11}\n",
                  model.problem.class_name, "ranks", "best grid", "seconds", "efficiency");
  for (const auto& row : model.rank_counts) {
    text += fmt::format(" {:>9} {:>14} {:>12.6g} {:>9.1f} %\n", row.rank_count, row.best().grid.name(),
                        row.best().total_s(), 100.0 * row.efficiency);
  }
  return text + " efficiency: predicted seconds on one rank / (ranks * seconds)\n";
}

std::string text_of(const Machine& machine, const std::vector<ProblemModel>& models) {
  const auto& first = machine.conditions.front();
  std::string text = fmt::format("\n cg2d model - {}{}{}\n", first.name,
                                 first.description.empty() ? "" : ": ", first.description);
  for (const auto& model : models) {
    for (const auto& row : model.rank_counts) {
      text += fmt::format("\n Class {}, {}: predicted seconds by phase\n", model.problem.class_name,
                          format_count(row.rank_count, "rank"));
      text += grid_table(row, first.clock_hz, model.problem.niter * (cg_steps_per_solve + 1));
    }
    text += growth_table(model);
  }
  return text;
}

Json phases_json(const Prediction& prediction) {
  Json json = Json::object();
  for (std::size_t k = 0; k < phase_count; ++k) {
    json[std::string(phase_name(phase_at(k)))] = prediction.phases[k];
  }
  return json;
}

std::string json_of(const Machine& machine, const std::vector<ProblemModel>& models) {
  Json json{{"schema_version", 1}, {"machine", machine.conditions.front().name}, {"problems", Json::array()}};
  for (const auto& model : models) {
    Json counts = Json::array();
    for (const auto& row : model.rank_counts) {
      Json grids = Json::array();
      for (const auto& prediction : row.grids) {
        grids.push_back({{"grid", prediction.grid.name()},
                         {"columns", prediction.grid.columns},
                         {"rows", prediction.grid.rows},
                         {"kernel", prediction.kernel},
                         {"total_s", prediction.total_s()},
                         {"phases", phases_json(prediction)}});
      }
      counts.push_back({{"ranks", row.rank_count},
                        {"best_grid", row.best().grid.name()},
                        {"total_s", row.best().total_s()},
                        {"efficiency", row.efficiency},
                        {"grids", std::move(grids)}});
    }
    json["problems"].push_back(
        {{"class", model.problem.class_name}, {"n", model.problem.n}, {"rank_counts", std::move(counts)}});
  }
  return json.dump(2) + "\n";
}

Machine described_machine(const ModelOptions& options) {
  const auto place = options.machine.empty() ? default_machine_path() : std::optional(options.machine);
  if (!place)
    throw InputError("no place for machine.json: neither XDG_CACHE_HOME nor HOME is set; give --machine");
  try {
    return find_machine(*place);
  } catch (const InputError& error) {
    if (options.machine.empty()) {
      throw InputError(
          fmt::format("{}: {}; give --machine, or make a description of this machine by mpiexec -n "
                      "RANKS cg2d model --calibrate",
                      *place, error.what()));
    }
    throw InputError(fmt::format("--machine {}: {}", *place, error.what()));
  }
}

}  // namespace

ExitCode model(const ModelOptions& options, comm::RankGroup& group) {
  const auto output = open_output(options.output, group);
  std::string text;
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    const auto machine = described_machine(options);
    const auto models = model_all(machine, options, group.size());
    text = options.format == "json" ? json_of(machine, models) : text_of(machine, models);
  });
  write_output(output.get(), group, text);
  return ExitCode::success;
}

}  // namespace cg2d
