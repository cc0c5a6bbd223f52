#include "cg/studies/model_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "cg/base/agreement.hpp"
#include "cg/base/describe.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/machine/machine_description.hpp"
#include "cg/machine/performance_model.hpp"
#include "cg/machine/physical_bounds.hpp"
#include "cg/machine/thread_binding.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/studies/paper_comparison.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/calibration.hpp"
#include "cg/tuning/kernel_choice.hpp"
#include "cg/tuning/retried_measurement.hpp"
#include "cg/tuning/tuning_profile.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {
namespace {

/// One grid.
struct GridModel : Prediction {
  /// Speed of the products of all ranks together with these pieces, by the sum of the ranks' own speeds.
  double reached_share = 1.0;
};

/// All grids of one problem and number of ranks.
struct RankCountModel {
  int rank_count = 1;
  std::vector<GridModel> grids{};  ///< by growing Px, never empty
  /// Seconds on one rank / (number of ranks * seconds of the best grid).
  double efficiency = 1.0;

  [[nodiscard]] const GridModel& best() const {
    return *std::ranges::min_element(grids, {}, &GridModel::total_s);
  }
};

struct ProblemModel {
  Problem problem;
  std::vector<RankCountModel> rank_counts{};
};

/// Throws InputError if the description has no network of the transport.
void require_described(const MachineDescription& condition, const std::string& transport) {
  if (comm::find_transport(transport) == &comm::default_transport()) return;
  std::string known(comm::default_transport().name);
  for (const auto& described : condition.transports) {
    if (described.name == transport) return;
    known += ", " + described.name;
  }
  throw InputError(fmt::format("--transport {}: the description of {} has no network of it; it has {}",
                               transport, condition.name, known));
}

/// Places and shares of the nonzeros by --cut, for ranks of these speeds; rows are taken to be about equally long.
comm::SpeedShares shares_for(const std::string& cut_text, std::span<const double> speeds,
                             const comm::ProcessGrid& grid) {
  const auto cut = matrix_cut_from(cut_text);
  if (cut.kind == MatrixCut::Kind::speed) return comm::shares_on_grid(speeds, grid);
  auto pieces = cut.kind == MatrixCut::Kind::file ? shares_of_file(cut.path, grid.rank_count())
                                                  : comm::equal_shares(grid.rank_count());
  const double sum = comm::sums_before(pieces).back();
  for (double& piece : pieces) piece /= sum;
  const double reachable = comm::speed_of_shares(pieces, speeds, grid);
  return {.grid = grid, .pieces = std::move(pieces), .reachable = reachable};
}

GridModel predict_grid(const Machine& machine, const ModelOptions& options, const Problem& problem,
                       const comm::ProcessGrid& grid) {
  const int rank_count = grid.rank_count();
  const auto& described = machine.for_ranks(rank_count);
  require_described(described, options.configuration.transport);
  auto configuration = options.configuration;
  configuration.grid = grid;
  configuration.sum_form = described.sum_form;
  auto matrix = facts_of(problem);
  if (!options.is_uneven()) return {predict(described, matrix, configuration, problem.niter)};
  require_ranks(options.slow, rank_count);
  auto speeds = factors_at(options.slow, rank_count, 0);
  for (double& speed : speeds) speed = 1.0 / speed;
  const auto shares = shares_for(configuration.cut, speeds, grid);
  configuration.grid = shares.grid;
  if (configuration.cut != even_cut)
    matrix.piece_starts = comm::piece_starts_of_shares(matrix.key.order, shares.pieces);
  return {predict(described, matrix, configuration, problem.niter, {.slow = options.slow}),
          shares.reachable / comm::sums_before(speeds).back()};
}

std::vector<int> rank_counts_of(const ModelOptions& options, int running_count) {
  auto counts = options.rank_counts;
  if (counts.empty()) counts = usual_rank_counts(options.grids, running_count);
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  for (const auto& grid : options.grids.grids) {
    if (std::ranges::find(counts, grid.rank_count()) == counts.end()) require_grid_of(grid, counts.front());
  }
  std::erase_if(counts, [&](int count) { return grids_for(options.grids, count).empty(); });
  return counts;
}

std::vector<ProblemModel> model_all(const Machine& machine, const ModelOptions& options, int running_count) {
  std::vector<ProblemModel> models;
  for (const auto& problem : options.problems) {
    auto& model = models.emplace_back(ProblemModel{.problem = problem});
    auto alone = options;
    alone.slow = {};
    alone.configuration.cut = even_cut;
    const auto predicted = [&](const ModelOptions& asked, const comm::ProcessGrid& grid) {
      auto one = predict_grid(machine, asked, problem, grid);
      require_some_time(one.total_s(), one.machine, one.configuration.kernel);
      return one;
    };
    const double one_rank_s = predicted(alone, {.columns = 1, .rows = 1}).total_s();
    for (const int count : rank_counts_of(options, running_count)) {
      auto& row = model.rank_counts.emplace_back(RankCountModel{.rank_count = count});
      for (const auto& grid : grids_for(options.grids, count)) row.grids.push_back(predicted(options, grid));
      row.efficiency = one_rank_s / (count * row.best().total_s());
    }
  }
  return models;
}

/// ", cut speed, slowed rank 1 by 2", as far as they are given.
std::string unevenness_text(const ModelOptions& options) {
  const auto& cut = options.configuration.cut;
  return (cut == even_cut ? "" : ", cut " + cut) +
         (options.slow.ranks.empty() ? "" : ", slowed" + describe(options.slow));
}

std::string grid_table(const RankCountModel& row, double clock_hz, int product_count, bool is_uneven) {
  const bool has_outside =
      std::ranges::any_of(row.grids, [](const auto& one) { return one.outside_s > 0.0; });
  Table table;
  for (const auto& one : row.grids) {
    table.line().word("grid", one.configuration.grid.name()).word("kernel", one.configuration.kernel);
    for (std::size_t k = 0; k < benchmark_phase_count; ++k)
      table.number(phase_name(phase_at(k)), "{:.6g}", one.phases[k]);
    if (has_outside) table.number("outside", "{:.6g}", one.outside_s);
    table.number("seconds", "{:.6g}", one.total_s());
    if (is_uneven) table.number("of the speeds", percent_text(one.reached_share, 1));
    if (clock_hz > 0.0) {
      double product_s = 0.0;
      for (const auto phase : {Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle})
        product_s += one.phase_s(phase);
      table.number("clocks per product", "{:.0f}", product_s * clock_hz / product_count);
    }
    table.word("", &one == &row.best() ? "best" : "");
  }
  return table.text();
}

std::string growth_table(const ProblemModel& model) {
  Table table;
  for (const auto& row : model.rank_counts) {
    table.line().number("ranks", "{}", row.rank_count);
    table.word("best grid", row.best().configuration.grid.name());
    table.number("seconds", "{:.6g}", row.best().total_s());
    table.number("efficiency", percent_text(row.efficiency, 1));
  }
  return fmt::format("\n Class {}: the best grid as the ranks grow\n{}", model.problem.class_name,
                     table.text()) +
         " efficiency: predicted seconds on one rank / (ranks * seconds)\n";
}

/// Empty for a condition without a description.
std::string described(const MachineDescription& condition, std::string_view separator) {
  return condition.description.empty() ? "" : fmt::format("{}{}", separator, condition.description);
}

std::string text_of(const Machine& machine, const std::vector<ProblemModel>& models,
                    const ModelOptions& options) {
  const auto& first = machine.conditions.front();
  // The conditions of a calibrated machine differ by their numbers of ranks.
  const bool is_one = machine.conditions.size() == 1;
  std::string text = fmt::format("\n cg2d model - {}{}\n", first.name, is_one ? described(first, ": ") : "");
  for (const auto& model : models) {
    for (const auto& row : model.rank_counts) {
      const auto& condition = machine.for_ranks(row.rank_count);
      text += fmt::format("\n Class {}, {}{}: predicted seconds by phase{}\n", model.problem.class_name,
                          format_count(row.rank_count, "rank"), unevenness_text(options),
                          is_one ? "" : described(condition, ", "));
      text += grid_table(row, condition.clock_hz, model.problem.niter * OuterStepCalls::products,
                         options.is_uneven());
    }
    text += growth_table(model);
  }
  if (options.is_uneven())
    text += " of the speeds: speed of all products together, by the sum of the ranks' own speeds\n";
  return text;
}

/// The predictions for all problems.
struct MachineModel {
  std::string machine;
  ModelOptions options;
  std::vector<ProblemModel> problems;
};

void describe(Members& m, GridModel& one) {
  describe_name(m, "grid", one.configuration.grid);
  m.derived("columns", one.configuration.grid.columns, at_least(1));
  m.derived("rows", one.configuration.grid.rows, at_least(1));
  m("kernel", one.configuration.kernel);
  m.derived("total_s", one.total_s(), positive());
  m("outside_s", one.outside_s, at_least(0, "Outside of the phases."));
  m("reached_share", one.reached_share,
    positive("Speed of the products of all ranks together, by the sum of the ranks' own speeds."));
  m.object("phases", [&] {
    for (const auto phase : benchmark_phases) m(phase_name(phase), one.phases[index_of(phase)], at_least(0));
  });
}

void describe(Members& m, RankCountModel& row) {
  m("ranks", row.rank_count, at_least(1));
  m.derived("best_grid", {}, [&] { return row.best().configuration.grid.name(); });
  m.derived("total_s", positive("Of the best grid."), [&] { return row.best().total_s(); });
  m("efficiency", row.efficiency,
    positive("Predicted seconds on one rank by those of the best grid, by ranks."));
  m("grids", row.grids, {.meaning = "By growing columns.", .fewest = 1});
}

void describe(Members& m, ProblemModel& model) {
  m("class", model.problem.class_name, not_empty());
  m("n", model.problem.n, at_least(1));
  m("rank_counts", model.rank_counts);
}

void describe(Members& m, MachineModel& model) {
  m.constant("schema_version", 1);
  m("machine", model.machine, not_empty());
  m("cut", model.options.configuration.cut);
  m("slow_ranks", model.options.slow.ranks);
  m("problems", model.problems, {.meaning = "Predicted seconds of whole timed regions.", .fewest = 1});
}

std::string paper_of(const MachineDescription& machine, std::string_view format) {
  return format == "json" ? document_text(PaperComparison{machine.name, compared_tables(machine)})
                          : comparison_text(machine);
}

std::string default_place() {
  const auto place = default_machine_path();
  if (place) return *place;
  throw InputError("no place for machine.json: neither XDG_CACHE_HOME nor HOME is set; give --machine");
}

std::string template_named(const std::string& name) {
  for (const auto& machine : shipped_machines()) {
    if (machine.name == name) return std::string(machine.text);
  }
  throw InputError(fmt::format("--machine {}: --template has the machines that come with cg2d ({})", name,
                               shipped_machine_names()));
}

/// The description asked for, or that of this machine.
Machine described_machine(const ModelOptions& options, const std::string& processor) {
  if (!options.machine.empty()) return find_machine(options.machine);
  constexpr std::string_view remedy =
      "give --machine, or make a description of this machine by mpiexec -n RANKS cg2d model --calibrate";
  const auto place = default_place();
  try {
    const auto text = text_of_file(place);
    if (!text) throw InputError("no such file");
    if (auto machine = machine_named(parse_machine(*text), processor)) return *machine;
    throw InputError(fmt::format("knows nothing of this processor ({})", processor));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}; {}", place, error.what(), remedy), error.code());
  }
}

/// The descriptions in the file of a calibration; none where it is missing. Throws InputError for any other file.
Machine machine_in(const std::string& path) {
  try {
    const auto text = text_of_file(path);
    return text && !text->empty() ? parse_machine(*text) : Machine{};
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("--machine {}: is there, and no machine description: {}; name another file or "
                    "remove it",
                    path, error.what()),
        error.code());
  }
}

/// The file of a calibration, checked before anything is measured: it can be written, and holds nothing but descriptions.
std::string writable_place(const ModelOptions& options) {
  auto path = options.machine.empty() ? default_place() : options.machine;
  std::error_code ignored;
  if (options.machine.empty())
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  static_cast<void>(machine_in(path));
  const OutputFile writable(path);
  return path;
}

std::string network_line(std::string_view transport, const NetworkCost& network) {
  const auto rate = std::isfinite(network.bytes_per_s)
                        ? fmt::format("bytes / {:.3f} GB/s", network.bytes_per_s / 1e9)
                        : std::string("nothing measurable per byte");
  return fmt::format(" {:<15} = {:.3f} us + {} a message, {:.3f} ns an addition\n", transport,
                     1e6 * network.start_up_s, rate, 1e9 * network.add_s_per_element);
}

std::string calibration_text(const MachineDescription& machine) {
  constexpr double micro = 1e6;
  constexpr double nano = 1e9;
  std::string text = fmt::format("\n cg2d model --calibrate - {}, {} x {}\n\n", machine.name,
                                 format_count(machine.calibrated_ranks, "rank"),
                                 format_count(machine.calibrated_threads, "thread"));
  text += network_line(comm::default_transport().name, machine.network);
  for (const auto& transport : machine.transports) text += network_line(transport.name, transport.network);
  text += fmt::format(" dot product     = {:.3f} ns per element\n", nano * machine.vectors.dot_s_per_element);
  text += fmt::format(" vector update   = {:.3f} us + {:.3f} ns per element\n\n",
                      micro * machine.vectors.update_call_s, nano * machine.vectors.update_s_per_element);
  Table table;
  for (const auto& kernel : machine.kernels) {
    for (const auto& shape : kernel.shapes) {
      table.line().word("kernel", kernel.name).number("rows", "{:.0f}", shape.rows);
      table.number("columns", "{:.0f}", shape.columns).number("nonzeros", "{:.0f}", shape.nonzeros);
      table.number("ns/nonzero", "{:.4f}", nano * shape.seconds_per_nonzero);
      table.number("waiting", percent_text(shape.waiting_share, 1));
    }
  }
  text += table.text();
  if (!machine.measured.disturbance.empty())
    text += fmt::format("\n Disturbed: {}\n", machine.measured.disturbance);
  return text;
}

ExitCode calibrate_machine(const ModelOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto environment =
      inspect_environment(group, options.configuration.thread_count, options.memory_limit_bytes, progress);
  group.waiter().set_mode(environment.wait_mode());
  group.waiter().set_tick_source(&read_cycle_counter);
  const ThreadBinding binding(group, environment, BindMode::automatic, options.configuration.thread_count);
  const auto profile = load_profile({}, environment, group);
  std::string place;  // on rank 0
  agree_on(group, [&] {
    if (group.rank() == 0) place = writable_place(options);
  });
  const auto output = open_output(options.output, group);
  std::vector<std::unique_ptr<MatrixSource>> sources;
  for (const auto& problem : options.problems) sources.push_back(default_source().make(problem));
  const Configuration configuration{.thread_count = options.configuration.thread_count};
  const CalibrationConfig config{
      .sources = sources, .configuration = configuration, .environment = environment, .profile = profile};
  PlannedProgress planned(progress, works_of_calibration(group, config));
  const std::function<void(const std::string&)> say = [&](const std::string& stage) { planned.say(stage); };
  auto calibration = measure_or_refuse(
      group,
      {.environment = environment,
       .thread_count = configuration.thread_count,
       .keeps_disturbed = options.keeps_disturbed,
       .say = say},
      "--calibrate", [&] { return calibrate(group, config, say); },
      [&](const auto& result) { return why_unphysical(result.machine, environment.oversubscribed); },
      [&](const auto& refused) {
        auto machine = refused.result.machine;
        machine.measured = refused.record;
        write_output(output.get(), group, [&] { return calibration_text(machine); });
      });
  auto machine = std::move(calibration.result.machine);
  machine.measured = std::move(calibration.record);
  bool is_kept = false;
  write_each(group, {[&] {
                       agree_on(group, [&] {
                         if (group.rank() != 0) return;
                         // Other descriptions stay, those that other processes add at the same time among them.
                         update_file(place, [&] {
                           auto known = machine_in(place);
                           known.put(machine);
                           return format_machine(known);
                         });
                       });
                       is_kept = true;
                     },
                     [&] {
                       write_output(output.get(), group, [&] {
                         const auto text = calibration_text(machine);
                         return is_kept
                                    ? text + fmt::format("\n Written to {}; cg2d model and cg2d run use it\n",
                                                         place)
                                    : text;
                       });
                     }});
  return ExitCode::success;
}

}  // namespace

void visit_model(Members& m) { visit_new<MachineModel>(m); }

ExitCode model(const ModelOptions& options, comm::RankGroup& group) {
  if (options.calibrates) return calibrate_machine(options, group);
  const auto environment = inspect_environment(group, options.configuration.thread_count);
  write_output(options.output, group, [&] {
    if (options.shows_template) return template_named(options.machine);
    const auto machine = described_machine(options, environment.nodes.front().processor_with_caches());
    if (options.compares_paper) return paper_of(machine.for_ranks(group.size()), options.format);
    const auto models = model_all(machine, options, group.size());
    return options.format == "json"
               ? document_text(MachineModel{machine.conditions.front().name, options, models})
               : text_of(machine, models, options);
  });
  return ExitCode::success;
}

}  // namespace cg2d
