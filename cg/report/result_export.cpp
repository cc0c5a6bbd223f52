#include "cg/report/result_reader.hpp"

#include "cg/base/describe_json.hpp"

namespace cg2d {
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
  add("disturbed", record.is_disturbed() ? "yes" : "no");
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
