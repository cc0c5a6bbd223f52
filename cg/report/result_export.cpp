#include "cg/report/result_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// Whether a property differs between records.
template <typename Property>
bool varies(const std::vector<ResultRecord>& records, const Property& property) {
  return std::ranges::any_of(
      records, [&](const auto& record) { return property(record) != property(records.front()); });
}

/// The parameters that differ within one set of results: the order of the matrix, and axes.
struct VaryingParts {
  bool order = false;
  std::vector<const ConfigurationAxis*> numbers;
  std::vector<const ConfigurationAxis*> others;

  explicit VaryingParts(const std::vector<ResultRecord>& records)
      : order(varies(records, [](const auto& record) { return record.n; })) {
    for (const auto& axis : configuration_axes()) {
      if (!varies(records, [&](const auto& record) { return axis.print(record.asked.configuration); }))
        continue;
      (axis.type == AxisType::number ? numbers : others).push_back(&axis);
    }
  }

  [[nodiscard]] Json parameters_of(const ResultRecord& record) const {
    const auto& configuration = record.asked.configuration;
    Json parameters{{"p", configuration.grid.rank_count()}, {"px", configuration.grid.columns}};
    if (order) parameters["n"] = record.n;
    for (const auto* axis : numbers)
      parameters[std::string(axis->name)] = *number_from<int>(axis->print(configuration));
    return parameters;
  }

  [[nodiscard]] std::string call_path_of(const ResultRecord& record, std::string_view what) const {
    const auto& configuration = record.asked.configuration;
    std::string path;
    for (const auto* axis : others) {
      const bool is_off = axis->type == AxisType::flag && axis->print(configuration) == "off";
      const auto text = axis->type == AxisType::flag ? std::string(axis->name) : axis->print(configuration);
      path += (is_off ? "no " : "") + text + "->";
    }
    return path.append(what);
  }
};

/// The metrics that some of the records have.
std::vector<std::string> metric_names(const std::vector<ResultRecord>& records) {
  std::vector<std::string> names;
  for (const auto& record : records) {
    for (const auto& metric : record.metrics) {
      if (std::ranges::find(names, metric.figure->column) == names.end())
        names.push_back(metric.figure->column);
    }
  }
  return names;
}

/// The repetition whose phases the result has.
std::size_t reported_repetition(const ResultRecord& record) {
  const auto found = std::ranges::find(record.times_s, record.time_s);
  return static_cast<std::size_t>(found - record.times_s.begin());
}

/// One repetition, or a run that failed. Only one repetition of a run is recorded with its phases.
std::string csv_line(const ResultRecord& record, std::optional<std::size_t> repetition, bool has_phases,
                     const std::vector<std::string>& metrics) {
  const auto& configuration = record.asked.configuration;
  auto line =
      fmt::format("{},{},{},{},{}", csv_cell(record.asked.problem), record.n, configuration.grid.rank_count(),
                  configuration.grid.columns, configuration.grid.rows);
  for (const auto& axis : configuration_axes()) {
    if (!axis.is_crossed()) continue;
    line += "," + axis.print(configuration);
    if (axis.name == "kernel") line += "," + record.kernel_used;
  }
  line += fmt::format(",{},{},", record.round, record.status);
  if (repetition) line += fmt::format("{:.9g}", record.times_s[*repetition]);
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    line +=
        has_phases && record.phases_s ? fmt::format(",{:.9g}", record.phases_s->at(index)) : std::string(",");
  line += record.prediction ? fmt::format(",{:.9g}", record.prediction->total_s()) : std::string(",");
  line += fmt::format(",{},{},", record.attempt, record.is_disturbed() ? "yes" : "no");
  if (repetition) line += std::to_string(*repetition + 1);
  for (const auto& name : metrics) {
    const auto found =
        std::ranges::find(record.metrics, name, [](const auto& metric) { return metric.figure->column; });
    line += found == record.metrics.end() ? "," : fmt::format(",{:.9g}", found->value);
  }
  return line + "\n";
}

}  // namespace

std::string extra_p_lines(const std::vector<ResultRecord>& records) {
  const VaryingParts varying(records);
  std::string lines;
  for (const auto& record : records) {
    if (!record.succeeded() || record.is_replaced || record.purpose != RunPurpose::time) continue;
    const auto add = [&](std::string_view what, double seconds) {
      lines += json_text({{"params", varying.parameters_of(record)},
                          {"callpath", varying.call_path_of(record, what)},
                          {"metric", "time"},
                          {"value", seconds}}) +
               "\n";
    };
    for (const double time_s : record.times_s) add("total", time_s);
    if (!record.phases_s) continue;
    for (std::size_t index = 0; index < benchmark_phase_count; ++index)
      add(phase_name(phase_at(index)), record.phases_s->at(index));
  }
  return lines;
}

std::string csv_lines(const std::vector<ResultRecord>& records) {
  std::string lines = "class,n,ranks,px,py";
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed())
      lines += fmt::format(",{}{}", axis.name, axis.name == "kernel" ? ",kernel_used" : "");
  }
  lines += ",round,status,time_s";
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    lines += fmt::format(",{}_s", phase_name(phase_at(index)));
  lines += ",predicted_s,attempt,disturbed,repeat";
  const auto metrics = metric_names(records);
  for (const auto& name : metrics) lines += "," + name;
  lines += '\n';
  for (const auto& record : records) {
    if (record.purpose != RunPurpose::time) continue;
    if (!record.succeeded()) lines += csv_line(record, {}, false, metrics);
    for (std::size_t k = 0; k < record.times_s.size() && record.succeeded(); ++k)
      lines += csv_line(record, k, k == reported_repetition(record), metrics);
  }
  return lines;
}

}  // namespace cg2d
