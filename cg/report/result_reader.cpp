#include "cg/report/result_reader.hpp"

#include <set>
#include <tuple>

#include "cg/base/describe_json.hpp"
#include "cg/base/output_file.hpp"
#include "cg/report/report.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

CommunicationShares communication_shares(const RepeatReport& repeat) {
  CommunicationShares shares;
  for (const auto& rank : repeat.ranks) {
    const double whole = static_cast<double>(rank.region_clocks) * static_cast<double>(repeat.ranks.size());
    double clocks = 0.0;
    double waited_clocks = 0.0;
    for (const auto& phase : phase_table()) {
      if (!phase.communicates()) continue;
      const auto& record = rank.phases.at(index_of(phase.phase));
      clocks += static_cast<double>(record.clocks);
      waited_clocks += static_cast<double>(record.waited_clocks);
    }
    shares.moving += (clocks - waited_clocks) / whole;
    shares.waiting += waited_clocks / whole;
  }
  return shares;
}

Named<PhaseValues> events_of(const PhaseFigures& figures) {
  Named<PhaseValues> events;
  const auto& names = figures.report.counters.counted;
  for (size_t event = 0; event < std::min(names.size(), most_counted_events); ++event) {
    const auto totals = event_totals(figures, event);
    auto& counts = events.emplace_back(names[event], PhaseValues{}).second;
    std::ranges::transform(benchmark_phases, counts.begin(),
                           [&](Phase phase) { return totals.phases[index_of(phase)].mean; });
  }
  return events;
}

/// The configuration that was asked for, of a run that no sweep made.
ConfiguredProblem asked_of(const RunReport& report) {
  ConfiguredProblem asked{.problem = problem_name(report.problem)};
  if (!report.is_resolved) return asked;
  asked.configuration = report.configuration;
  if (report.kernel_choice.kernel_origin != ChoiceOrigin::asked_for)
    asked.configuration.kernel = automatic_choice;
  const auto& stream = report.features.out_of_core;
  if (stream.folders.empty()) return asked;
  asked.storage = "streamed";
  // Written exactly: runs with different limits must not be taken for repeats.
  if (stream.memory_limit_bytes != 0)
    asked.storage += fmt::format(" within {:.15g} MB", static_cast<double>(stream.memory_limit_bytes) / 1e6);
  return asked;
}

constexpr std::array<std::string_view, 3> purpose_options{"", "--papi", "--roofline"};

/// The option that made the run slower than it would be, or its time that of a part; empty for none.
template <typename Document>
std::string slowing_option(const Document& document) {
  const auto& report = document.report;
  const auto& features = report.features;
  if (document.sweep && document.sweep->purpose != RunPurpose::time)
    return std::string{purpose_options.at(static_cast<size_t>(document.sweep->purpose))};
  if (!report.counters.asked.empty()) return "--papi";
  if (document.roofline) return "--roofline";
  if (report.restart) return "--restart";
  if (!features.checkpoints.folder.empty()) return "--checkpoint";
  if (!features.slow_ranks.empty()) return "--slow-rank";
  if (features.moves) return "--rebalance";
  if (report.environment && report.environment->beside_other_tasks) return "batch without --exclusive";
  return {};
}

/// Whether it may differ though the same was asked for: an automatic choice, program or machine; only the date always does.
bool is_fact(const ShownFigure& figure) {
  constexpr std::array<std::string_view, 4> members{"program", "provenance", "environment", "configuration"};
  return !figure.is_metric && !figure.label.empty() && figure.path.back() != "time" &&
         std::ranges::find(members, figure.path.front()) != members.end();
}

constexpr std::string_view single_run_complaint = "it holds the result of a single run, not those of a sweep";

/// Whether it is the result of a run or of a solve: no other document of cg2d has both keys.
bool is_result(const Json& json) {
  return json.contains("configuration") && (json.contains("problem") || json.contains("system"));
}

/// The key of a line of cg2d batch, beside which its result stands.
constexpr auto batch_key = "task";

/// is_of_sweep: every line has the key "sweep"; a file of results may have lines of single runs and of cg2d batch, too.
std::vector<ResultRecord> records_of_lines(std::string_view whole_lines, bool is_of_sweep) {
  std::vector<ResultRecord> records;
  int number = 0;
  for (const auto line : lines_of(whole_lines)) {
    ++number;
    try {
      auto run = json_from(line);
      if (run.contains(batch_key)) {
        auto result = run.at("result");  // null, or another document, where the task was no run
        run = is_result(result) && result.contains("problem") ? std::move(result) : Json(nullptr);
      }
      if (!run.is_null()) {
        records.push_back(record_from(run));
        records.back().place = fmt::format("{}", number);
      }
      if (is_of_sweep && !run.contains("sweep")) throw InputError(std::string(single_run_complaint));
    } catch (const nlohmann::json::exception& error) {
      throw InputError("line {} is no result of cg2d ({})", number, plain_text(error));
    } catch (const InputError& error) {
      throw InputError(fmt::format("line {}: {}", number, error.what()), error.code());
    }
  }
  mark_replaced(records);
  return records;
}

/// The text's JSON where it is one object, whole, and not a sweep's. Throws InputError, see json_from().
std::optional<Json> single_run_in(std::string_view text) {
  try {
    auto json = json_from(text);
    if (json.is_object() && !json.contains("sweep") && !json.contains(batch_key)) return json;
  } catch (const nlohmann::json::exception&) {
  }
  return std::nullopt;
}

/// The part of a run alone.
void take(const RunDocument& run, ResultRecord& record) {
  if (!run.sweep) record.asked = asked_of(run.report);
  record.n = run.report.problem.n;
  record.disturbance = disturbance(run.report);
  if (!run.has_result) return;
  for (const auto& repeat : run.report.repeats) {
    record.times_s.push_back(repeat.time_s);
    record.were_disturbed.push_back(repeat.quiet.is_disturbed());
  }
  const auto figures = phases_of(run.report);
  record.time_s = figures.repeat.time_s;
  record.shares = communication_shares(figures.repeat);
  const auto& steps = figures.repeat.steps;
  if (run.report.code == ExitCode::success && !steps.empty()) record.zeta = steps.back().zeta;
  if (figures.is_known()) record.work = {.step_count = figures.step_count, .phases = phase_shares(figures)};
  record.events = events_of(figures);
  if (run.roofline) record.limits = run.roofline->shares;
  record.prediction = run.report.prediction;
}

/// The part of a solve alone.
void take(const SolveDocument& solve, ResultRecord& record) {
  if (!solve.sweep) throw InputError("it is a result of cg2d solve, and not one of a sweep");
  if (solve.sweep->asked.form.empty()) throw InputError("its form is empty");
  const auto& report = solve.report;
  record.arrangement = report.matrix_free           ? report.matrix_free->arrangement
                       : record.arrangement.empty() ? ""
                                                    : "grid " + record.arrangement;
  if (report.matrix) record.n = report.matrix->order;
  if (report.quiet) record.disturbance = report.quiet->reason();
  if (!report.solution) return;
  record.time_s = report.repeat.time_s;
  record.times_s = {record.time_s};
  record.shares = communication_shares(report.repeat);
  record.iteration_count = report.solution->result.step_count;
}

/// The record of a result, without its metrics and facts. Throws InputError.
template <typename Document>
ResultRecord record_of(const Json& run) {
  const auto document = from_json<Document>(run);
  const auto& report = document.report;
  constexpr bool is_system = std::is_same_v<Document, SolveDocument>;
  ResultRecord record;
  record.is_in_sweep = document.sweep.has_value();
  if (record.is_in_sweep) static_cast<SweptRun&>(record) = *document.sweep;
  if (report.is_resolved) {
    record.kernel_used = report.configuration.kernel;
    record.arrangement = report.configuration.grid.name();
  }
  take(document, record);
  for (const double time_s : record.times_s) {  // with others nothing can be computed
    if (!(time_s > 0.0 && is_computable(time_s)))
      throw InputError(fmt::format("its time is {:g} s: it must be within {:g} ... {:g}", time_s,
                                   least_magnitude, greatest_magnitude),
                       ExitCode::bad_data);
  }
  record.status = status_name(report.code);
  record.reason = report.reason;
  record.exit_code = static_cast<int>(report.code);
  record.warnings = report.warnings;
  record.slowed_by = slowing_option(document);
  if (report.environment) record.maker = maker_of(*report.environment, document.program_version);
  record.conditions = record.maker + (record.work || is_system ? "" : ", phases not timed");
  return record;
}

}  // namespace

std::string maker_of(const Environment& environment, std::string_view program_version) {
  const auto& node = environment.nodes.front();
  auto text = fmt::format("cg2d {}, {} {}, {}, {}", program_version, environment.compiler, environment.flags,
                          environment.mpi_version, node.processor);
  for (const auto& cache : node.caches) text += fmt::format(", L{} {}", cache.level, cache.byte_count);
  return text;
}

std::span<const NamedValue<RunPurpose>> words_of(RunPurpose /*purpose*/) {
  static constexpr std::array words{NamedValue<RunPurpose>{"time", RunPurpose::time},
                                    NamedValue<RunPurpose>{"counters", RunPurpose::counters},
                                    NamedValue<RunPurpose>{"limits", RunPurpose::limits}};
  return words;
}

void mark_replaced(std::vector<ResultRecord>& records) {
  using Round = std::tuple<std::string, std::string, bool, RunPurpose, int>;
  const auto round_of = [](const ResultRecord& record) {
    return Round(record.session, record.asked.key(), record.is_arrangement_open, record.purpose,
                 record.round);
  };
  std::map<Round, int> last_attempts;
  for (const auto& record : records) {
    auto& last = last_attempts[round_of(record)];
    last = std::max(last, record.attempt);
  }
  for (auto& record : records) record.is_replaced = record.attempt < last_attempts.at(round_of(record));
}

std::string_view ConfiguredProblem::usual_cut() const {
  return form == matrix_form ? nonzeros_cut : even_cut;
}

std::string ConfiguredProblem::arrangement() const {
  if (!cuts_domain()) return configuration.grid.name();
  return form.substr(std::min(form.size(), domain_form.size() + 1));
}

ConfiguredProblem ConfiguredProblem::without_arrangement() const {
  auto common = *this;
  common.configuration.grid = {.columns = 0, .rows = 0};
  if (cuts_domain()) common.form = domain_form;
  return common;
}

std::string ConfiguredProblem::choices() const {
  auto text = configuration_key(configuration);
  if (!storage.empty()) text += " " + storage;
  if (!is_matrix_free()) return text;
  return cuts_domain() ? form + text.substr(configuration.grid.name().size()) : text + ", " + form;
}

std::string system_name(const SystemOptions& system) {
  auto text = fmt::format("{}, {}", system.matrix_text(), format_count(system.most_iterations, "iteration"));
  const auto add_unusual = [&](const std::string& name, std::string_view usual) {
    if (name != usual) text += ", " + name;
  };
  add_unusual(system.preconditioner, preconditioner_table().front().name);
  add_unusual(system.variant, cg_variant_table().front().name);
  if (system.symmetrize_tolerance) text += fmt::format(", symmetrized to {}", *system.symmetrize_tolerance);
  return text_in_json(text);
}

ResultRecord record_from(const Json& run) {
  if (const auto& version = run.at("schema_version"); version != result_schema_version)
    throw InputError("its schema_version is {}, not {}: another program wrote it, make it anew",
                     json_text(version), result_schema_version);
  const bool is_solve = run.contains("system");
  auto record = is_solve ? record_of<SolveDocument>(run) : record_of<RunDocument>(run);
  for (const auto& figure : is_solve ? solve_figures() : run_figures()) {
    if (!figure.is_metric && !is_fact(figure)) continue;
    const auto value = figure.value_in(run);
    if (figure.is_metric && value.is_number())
      record.metrics.push_back({.figure = &figure, .value = value.get<double>()});
    else if (!figure.is_metric && value.is_primitive() && !value.is_null() && value != Json(""))
      record.facts.emplace_back(figure.label,
                                value.is_string() ? value.get<std::string>() : json_text(value));
  }
  return record;
}

std::vector<ResultRecord> parse_results(std::string_view text) {
  // One object: over many lines, as cg2d run writes it, or made compact.
  const auto json = single_run_in(text);
  if (!json) {
    // A last line without its end is whole where an editor took the end away.
    const auto end = complete_lines(text);
    return records_of_lines(Json::accept(text.substr(end)) ? text : text.substr(0, end), false);
  }
  if (!is_result(*json))
    throw InputError("no result of cg2d run or solve (cg2d report shows other documents, too)");
  try {
    return {record_from(*json)};
  } catch (const nlohmann::json::exception& error) {
    throw InputError("no result of cg2d ({})", plain_text(error));
  }
}

std::vector<ResultRecord> parse_sweep(std::string_view text) {
  const auto rest = text.substr(complete_lines(text));
  // The key "sweep" is the last one of a line: a complete object without it is not a sweep's.
  for (const auto part : {text, rest}) {
    if (single_run_in(part)) throw InputError(std::string(single_run_complaint));
  }
  // Without an end of line it can be the first line of a killed sweep. A foreign file must not be taken for that: it would be dropped.
  const auto beginning =
      fmt::format(R"({{"schema_version":{},"program":{{"name":"cg2d",)", result_schema_version);
  const bool is_part_of_line = rest.starts_with(beginning) || beginning.starts_with(rest);
  if (rest.size() == text.size() && !is_part_of_line) throw InputError("it was not written by a sweep");
  return records_of_lines(text.substr(0, complete_lines(text)), true);
}

std::vector<ResultRecord> read_results(const std::string& path) {
  std::optional<std::string> text;
  try {
    text = text_of_file(path);
    if (!text) throw InputError("there is no such file");
    auto records = parse_results(*text);
    if (records.empty()) throw InputError("it holds no result");
    for (auto& record : records) {
      record.place = record.place.empty() ? path : path + ":" + record.place;
    }
    return records;
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("{}: {}; give a result of cg2d run --format json or of cg2d sweep", path, error.what()),
        text && error.code() == ExitCode::usage ? ExitCode::bad_data : error.code());
  }
}

std::vector<ResultRecord> read_all_results(const std::vector<std::string>& paths) {
  std::vector<ResultRecord> records;
  std::set<std::string> identities;
  for (const auto& path : paths) {
    const auto identity = file_identity(path);  // none: a pipe
    if (!identity.empty() && !identities.insert(identity).second) continue;
    auto more = read_results(path);
    records.insert(records.end(), more.begin(), more.end());
  }
  return records;
}

// Results in the formats of other tools.

namespace {

/// The line of one repetition, or of a run that failed, or the names of its columns. Only one repetition of a run is recorded with its
/// phases. metrics: the last columns.
std::string csv_line(const ResultRecord& record, std::optional<size_t> repetition,
                     const std::vector<std::string>& metrics, bool has_names = false) {
  const auto reported = std::ranges::find(record.times_s, record.time_s) - record.times_s.begin();
  const bool has_phases = record.work && repetition == static_cast<size_t>(reported);
  const auto& configuration = record.asked.configuration;
  std::string line;
  const auto add = [&](std::string_view column, const auto& value) {
    line += (has_names ? std::string(column) : csv_cell(fmt::format("{}", value))) + ",";
  };
  const auto number = [](double value) { return fmt::format("{:.9g}", value); };
  add("class", record.asked.problem);
  add("n", record.n);
  add("ranks", configuration.grid.rank_count());
  add("px", configuration.grid.columns);
  add("py", configuration.grid.rows);
  add("form", record.asked.form);
  add("storage", record.asked.storage);
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed) add(axis.name, axis.print(configuration));
    if (axis.name == "kernel") add("kernel_used", record.kernel_used);
  }
  add("round", record.round);
  add("status", record.status);
  add("time_s", repetition ? number(record.times_s[*repetition]) : "");
  for (const auto phase : benchmark_phases)
    add(fmt::format("{}_s", phase_name(phase)),
        has_phases ? number(record.work->phases[index_of(phase)].measured_s) : "");
  add("predicted_s", record.prediction ? number(record.prediction->total_s()) : "");
  add("attempt", record.attempt);
  const bool is_disturbed = repetition ? record.was_disturbed(*repetition) : record.is_disturbed();
  add("disturbed", is_disturbed ? "yes" : "no");
  add("repeat", repetition ? std::to_string(*repetition + 1) : "");
  for (const auto& name : metrics) {
    const auto found =
        std::ranges::find(record.metrics, name, [](const auto& metric) { return metric.figure->column; });
    add(name, found == record.metrics.end() ? "" : number(found->value));
  }
  line.back() = '\n';
  return line;
}

}  // namespace

std::string extra_p_lines(const std::vector<ResultRecord>& records) {
  const auto varies = [&](const auto& property) {
    return std::ranges::any_of(records, [&](const ResultRecord& record) {
      return std::invoke(property, record) != std::invoke(property, records.front());
    });
  };
  const bool order_varies = varies(&ResultRecord::n);
  std::map<int64_t, std::set<std::string>> problems;  // by their orders
  for (const auto& record : records) problems[record.n].insert(record.asked.problem);
  // Form of the operator and storage of the matrix. How a domain is cut is no other form.
  const auto kind_of = [](const ResultRecord& record) {
    const auto& asked = record.asked;
    auto kind = asked.cuts_domain() ? std::string(domain_form) : asked.form;
    if (!asked.storage.empty()) kind += (kind.empty() ? "" : ", ") + asked.storage;
    return kind.empty() ? "in memory" : kind;
  };
  const bool kind_varies = varies(kind_of);
  std::vector<const ConfigurationAxis*> varying;
  for (const auto& axis : configuration_axes()) {
    if (varies([&](const ResultRecord& record) { return axis.print(record.asked.configuration); }))
      varying.push_back(&axis);
  }
  std::string lines;
  for (const auto& record : records) {
    if (!record.succeeded() || record.is_replaced || record.purpose != RunPurpose::time) continue;
    const auto& configuration = record.asked.configuration;
    Json parameters{{"p", configuration.grid.rank_count()}, {"px", configuration.grid.columns}};
    if (order_varies) parameters["n"] = record.n;
    auto path = problems[record.n].size() > 1 ? record.asked.problem + "->" : std::string();
    if (kind_varies) path += kind_of(record) + "->";
    for (const auto* axis : varying) {
      const auto text = axis->print(configuration);
      if (axis->is_number())
        parameters[std::string(axis->name)] = *number_from<int>(text);
      else if (axis->is_flag())
        path += fmt::format("{}{}->", text == "off" ? "no " : "", axis->name);
      else
        path += text + "->";
    }
    const auto add = [&](std::string_view what, double seconds) {
      lines += json_text({{"params", parameters},
                          {"callpath", path + std::string(what)},
                          {"metric", "time"},
                          {"value", seconds}}) +
               "\n";
    };
    for (const double time_s : record.times_s) add("total", time_s);
    if (!record.work) continue;
    for (const auto phase : benchmark_phases)
      add(phase_name(phase), record.work->phases[index_of(phase)].measured_s);
  }
  return lines;
}

std::string csv_lines(const std::vector<ResultRecord>& records) {
  std::vector<std::string> metrics;  // that some of the records have
  for (const auto& record : records) {
    for (const auto& metric : record.metrics) {
      if (std::ranges::find(metrics, metric.figure->column) == metrics.end())
        metrics.push_back(metric.figure->column);
    }
  }
  auto lines = csv_line({}, {}, metrics, true);
  for (const auto& record : records) {
    if (record.purpose != RunPurpose::time) continue;
    if (!record.succeeded()) lines += csv_line(record, {}, metrics);
    for (size_t k = 0; k < record.times_s.size() && record.succeeded(); ++k)
      lines += csv_line(record, k, metrics);
  }
  return lines;
}

}  // namespace cg2d
