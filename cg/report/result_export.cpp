#include "cg/report/result_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cg/base/describe_json.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

/// The cells of one repetition, or of a run that failed, by column. Only one repetition of a run is recorded with its phases.
Named<std::string> cells_of(const ResultRecord& record, std::optional<std::size_t> repetition,
                            const std::vector<std::string>& metrics) {
  const auto reported = std::ranges::find(record.times_s, record.time_s) - record.times_s.begin();
  const bool has_phases = record.work && repetition == static_cast<std::size_t>(reported);
  const auto& configuration = record.asked.configuration;
  const auto number = [](std::optional<double> value) {
    return value ? fmt::format("{:.9g}", *value) : std::string();
  };
  Named<std::string> cells{{"class", csv_cell(record.asked.problem)},
                           {"n", std::to_string(record.n)},
                           {"ranks", std::to_string(configuration.grid.rank_count())},
                           {"px", std::to_string(configuration.grid.columns)},
                           {"py", std::to_string(configuration.grid.rows)}};
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed()) cells.emplace_back(axis.name, axis.print(configuration));
    if (axis.name == "kernel") cells.emplace_back("kernel_used", record.kernel_used);
  }
  cells.emplace_back("round", std::to_string(record.round));
  cells.emplace_back("status", record.status);
  cells.emplace_back("time_s", repetition ? number(record.times_s[*repetition]) : "");
  for (const auto phase : benchmark_phases)
    cells.emplace_back(fmt::format("{}_s", phase_name(phase)),
                       has_phases ? number(record.work->phases[index_of(phase)].measured_s) : "");
  cells.emplace_back("predicted_s", record.prediction ? number(record.prediction->total_s()) : "");
  cells.emplace_back("attempt", std::to_string(record.attempt));
  cells.emplace_back("disturbed", record.is_disturbed() ? "yes" : "no");
  cells.emplace_back("repeat", repetition ? std::to_string(*repetition + 1) : "");
  for (const auto& name : metrics) {
    const auto found =
        std::ranges::find(record.metrics, name, [](const auto& metric) { return metric.figure->column; });
    cells.emplace_back(name, found == record.metrics.end() ? "" : number(found->value));
  }
  return cells;
}

}  // namespace

std::string extra_p_lines(const std::vector<ResultRecord>& records) {
  const auto varies = [&](const auto& property) {
    return std::ranges::any_of(records, [&](const ResultRecord& record) {
      return std::invoke(property, record) != std::invoke(property, records.front());
    });
  };
  const bool order_varies = varies(&ResultRecord::n);
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
    std::string path;
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
  std::string lines;
  const auto add = [&](const Named<std::string>& cells, std::string Named<std::string>::value_type::*part) {
    for (const auto& cell : cells) lines += (&cell == cells.data() ? "" : ",") + cell.*part;
    lines += "\n";
  };
  using Cell = Named<std::string>::value_type;
  add(cells_of({}, {}, metrics), &Cell::first);
  for (const auto& record : records) {
    if (record.purpose != RunPurpose::time) continue;
    if (!record.succeeded()) add(cells_of(record, {}, metrics), &Cell::second);
    for (std::size_t k = 0; k < record.times_s.size() && record.succeeded(); ++k)
      add(cells_of(record, k, metrics), &Cell::second);
  }
  return lines;
}

}  // namespace cg2d
