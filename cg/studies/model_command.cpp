#include "cg/studies/model_command.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "cg/base/output_file.hpp"
#include "cg/base/table.hpp"
#include "cg/machine/cp_pacs_times.hpp"
#include "cg/solver/communicator_setup.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/tuning/trial.hpp"
#include "comm/speed_shares.hpp"

namespace cg2d {
namespace {

constexpr std::array product_phases{Phase::collection, Phase::multiply, Phase::summation, Phase::shuffle};

/// The tables of one of the paper's loops, with the machine's numbers for the same runs.
struct PaperLoop {
  const MachineDescription& machine;
  std::string kernel;
  std::string title;
  Problem problem = *find_class("B");
  MatrixFacts facts = facts_of(problem);

  ComparedTable seconds(const std::string& name, const cp_pacs::SecondsTable& paper) const {
    ComparedTable table{.name = name, .title = "class B, " + title, .unit = "s", .row_title = "units"};
    for (size_t k = 0; k < paper.size(); ++k) {
      const int units = cp_pacs::rank_counts[k];
      add_row(
          std::to_string(units), paper[k], [&](int columns) { return predicted(units, columns).total_s(); },
          table);
    }
    return table;
  }
  /// On 256 units.
  ComparedTable clocks(const std::string& name, const std::string& what,
                       std::span<const cp_pacs::ClockRow> paper) const {
    ComparedTable table{
        .name = name, .title = what + ", " + title + ", 256 units", .unit = "clocks", .row_title = "part"};
    for (const auto& row : paper)
      add_row(
          row.name, row.clocks, [&](int columns) { return clocks_of(row.name, columns); }, table);
    return table;
  }

  /// A row by Px. model(Px): the cell's number.
  template <typename Model>
  static void add_row(std::string_view name, const cp_pacs::ByColumns& paper, const Model& model,
                      ComparedTable& table) {
    auto& row = table.rows.emplace_back(ComparedRow{.name = std::string(name)});
    for (size_t k = 0; k < cp_pacs::columns.size(); ++k) {
      const int columns = cp_pacs::columns[k];
      row.cells.push_back(
          {.column = fmt::format("Px = {}", columns), .paper = paper[k], .model = model(columns)});
    }
  }

  Configuration configuration(int units, int columns) const {
    return {.grid = {.columns = columns, .rows = units / columns},
            .kernel = kernel,
            .sum_form = machine.sum_form};
  }
  Prediction predicted(int units, int columns) const {
    return predict(machine, facts, configuration(units, columns), problem.niter);
  }
  /// The clocks of a part of a product, by its phase, of one product ("matvec"), dot product ("dotpro") or vector update ("daxpy").
  double clocks_of(std::string_view name, int columns) const {
    const auto& vectors = machine.vectors;
    const double piece = static_cast<double>(problem.n) / cp_pacs::most_ranks;
    if (name == "daxpy")
      return machine.clock_hz * (vectors.update_call_s + piece * vectors.update_s_per_element);
    if (name == "dotpro") {
      const auto layout = make_layout(facts, configuration(cp_pacs::most_ranks, columns));
      const auto calls = communication_costs(machine, layout, {.sum_form = machine.sum_form});
      return machine.clock_hz *
             (calls[index_of(Phase::dot)] + vectors.dot_call_s + piece * vectors.dot_s_per_element);
    }
    const auto prediction = predicted(cp_pacs::most_ranks, columns);
    double sum = 0.0;
    for (const auto phase : product_phases) {
      if (name == "matvec" || name == phase_name(phase))
        sum += machine.clock_hz * prediction.phase_s(phase) / (OuterStepCalls::products * problem.niter);
    }
    return sum;
  }
};

std::string table_text(const ComparedTable& table) {
  const int decimals = table.unit == "clocks" ? 0 : 2;
  Table lines;
  for (const auto& row : table.rows) {
    lines.line().word(table.row_title, row.name);
    for (const auto& cell : row.cells) {
      lines.number(cell.column, "{:.{}f}", cell.paper, decimals);
      lines.number(cell.column + " model", "{:.{}f}", cell.model, decimals);
      lines.number(cell.column + " error", "{:+.1f} %", 100.0 * cell.error());
    }
  }
  const auto errors = table.errors();
  return fmt::format("\n {}: {}, {}\n{}", table.name, table.title, table.unit, lines.text()) +
         fmt::format(" errors: median {:+.1f} %, of their magnitudes {:.1f} %, worst {:+.1f} % ({}, {})\n",
                     100.0 * errors.median, 100.0 * errors.median_magnitude, 100.0 * errors.worst,
                     errors.worst_row, errors.worst_column);
}

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

  const GridModel& best() const { return *std::ranges::min_element(grids, {}, &GridModel::total_s); }
};

struct ProblemModel {
  Problem problem;
  std::vector<RankCountModel> rank_counts{};
};

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

std::set<int> rank_counts_of(const ModelOptions& options, int running_count) {
  const auto asked =
      options.rank_counts.empty() ? usual_rank_counts(options.grids, running_count) : options.rank_counts;
  std::set<int> counts(asked.begin(), asked.end());
  for (const auto& grid : options.grids.grids) {
    if (!counts.contains(grid.rank_count())) require_grid_of(grid, *counts.begin());
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

/// A line for each grid, those of as many ranks together.
std::string text_of(const Machine& machine, const std::vector<ProblemModel>& models,
                    const ModelOptions& options) {
  const auto& first = machine.conditions.front();
  const auto& cut = options.configuration.cut;
  Table table;
  for (const auto& model : models) {
    for (const auto& row : model.rank_counts) {
      for (const auto& one : row.grids) {
        table.line().word("class", model.problem.class_name).number("ranks", "{}", row.rank_count);
        table.word("grid", one.configuration.grid.name()).word("kernel", one.configuration.kernel);
        for (const auto phase : benchmark_phases)
          table.number(phase_name(phase), "{:.6g}", one.phase_s(phase));
        if (one.outside_s > 0.0) table.number("outside", "{:.6g}", one.outside_s);
        table.number("seconds", "{:.6g}", one.total_s());
        if (options.is_uneven()) table.number("of the speeds", percent_text(one.reached_share, 1));
        if (&one == &row.best()) table.number("efficiency", percent_text(row.efficiency, 1)).word("", "best");
      }
      table.gap();
    }
  }
  // The conditions of a calibrated machine differ by their numbers of ranks.
  const bool is_described = machine.conditions.size() == 1 && !first.description.empty();
  return fmt::format("\n cg2d model - {}{}{}{}: predicted seconds by phase\n\n{}", first.name,
                     is_described ? ", " + first.description : "", cut == even_cut ? "" : ", cut " + cut,
                     options.slow.empty() ? "" : ", slowed" + text_of(options.slow), table.text()) +
         " efficiency: predicted seconds on one rank / (ranks * seconds)\n" +
         (options.is_uneven()
              ? " of the speeds: speed of all products together, by the sum of the ranks' own speeds\n"
              : "");
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
    positive("Speed of all products, by the sum of the ranks' own speeds."));
  m.object("phases", [&] {
    for (const auto phase : benchmark_phases) m(phase_name(phase), one.phases[index_of(phase)], at_least(0));
  });
}

void describe(Members& m, RankCountModel& row) {
  m("ranks", row.rank_count, at_least(1));
  m.derived("best_grid", {}, [&] { return row.best().configuration.grid.name(); });
  m.derived("total_s", positive("Of the best grid."), [&] { return row.best().total_s(); });
  m("efficiency", row.efficiency, positive("Seconds on one rank by those of the best grid, by ranks."));
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
  m("slow_ranks", model.options.slow);
  m("problems", model.problems, {.meaning = "Predicted seconds of whole timed regions.", .fewest = 1});
}

std::string default_place() {
  const auto place = default_machine_path();
  if (place) return *place;
  throw InputError("no place for machine.json: neither XDG_CACHE_HOME nor HOME is set; give --machine");
}

/// The description asked for, or that of this machine by ranks with one thread.
Machine described_machine(const ModelOptions& options, const std::string& processor) {
  if (!options.machine.empty()) return find_machine(options.machine);
  constexpr std::string_view remedy =
      "give --machine, or make a description of this machine by mpiexec -n RANKS cg2d model --calibrate";
  const auto place = default_place();
  try {
    const auto text = text_of_file(place);
    if (!text) throw InputError("no such file");
    auto machine = parse_machine(*text);
    std::erase_if(machine.conditions, [&](const auto& condition) {
      return condition.name != processor || condition.calibrated_threads > 1;
    });
    if (!machine.conditions.empty()) return machine;
    throw InputError("knows nothing of ranks with one thread on this processor ({})", processor);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}; {}", place, error.what(), remedy), error.code());
  }
}

ExitCode calibrate_machine(const ModelOptions& options, comm::RankGroup& group) {
  const Progress progress(options.progress, group.rank());
  const auto environment =
      inspect_environment(group, options.configuration.thread_count, options.memory_limit_bytes, &progress);
  group.waiter().set_mode(environment.wait_mode());
  group.waiter().set_tick_source(&read_cycle_counter);
  const ThreadBinding binding(group, environment, BindMode::automatic, options.configuration.thread_count);
  const auto profile = load_profile({}, environment, group);
  std::string file;  // of rank 0: it holds nothing but descriptions
  agree_on(group, [&] {
    if (group.rank() != 0) return;
    if (row_named(shipped_machines(), options.machine) != nullptr)
      throw InputError("--machine {}: comes with cg2d, and is not changed; name a file", options.machine);
    file = options.machine.empty() ? default_place() : options.machine;
    machine_file.require_writable(file, options.machine.empty());
  });
  const auto output = open_output(options.output, group);
  std::vector<std::unique_ptr<MatrixSource>> sources;
  for (const auto& problem : options.problems) sources.push_back(default_source().make(problem));
  const Configuration configuration{.thread_count = options.configuration.thread_count};
  const CalibrationConfig config{
      .sources = sources, .configuration = configuration, .environment = environment, .profile = profile};
  MachineDescription machine;
  const auto measure = [&] {
    machine = calibrate(group, config, progress);
    return why_unphysical(machine, environment.oversubscribed);
  };
  const auto refusal =
      measure_with_retries(group, {.name = "--calibrate",
                                   .environment = environment,
                                   .keeps_disturbed = options.keeps_disturbed,
                                   .say = [&](const std::string& line) { progress.say(line); },
                                   .record = machine.measured,
                                   .measure = measure});
  std::string kept;
  const auto show = [&] {
    write_output(output.get(), group, [&] {
      return fmt::format("\n cg2d model --calibrate - {}, {} x {}, {}\n{}", machine.name,
                         format_count(machine.calibrated_ranks, "rank"),
                         format_count(machine.calibrated_threads, "thread"), describe(machine.measured),
                         kept);
    });
  };
  const auto keep = [&] {
    if (!refusal.empty()) throw RunError(ExitCode::try_again, "--calibrate: {}", refusal);
    agree_on(group, [&] {
      if (group.rank() != 0) return;
      machine_file.change(file, [&](Machine& known) { known.put(machine); });
    });
    kept = fmt::format(
        "\n Written to {}; {}\n", file,
        options.machine.empty() ? "cg2d model and cg2d run use it" : "cg2d model --machine takes it");
  };
  write_each(group, {keep, show});
  return ExitCode::success;
}

}  // namespace

void require_described(const MachineDescription& condition, const std::string& transport) {
  const auto& usual = comm::default_transport();
  if (comm::find_transport(transport) == &usual || row_named(condition.transports, transport) != nullptr)
    return;
  auto known = names_of(condition.transports);
  known.insert(known.begin(), std::string(usual.name));
  throw InputError("--transport {}: the description of {} has no network of it; it has {}", transport,
                   condition.name, fmt::join(known, ", "));
}

void visit_model(Members& m) { visit_new<MachineModel>(m); }

ExitCode model(const ModelOptions& options, comm::RankGroup& group) {
  if (options.calibrates) return calibrate_machine(options, group);
  const auto environment = inspect_environment(group, options.configuration.thread_count);
  write_output(options.output, group, [&] {
    if (options.shows_template) {
      if (const auto* const row = row_named(shipped_machines(), options.machine))
        return std::string(row->text);
      throw InputError("--machine {}: --template has the machines that come with cg2d ({})", options.machine,
                       shipped_machine_names());
    }
    const auto machine = described_machine(options, environment.nodes.front().processor_with_caches());
    if (options.compares_paper) {
      const auto& condition = machine.for_ranks(group.size());
      const PaperComparison comparison{condition.name, compared_tables(condition)};
      if (options.format == "json") return document_text(comparison);
      auto text = fmt::format("\n cg2d model --paper - {}: {}\n", condition.name, condition.description);
      for (const auto& table : comparison.tables) text += table_text(table);
      return text + " error: model / paper - 1\n";
    }
    const auto models = model_all(machine, options, group.size());
    return options.format == "json"
               ? document_text(MachineModel{machine.conditions.front().name, options, models})
               : text_of(machine, models, options);
  });
  return ExitCode::success;
}

ComparisonErrors ComparedTable::errors() const {
  ComparisonErrors errors;
  std::vector<double> all;
  for (const auto& row : rows) {
    for (const auto& cell : row.cells) {
      all.push_back(cell.error());
      if (std::abs(all.back()) < std::abs(errors.worst)) continue;
      errors.worst = all.back();
      errors.worst_row = row.name;
      errors.worst_column = cell.column;
    }
  }
  errors.median = middle_of(all);
  for (double& error : all) error = std::abs(error);
  errors.median_magnitude = middle_of(std::move(all));
  return errors;
}

std::vector<ComparedTable> compared_tables(const MachineDescription& machine) {
  if (machine.clock_hz <= 0.0)
    throw InputError("machine {} has no \"clock_hz\", in which the paper's tables are", machine.name);
  // Kernels of the descriptions of CP-PACS.
  const PaperLoop compiled{machine, "compiled", "compiled loop, critical vector length 50"};
  const PaperLoop by_hand{machine, "hand-made", "hand-made loop, critical vector length 20"};
  return {compiled.seconds("Table 2", cp_pacs::table_2),
          compiled.clocks("Table 3", "one product, dot product and update", cp_pacs::table_3),
          compiled.clocks("Table 4", "parts of a product", cp_pacs::table_4),
          by_hand.clocks("Table 5", "part of a product", cp_pacs::table_5),
          by_hand.seconds("Table 6", cp_pacs::table_6)};
}

void describe(Members& m, ComparedTable& table) {
  m("name", table.name, not_empty());
  m("title", table.title, not_empty());
  m("unit", table.unit, meaning("s or clocks"));
  m("row_title", table.row_title, not_empty());
  m.list("rows", table.rows, {.fewest = 1}, [&](ComparedRow& row, size_t /*index*/) {
    m("name", row.name, not_empty());
    m.list("cells", row.cells, {.fewest = 1}, [&](ComparedCell& cell, size_t /*index*/) {
      m("column", cell.column, not_empty());
      m("paper", cell.paper, positive());
      m("model", cell.model, at_least(0));
      m.derived("error", cell.error(), meaning("model / paper - 1."));
    });
  });
  m.object("errors", [&] {
    const auto errors = table.errors();
    m.derived("median", errors.median, meaning("With its sign."));
    m.derived("median_magnitude", errors.median_magnitude, at_least(0));
    m.derived("worst", errors.worst, meaning("The largest magnitude, with its sign."));
    m.derived("worst_row", errors.worst_row);
    m.derived("worst_column", errors.worst_column);
  });
}

void describe(Members& m, PaperComparison& comparison) {
  m.constant("schema_version", 1);
  m("machine", comparison.machine, not_empty());
  m("tables", comparison.tables, {.meaning = "Each number of the paper beside the model's.", .fewest = 1});
}

}  // namespace cg2d
