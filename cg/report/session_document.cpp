// The members of results that runs and solves have in common.

#include <algorithm>

#include "cg/report/build_info.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/session_report.hpp"

namespace cg2d {
namespace {

FigureType axis_type(const ConfigurationAxis& axis) {
  const std::string name(axis.name);
  if (axis.type == AxisType::flag) return column(flag_type(), name, "off/on");
  if (axis.type == AxisType::number) return column(count_type(), name);
  // Kernels and transports have names that only other versions know.
  return column(axis.parse_recorded == axis.parse ? word_type(axis.values()) : name_type(), name);
}

Json axis_value(const ConfigurationAxis& axis, const Configuration& configuration) {
  const auto text = axis.print(configuration);
  if (axis.type == AxisType::number) return *number_from<int>(text);
  return axis.type == AxisType::flag ? Json(text == "on") : Json(text);
}

/// Whether the work came to its end by an error that leaves a result.
bool is_written(const ExitCodeRow& row, std::string_view command) {
  return ends_with(command, row) && row.code != ExitCode::stalled;
}

const Record<SessionReport>& session_grid_record() {
  static const auto record =
      with(Record<SessionReport>{"session_grid",
                                 figures_of_part<SessionReport>(
                                     grid_record(), [](const SessionReport& report) -> const auto& {
                                       return report.configuration.grid;
                                     })},
           {{"automatic", flag_type(), &SessionReport::grid_is_automatic, "Whether the program chose it."},
            part<SessionReport>("trial", grid_trial_record(), &SessionReport::grid_trial, "",
                                Presence::if_known)});
  return record;
}

}  // namespace

const Record<std::string>& program_record() {
  static const Record<std::string> record{
      "program",
      {{"name", constant_type("cg2d"), [](const auto& /*version*/) { return "cg2d"; }},
       {"version", pattern_type("^[0-9]+\\.[0-9]+\\.[0-9]+"), std::identity()}}};
  return record;
}

Json program_json() { return json_of(program_record(), std::string(build_info::version)); }

const Record<comm::ProcessGrid>& grid_record() {
  static const Record<comm::ProcessGrid> record{
      "grid",
      {{"name", grid_type(), &comm::ProcessGrid::name, "PXxPY"},
       {"columns", column(positive_count_type(), "px"), &comm::ProcessGrid::columns},
       {"rows", column(positive_count_type(), "py"), &comm::ProcessGrid::rows}}};
  return record;
}

Record<Configuration> axis_record(AxesIn which) {
  Record<Configuration> record{which == AxesIn::a_report ? "axes" : "sweep_axes", {}};
  for (const auto& axis : configuration_axes()) {
    if (which == AxesIn::a_report || axis.is_crossed())
      record.figures.push_back(
          {std::string(axis.name), axis_type(axis),
           [&axis](const auto& configuration) { return axis_value(axis, configuration); },
           std::string(axis.help)});
  }
  return record;
}

std::vector<Figure<SessionReport>> head_figures(int schema_version, std::string_view command) {
  std::vector<std::string> words;
  Json codes = Json::array();
  for (const auto& row : exit_code_table()) {
    if (!is_written(row, command)) continue;
    words.emplace_back(row.status);
    codes.push_back(static_cast<int>(row.code));
  }
  return {{"schema_version", constant_type(schema_version),
           [schema_version](const auto& /*report*/) { return schema_version; }},
          {"program", type_of(program_record()), [](const auto& /*report*/) { return program_json(); }},
          {"status", column(word_type(words), "status"),
           [](const auto& report) { return status_name(report.code); }},
          {"reason", line_type(), &SessionReport::reason, "One line, as on stderr; empty on success."},
          {"exit_code", {{"enum", codes}}, [](const auto& report) { return static_cast<int>(report.code); }},
          {"warnings", list_type(name_type()), &SessionReport::warnings}};
}

Json ends_with_one_of(std::string_view command, const std::vector<ExitCode>& codes, bool is_one) {
  Json ends = Json::array();
  for (const auto& row : exit_code_table()) {
    if (is_written(row, command) && (std::ranges::find(codes, row.code) != codes.end()) == is_one)
      ends.push_back({{"properties",
                       {{"status", constant_type(row.status)},
                        {"exit_code", constant_type(static_cast<int>(row.code))}}}});
  }
  return ends;
}

std::vector<Figure<SessionReport>> origin_figures() {
  return {part<SessionReport>("provenance", provenance_record(), &SessionReport::provenance,
                              "null where the work ended before it looked, and where it is not known."),
          part<SessionReport>("environment", environment_record(), [](const SessionReport& report) {
            return report.environment ? std::optional<SeenEnvironment>({*report.environment, &report})
                                      : std::nullopt;
          })};
}

const Record<SessionReport>& configuration_record() {
  static const auto record = [] {
    const auto of_configuration = [](const SessionReport& report) -> const auto& {
      return report.configuration;
    };
    Record<SessionReport> made{"configuration",
                               {{"ranks", column(positive_count_type(), "ranks"),
                                 [](const auto& report) { return report.configuration.grid.rank_count(); }},
                                part<SessionReport>("grid", session_grid_record(), std::identity())}};
    made = with(made, figures_of_part<SessionReport>(axis_record(AxesIn::a_report), of_configuration));
    return with(made, {{"symmetric_storage", flag_type(), &SessionReport::is_symmetric,
                        "Whether one entry of each mirrored pair was stored."},
                       {"instruction_set", column(line_type(), "instruction_set"),
                        &SessionReport::instruction_set, "Of the kernel; empty without an assembled matrix."},
                       {"transport_by", word_type({"asked for", "profile", "trial", "built-in rule"}),
                        [](const auto& report) { return choice_origin_name(report.transport_origin); },
                        "By the built-in rule it is shared where all ranks share a node."},
                       part<SessionReport>("transport_trial", transport_trial_record(),
                                           &SessionReport::transport_trial, "", Presence::if_known),
                       part<SessionReport>("speed_trial", speed_trial_record(), &SessionReport::speed_trial,
                                           "", Presence::if_known)});
  }();
  return record;
}

std::vector<Figure<SessionReport>> feature_figures(WorkKind kind) {
  Record<SessionReport> all;
  for (const auto& feature : feature_table()) {
    if (feature.record != nullptr) all = with(std::move(all), feature.record(kind).figures);
  }
  return all.figures;
}

}  // namespace cg2d
