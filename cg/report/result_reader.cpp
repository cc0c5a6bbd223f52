#include "cg/report/result_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/sample.hpp"
#include "cg/base/storage/line_file.hpp"
#include "cg/base/values.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/report/report.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/solve/solve_record.hpp"
#include "cg/solver/cg_recurrence.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/solver/preconditioners/preconditioner_table.hpp"

namespace cg2d {
namespace {

std::string text_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

/// The problem's name; for a class its letter alone.
std::string problem_name_from(const Json& problem) {
  return problem_name({.class_name = problem.at("class").get<std::string>(),
                       .n = integer_at<std::int64_t>(problem, "n"),
                       .nonzer = integer_at<int>(problem, "nonzer"),
                       .niter = integer_at<int>(problem, "niter"),
                       .shift = problem.at("shift").get<double>()});
}

comm::ProcessGrid grid_from(const Json& json) {
  return grid_of(integer_at<int>(json, "columns"), integer_at<int>(json, "rows"));
}

ConfiguredProblem asked_of_system(const Json& run) {
  const auto& noted = run.at("sweep").at("configuration");
  ConfiguredProblem asked{.problem = text_in_json(system_name(run.at("system"))),
                          .form = text_in_json(noted.at("form").get<std::string>())};
  if (asked.form.empty()) throw InputError("its form is empty");
  asked.configuration.grid = grid_from(noted);
  read_axes(noted, asked.configuration);
  return asked;
}

/// ConfiguredProblem::storage. The limit is written exactly: runs with different ones must not be taken for repeats.
std::string storage_from(const Json& run) {
  if (!run.contains("out_of_core") || run.at("out_of_core").is_null()) return {};
  const auto& stream = run.at("out_of_core");
  constexpr const char* key = "memory_limit_bytes";
  if (!stream.contains(key) || stream.at(key).is_null()) return "streamed";
  constexpr double megabyte = 1e6;
  return fmt::format("streamed within {:.15g} MB",
                     static_cast<double>(integer_at<std::int64_t>(stream, key)) / megabyte);
}

/// The configuration that was asked for. A sweep notes it, since the report of a failed run does not have it.
ConfiguredProblem asked_from(const Json& run) {
  ConfiguredProblem asked{.problem = problem_name_from(run.at("problem"))};
  auto& configuration = asked.configuration;
  if (run.contains("sweep")) {
    const auto& noted = run.at("sweep").at("configuration");
    configuration.grid = grid_from(noted);
    read_axes(noted, configuration);
    return asked;
  }
  const auto& configured = run.at("configuration");
  if (configured.is_null()) return asked;
  configuration.grid = grid_from(configured.at("grid"));
  read_axes(configured, configuration);
  if (configured.at("tuning").at("kernel_by") != "asked for") configuration.kernel = automatic_choice;
  asked.storage = storage_from(run);
  return asked;
}

/// A number for each phase, by its name.
template <typename Seconds>
PhaseSeconds phases_by_name(const Json& phases, const Seconds& seconds_of) {
  PhaseSeconds seconds{};
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    seconds.at(index) =
        seconds_of(phases.at(std::string(phase_name(phase_at(index))))).template get<double>();
  return seconds;
}

std::optional<PhaseSeconds> phases_from(const Json& phases) {
  if (phases.is_null()) return std::nullopt;
  PhaseSeconds means{};
  const auto& ranks = phases.at("ranks");
  for (const auto& rank : ranks) {
    const auto seconds =
        phases_by_name(rank.at("phases"), [](const Json& phase) { return phase.at("seconds"); });
    for (std::size_t index = 0; index < benchmark_phase_count; ++index)
      means.at(index) += seconds.at(index) / static_cast<double>(ranks.size());
  }
  return means;
}

std::optional<PredictedTimes> prediction_from(const Json& run) {
  if (!run.contains("prediction") || run.at("prediction").is_null()) return std::nullopt;
  const auto& prediction = run.at("prediction");
  return PredictedTimes{
      .total_s = prediction.at("total_s").get<double>(),
      .phases_s = phases_by_name(prediction.at("phases"), [](const Json& phase) { return phase; })};
}

/// Adds 1/count of each phase's number of a rank to the means.
void add_mean(PhaseValues& means, const Json& rank, const char* key, double share) {
  const auto values = phases_by_name(rank.at("phases"), [key](const Json& phase) { return phase.at(key); });
  for (std::size_t index = 0; index < values.size(); ++index) means.at(index) += share * values.at(index);
}

std::optional<RecordedWork> work_from(const Json& phases) {
  if (phases.is_null()) return std::nullopt;
  const auto& ranks = phases.at("ranks");
  RecordedWork work{.step_count = phases.at("cg_steps").get<double>(),
                    .clocks_per_second = ranks.at(0).at("clocks_per_second").get<double>(),
                    .timing_share = phases.at("timing_share").get<double>()};
  const double share = 1.0 / static_cast<double>(ranks.size());
  for (const auto& rank : ranks) {
    add_mean(work.clocks, rank, "clocks", share);
    add_mean(work.calls, rank, "calls", share);
    add_mean(work.waited_s, rank, "waited_clocks", share / rank.at("clocks_per_second").get<double>());
    add_mean(work.messages, rank, "messages", share);
    add_mean(work.bytes, rank, "bytes", share);
  }
  return work;
}

std::vector<RecordedEvent> events_from(const Json& run) {
  std::vector<RecordedEvent> events;
  if (!run.contains("counters") || run.at("counters").is_null()) return events;
  for (const auto& event : run.at("counters").at("events"))
    events.push_back(
        {.name = text_in_json(event.at("name").get<std::string>()),
         .counts = phases_by_name(event.at("phases"), [](const Json& phase) { return phase.at("mean"); })});
  return events;
}

std::optional<RecordedLimits> limits_from(const Json& run) {
  if (!run.contains("roofline") || run.at("roofline").is_null()) return std::nullopt;
  const auto values = [&](const char* key) {
    return phases_by_name(run.at("roofline").at("phases"),
                          [key](const Json& phase) { return phase.at(key); });
  };
  return RecordedLimits{.bytes = values("bytes"), .flops = values("flops"), .shares = values("share")};
}

constexpr std::array<std::string_view, 4> purpose_names{"time", "counters", "limits", "trace"};
constexpr std::array<std::string_view, 4> purpose_options{"", "--papi", "--roofline", "--trace-best"};

RunPurpose purpose_from(const Json& sweep) {
  const auto name = sweep.value("purpose", std::string(purpose_names.front()));  // only where it is not time
  const auto found = std::ranges::find(purpose_names, name);
  if (found == purpose_names.end()) throw InputError(fmt::format("its purpose is {}", text_in_json(name)));
  return static_cast<RunPurpose>(found - purpose_names.begin());
}

/// The option that made the run slower than it would be, or its time that of a part; empty for none.
std::string slowing_option(const Json& run) {
  for (const auto& [key, option] :
       {std::pair("counters", "--papi"), std::pair("roofline", "--roofline"),
        std::pair("restart", "--restart"), std::pair("checkpoints", "--checkpoint"),
        std::pair("slow_ranks", "--slow-rank"), std::pair("rebalance", "--rebalance")}) {
    if (run.contains(key) && !run.at(key).is_null()) return option;
  }
  if (run.contains("environment") && run.at("environment").is_object() &&
      run.at("environment").value("beside_other_tasks", false))
    return "batch without --exclusive";
  return {};
}

/// "1a2b3c4d5e6f", with a mark where tracked files differed; empty where the result does not say.
std::string commit_from(const Json& run) {
  if (!run.contains("provenance") || run.at("provenance").is_null()) return {};
  const auto& provenance = run.at("provenance");
  constexpr std::size_t short_length = 12;
  const auto commit = provenance.value("commit", std::string()).substr(0, short_length);
  const auto changed = provenance.value("tree_changed", Json(nullptr));
  return changed == true ? commit + " with changes" : commit;
}

/// What ran where, beyond what was asked for: an automatic choice may differ, and so may program and machine.
std::vector<RunFact> facts_from(const Json& run) {
  std::vector<RunFact> facts;
  const auto add = [&](std::string_view name, const Json& part, const char* key) {
    if (!part.is_object() || !part.contains(key) || part.at(key).is_null()) return;
    facts.push_back({std::string(name), text_in_json(text_of(part.at(key)))});
  };
  const auto& configuration = run.at("configuration");
  add("kernel", configuration, "kernel");
  add("instruction set", configuration, "instruction_set");
  add("transport", configuration, "transport");
  if (configuration.is_object() && configuration.contains("tuning")) {
    const auto& tuning = configuration.at("tuning");
    add("critical vector length", tuning, "critical_vector_length");
    add("prefetch distance", tuning, "prefetch_distance");
    add("block width", tuning, "block_width");
  }
  add("cg2d", run.at("program"), "version");
  if (const auto commit = commit_from(run); !commit.empty())
    facts.push_back({"commit", text_in_json(commit)});
  const auto& environment = run.at("environment");
  add("compiler", environment, "compiler");
  add("flags", environment, "flags");
  add("MPI", environment, "mpi");
  add("BLAS", environment, "blas");
  add("waiting", environment, "waiting");
  if (environment.is_object()) add("processor", environment.at("nodes").at(0), "processor");
  return facts;
}

/// Throws InputError for times that nothing can be computed with.
void require_possible_times(const ResultRecord& record) {
  constexpr double shortest_s = 1e-30;
  constexpr double longest_s = 1e30;
  for (const double time_s : record.times_s) {
    if (!(time_s >= shortest_s && time_s <= longest_s))
      throw InputError(
          fmt::format("its time is {:g} s: it must be within {:g} ... {:g}", time_s, shortest_s, longest_s),
          ExitCode::bad_data);
  }
}

constexpr std::string_view single_run_complaint = "it holds the result of a single run, not those of a sweep";

/// A document of cg2d that is no result of a run: two keys that only it has, and what it holds.
struct OtherDocument {
  const char* key;
  const char* other_key;
  std::string_view text;
};
constexpr std::array other_documents{
    OtherDocument{"machine", "interconnect", "a result of cg2d simulate, which cg2d report shows"},
    OtherDocument{"machine", "problems", "predictions of cg2d model, which cg2d report shows"},
    OtherDocument{"machine", "tables", "the paper beside cg2d model, which cg2d report shows"},
    OtherDocument{"per_cg_step", "steps",
                  "a plan of messages of cg2d explain, which draws it with --format text or svg"},
    OtherDocument{"method", "passes",
                  "a result of cg2d stencil, which prints it as text without --format json"},
    OtherDocument{"checks", "failed",
                  "a result of cg2d check, which prints it as a table without --format json"},
    OtherDocument{"papi", "groups",
                  "the events of cg2d events, which prints them as a table without --format json"},
    OtherDocument{"ways", "scaling", "a result of cg2d scaling, which cg2d report shows"},
    OtherDocument{"pairs", "sums", "a result of cg2d pingpong, which cg2d report shows"},
    OtherDocument{"compared", "threshold", "a result of cg2d compare, which cg2d report shows"},
    OtherDocument{"processors", "schema_version", "a tuning profile, which cg2d tune --list shows"},
    OtherDocument{"traceEvents", "otherData", "a trace, which cg2d report shows"}};

/// nullptr: it is none of those.
const OtherDocument* other_document(const Json& json) {
  const auto is_it = [&](const auto& other) {
    return json.contains(other.key) && json.contains(other.other_key);
  };
  const auto* const found = std::ranges::find_if(other_documents, is_it);
  return found == other_documents.end() ? nullptr : found;
}

/// The key of a line of cg2d batch, beside which its result stands.
constexpr auto batch_key = "task";

/// The result in a line; null in one of a batch whose task wrote none of a run or a solve.
Json result_in_line(Json line) {
  if (!line.contains(batch_key)) return line;
  auto result = line.at("result");
  return result.is_null() || other_document(result) != nullptr ? Json(nullptr) : result;
}

/// Every line of a sweep has the key "sweep"; a file of results may have lines of single runs, too.
enum class LinesOf { any_runs, a_sweep };

std::vector<ResultRecord> records_of_lines(std::string_view text, LinesOf source) {
  std::vector<ResultRecord> records;
  int number = 0;
  text = text.substr(0, complete_lines(text));
  while (!text.empty()) {
    const auto end = text.find('\n');
    ++number;
    try {
      const auto run = result_in_line(json_from(text.substr(0, end)));
      if (!run.is_null()) {
        records.push_back(record_from(run));
        records.back().place = fmt::format("{}", number);
      }
      if (source == LinesOf::a_sweep && !run.contains("sweep"))
        throw InputError(std::string(single_run_complaint));
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("line {} is no result of cg2d ({})", number, plain_text(error)));
    } catch (const InputError& error) {
      throw InputError(fmt::format("line {}: {}", number, error.what()), error.code());
    }
    text.remove_prefix(end + 1);
  }
  mark_replaced(records);
  return records;
}

/// Whether the text is one JSON object, whole, and not a sweep's. Throws InputError, see json_from().
bool is_single_run(std::string_view text) {
  try {
    const auto json = json_from(text);
    return json.is_object() && !json.contains("sweep") && !json.contains(batch_key);
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

/// Throws InputError for another document.
void require_no_other_document(const Json& json) {
  if (const auto* const found = other_document(json))
    throw InputError(fmt::format("it holds {}", found->text));
}

/// Whether a text without an end of line can be the first line of a killed sweep. A foreign file must not be
/// taken for that, since it would be dropped.
bool is_part_of_sweep_line(std::string_view text) {
  const auto beginning =
      fmt::format(R"({{"schema_version":{},"program":{{"name":"cg2d",)", result_schema_version);
  return text.starts_with(beginning) || beginning.starts_with(text);
}

}  // namespace

std::string maker_from(const Json& program, const Json& environment) {
  if (environment.is_null()) return {};
  const auto& node = environment.at("nodes").at(0);
  std::string text =
      fmt::format("cg2d {}, {} {}, {}, {}", program.at("version").get<std::string>(),
                  environment.at("compiler").get<std::string>(), environment.at("flags").get<std::string>(),
                  environment.at("mpi").get<std::string>(), node.at("processor").get<std::string>());
  for (const auto& cache : node.at("caches"))
    text +=
        fmt::format(", L{} {}", integer_at<int>(cache, "level"), integer_at<std::int64_t>(cache, "bytes"));
  return text_in_json(text);
}

void read_axes(const Json& json, Configuration& configuration) {
  for (const auto& axis : configuration_axes()) {
    const auto value = json.find(std::string(axis.name));
    if (value == json.end()) continue;
    try {
      axis.parse_recorded(configuration, text_of(*value));
    } catch (const InputError& error) {
      throw InputError(fmt::format("its {} cannot be read ({})", axis.name, error.what()));
    }
  }
}

std::string_view purpose_name(RunPurpose purpose) {
  return purpose_names.at(static_cast<std::size_t>(purpose));
}

void mark_replaced(std::vector<ResultRecord>& records) {
  using Round = std::tuple<std::string, RunPurpose, int>;
  const auto round_of = [](const ResultRecord& record) {
    return Round(record.asked.key(), record.purpose, record.round);
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

std::string system_name(const Json& system) {
  auto text = fmt::format("{}, {}", system.at("matrix").get<std::string>(),
                          format_count(integer_at<std::int64_t>(system, "most_iterations"), "iteration"));
  const auto add_unusual = [&](const char* key, std::string_view usual) {
    if (const auto name = system.at(key).get<std::string>(); name != usual) text += ", " + name;
  };
  add_unusual("preconditioner", preconditioner_table().front().name);
  add_unusual("variant", cg_variant_table().front().name);
  if (system.contains("symmetrize"))
    text += fmt::format(", symmetrized to {}", system.at("symmetrize").get<double>());
  return text;
}

namespace {

void require_version(const Json& run) {
  const auto& version = run.at("schema_version");
  if (version != result_schema_version)
    throw InputError(fmt::format("its schema_version is {}, not {}: another program wrote it, make it anew",
                                 json_text(version), result_schema_version));
}

/// Sets the part that only results of the benchmark have.
void read_benchmark(const Json& run, ResultRecord& record) {
  record.asked = asked_from(run);
  record.n = integer_at<std::int64_t>(run.at("problem"), "n");
  if (!run.at("result").is_null())
    record.times_s = run.at("result").at("repeats").at("times_s").get<std::vector<double>>();
  record.phases_s = phases_from(run.at("phases"));
  record.work = work_from(run.at("phases"));
  record.events = events_from(run);
  record.limits = limits_from(run);
  record.prediction = prediction_from(run);
}

/// Reads the run of a system.
void read_system(const Json& run, ResultRecord& record) {
  if (!run.contains("sweep")) throw InputError("it is a result of cg2d solve, and not one of a sweep");
  record.asked = asked_of_system(run);
  if (!run.at("setup").is_null()) record.n = integer_at<std::int64_t>(run.at("setup"), "n");
  if (run.at("result").is_null()) return;
  record.times_s = {run.at("result").at("time_s").get<double>()};
  record.iteration_count = integer_at<int>(run.at("result"), "iterations");
}

}  // namespace

ResultRecord record_from(const Json& run) {
  ResultRecord record;
  require_version(run);
  const bool is_system = run.contains("system");
  if (is_system) {
    read_system(run, record);
  } else {
    read_benchmark(run, record);
  }
  require_possible_times(record);
  record.facts = facts_from(run);
  for (const auto& figure : is_system ? solve_figures() : run_figures()) {
    const auto value = figure.is_metric ? figure.value_in(run) : Json(nullptr);
    if (value.is_number()) record.metrics.push_back({.figure = &figure, .value = value.get<double>()});
  }
  record.status = run.at("status").get<std::string>();
  record.reason = text_in_json(run.at("reason").get<std::string>());
  record.exit_code = integer_at<int>(run, "exit_code");
  if (!is_exit_code(record.exit_code))
    throw InputError(fmt::format("its exit_code is {}, which cg2d never ends with", record.exit_code));
  record.maker = maker_from(run.at("program"), run.at("environment"));
  if (!run.at("configuration").is_null())
    record.kernel_used = run.at("configuration").at("kernel").get<std::string>();
  if (!run.at("result").is_null()) record.time_s = run.at("result").at("time_s").get<double>();
  if (!run.at("quiet").is_null())
    record.disturbance = text_in_json(run.at("quiet").at("reason").get<std::string>());
  record.slowed_by = slowing_option(run);
  record.conditions = record.maker + (record.phases_s || is_system ? "" : ", phases not timed");
  if (run.contains("sweep")) {
    const auto& sweep = run.at("sweep");
    record.is_in_sweep = true;
    record.purpose = purpose_from(sweep);
    if (record.purpose != RunPurpose::time)
      record.slowed_by = purpose_options.at(static_cast<std::size_t>(record.purpose));
    record.attempt = integer_at<int>(sweep, "attempt");
    record.round = integer_at<int>(sweep, "round");
    record.duration_s = sweep.at("duration_s").get<double>();
    record.session = sweep.at("session").get<std::string>();
    record.sitting = integer_at<int>(sweep, "sitting");
  }
  return record;
}

std::vector<ResultRecord> parse_results(std::string_view text) {
  // One object: over many lines, as cg2d run writes it, or made compact.
  if (is_single_run(text)) {
    try {
      const auto json = json_from(text);
      require_no_other_document(json);
      return {record_from(json)};
    } catch (const nlohmann::json::exception& error) {
      throw InputError(fmt::format("no result of cg2d ({})", plain_text(error)));
    }
  }
  return records_of_lines(text, LinesOf::any_runs);
}

std::vector<ResultRecord> parse_sweep(std::string_view text) {
  const auto rest = text.substr(complete_lines(text));
  // The key "sweep" is the last one of a line: a complete object without it is not a sweep's.
  for (const auto part : {text, rest}) {
    if (is_single_run(part)) throw InputError(std::string(single_run_complaint));
  }
  if (rest.size() == text.size() && !is_part_of_sweep_line(rest))
    throw InputError("it was not written by a sweep");
  return records_of_lines(text, LinesOf::a_sweep);
}

std::vector<ResultRecord> read_results(const std::string& path) {
  try {
    const auto text = text_of_file(path);
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
        error.code());
  }
}

std::vector<ResultRecord> read_all_results(const std::vector<std::string>& paths) {
  std::vector<ResultRecord> records;
  for (const auto& path : paths) {
    auto more = read_results(path);
    records.insert(records.end(), more.begin(), more.end());
  }
  return records;
}

}  // namespace cg2d
