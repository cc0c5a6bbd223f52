#include "cg/report/result_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cg/base/json_values.hpp"
#include "cg/base/sample.hpp"

namespace cg2d {
namespace {

using Json = nlohmann::ordered_json;

/// Whether a property differs between records.
template <typename Property>
bool varies(const std::vector<ResultRecord>& records, const Property& property) {
  return std::ranges::any_of(
      records, [&](const auto& record) { return property(record) != property(records.front()); });
}

/// What tells the measurements of one file apart.
struct VaryingParts {
  bool order = false;
  bool threads = false;
  bool kernel = false;
  bool transport = false;
  bool sum_form = false;
  bool overlaps = false;

  explicit VaryingParts(const std::vector<ResultRecord>& records)
      : order(varies(records, [](const auto& record) { return record.n; })),
        threads(varies(records, [](const auto& record) { return record.configuration.thread_count; })),
        kernel(varies(records, [](const auto& record) { return record.configuration.kernel; })),
        transport(varies(records, [](const auto& record) { return record.configuration.transport; })),
        sum_form(varies(records, [](const auto& record) { return record.configuration.sum_form; })),
        overlaps(varies(records, [](const auto& record) { return record.configuration.overlaps; })) {}

  [[nodiscard]] Json parameters_of(const ResultRecord& record) const {
    Json parameters{{"p", record.configuration.grid.rank_count()}, {"px", record.configuration.grid.columns}};
    if (order) parameters["n"] = record.n;
    if (threads) parameters["threads"] = record.configuration.thread_count;
    return parameters;
  }

  [[nodiscard]] std::string call_path_of(const ResultRecord& record, std::string_view what) const {
    std::string path;
    if (kernel) path += record.configuration.kernel + "->";
    if (transport) path += record.configuration.transport + "->";
    if (sum_form) path += sum_form_name(record.configuration.sum_form) + "->";
    if (overlaps) path += record.configuration.overlaps ? "overlap->" : "no overlap->";
    return path.append(what);
  }
};

/// In quotes where a comma or a quote makes it necessary (RFC 4180).
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + "\"";
}

}  // namespace

std::string extra_p_lines(const std::vector<ResultRecord>& records) {
  const VaryingParts varying(records);
  std::string lines;
  for (const auto& record : records) {
    if (!record.succeeded()) continue;
    const auto add = [&](std::string_view what, double seconds) {
      lines += json_text({{"params", varying.parameters_of(record)},
                          {"callpath", varying.call_path_of(record, what)},
                          {"metric", "time"},
                          {"value", seconds}}) +
               "\n";
    };
    for (const double time_s : record.times_s) add("total", time_s);
    if (!record.phases_s) continue;
    for (std::size_t index = 0; index < phase_count; ++index)
      add(phase_name(phase_at(index)), record.phases_s->at(index));
  }
  return lines;
}

std::string csv_lines(const std::vector<ResultRecord>& records) {
  std::string lines =
      "class,n,ranks,px,py,kernel,kernel_used,transport,threads,sum_form,overlap,round,status,time_s";
  for (std::size_t index = 0; index < phase_count; ++index)
    lines += fmt::format(",{}_s", phase_name(phase_at(index)));
  lines += ",predicted_s\n";
  for (const auto& record : records) {
    const auto& configuration = record.configuration;
    lines += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},", csv_cell(configuration.problem), record.n,
                         configuration.grid.rank_count(), configuration.grid.columns, configuration.grid.rows,
                         configuration.kernel, record.kernel_used, configuration.transport,
                         configuration.thread_count, sum_form_name(configuration.sum_form),
                         configuration.overlaps ? "on" : "off", record.round, record.status);
    if (record.succeeded()) lines += fmt::format("{:.9g}", sample_of(record.times_s).median);
    for (std::size_t index = 0; index < phase_count; ++index)
      lines += record.phases_s ? fmt::format(",{:.9g}", record.phases_s->at(index)) : std::string(",");
    lines += record.prediction ? fmt::format(",{:.9g}\n", record.prediction->total_s) : std::string(",\n");
  }
  return lines;
}

}  // namespace cg2d
