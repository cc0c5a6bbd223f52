#include "cg/studies/pingpong_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "cg/base/json_values.hpp"
#include "cg/base/text_table.hpp"
#include "cg/base/values.hpp"
#include "cg/report/report_origin.hpp"

namespace cg2d {
namespace {

constexpr double in_microseconds = 1e6;
constexpr double gigabyte = 1e9;

// ---------------------------------------------------------------- text

/// One number for each method, for each size and number of variables that was measured.
std::string transfer_table(const PairResult& pair, std::string_view what,
                           const std::function<std::string(const TransferTime&)>& cell) {
  std::string head = fmt::format("\n {}\n {:>9} {:>9}", what, "messages", "bytes");
  for (const auto& line : pair.times) {
    if (line.byte_count != pair.times.front().byte_count ||
        line.variable_count != pair.times.front().variable_count)
      break;
    head += fmt::format(" {:>13}", line.method);
  }
  std::vector<std::pair<int, std::string>> rows;  // by variables, then as measured
  for (const auto& time : pair.times) {
    const bool begins = time.method == pair.times.front().method;
    if (begins)
      rows.emplace_back(time.variable_count,
                        fmt::format(" {:>9} {:>9}", time.variable_count, time.byte_count));
    rows.back().second += fmt::format(" {:>13}", cell(time));
  }
  std::ranges::stable_sort(rows, {}, &std::pair<int, std::string>::first);
  std::string text = head + "\n";
  for (const auto& [variables, row] : rows) text += row + "\n";
  return text;
}

std::string line_table(const PairResult& pair) {
  if (pair.lines.empty()) return {};
  std::string text = "\n Linear fit: latency + size / bandwidth, one message per synchronization\n";
  for (const auto& [method, line] : pair.lines) {
    const auto rate = line.slope > 0.0 ? fmt::format("size / {:.3f} GB/s", 1.0 / line.slope / gigabyte)
                                       : std::string("size / (not measurable)");
    text += fmt::format(" {:>13} = {:.3f} us + {}\n", method, in_microseconds * line.intercept, rate);
  }
  return text;
}

/// The gain from completing several puts at once, for the smallest size.
std::string delayed_put_line(const PairResult& pair) {
  const auto* alone = static_cast<const TransferTime*>(nullptr);
  const auto* together = static_cast<const TransferTime*>(nullptr);
  for (const auto& time : pair.times) {
    if (time.method == "put-immediate" && time.variable_count == 1 && alone == nullptr) alone = &time;
  }
  if (alone == nullptr) return {};
  for (const auto& time : pair.times) {
    if (time.method == "put-delayed" && time.variable_count > 1 && time.byte_count == alone->byte_count)
      together = &time;
  }
  if (together == nullptr) return {};
  return fmt::format(
      "\n put-delayed, {} messages of {} bytes per synchronization: {:.3f} us per message, {:.0f} % of one "
      "put with its own "
      "completion\n",
      together->variable_count, together->byte_count, in_microseconds * together->seconds.median,
      100.0 * together->seconds.median / alone->seconds.median);
}

std::string left_out_lines(const std::vector<std::pair<std::string, std::string>>& left_out) {
  std::string text;
  for (const auto& [name, reason] : left_out) text += fmt::format(" without {}: {}\n", name, reason);
  return text;
}

std::string pair_text(const PairResult& pair) {
  auto text =
      fmt::format("\n Ranks {} and {}, {}: half a round trip over the number of its messages\n",
                  pair.pair.first, pair.pair.second, pair.same_node ? "on one node" : "on different nodes");
  text += left_out_lines(pair.left_out);
  if (pair.times.empty()) return text;
  text += transfer_table(
      pair, "Latency per message, us; messages per synchronization, bytes of a message",
      [](const auto& time) { return fmt::format("{:.3f}", in_microseconds * time.seconds.median); });
  text += transfer_table(
      pair, "GB/s", [](const auto& time) { return fmt::format("{:.3f}", time.bytes_per_s() / gigabyte); });
  return text + line_table(pair) + delayed_put_line(pair);
}

std::string sums_text(const PingPongReport& report) {
  TextTable<SumTime> table;
  table.column("method", "{:>15}", &SumTime::way);
  table.column("us", "{:>10.3f}", [](const auto& sum) { return in_microseconds * sum.seconds.median; });
  table.column("spread", "{:>8}", [](const auto& sum) {
    const auto spread = sum.seconds.spread();
    return spread ? fmt::format("{:.0f} %", 100.0 * *spread) : "";
  });
  const auto mpi = std::ranges::find(report.sums, "MPI_Allreduce", &SumTime::way);
  if (mpi != report.sums.end())
    table.column("of MPI_Allreduce", "{:>18.0f} %",
                 [&](const auto& sum) { return 100.0 * sum.seconds.median / mpi->seconds.median; });
  auto text = fmt::format("\n Dot product of {}: the sum of 8 bytes, microseconds\n{}",
                          format_count(report.rank_count, "rank"), table.text(report.sums));
  if (!report.sums_left_out.empty()) text += left_out_lines({{"MPI_Allreduce", report.sums_left_out}});
  return text;
}

std::string phases_text(const PingPongReport& report) {
  TextTable<TransportPhases> table;
  table.column("transport", "{:>15}", &TransportPhases::transport);
  for (std::size_t k = 0; k < communication_phase_count; ++k)
    table.column(phase_name(communication_phase_at(k)), "{:>12.3f}",
                 [k](const auto& row) { return in_microseconds * row.seconds[k].median; });
  const auto text =
      fmt::format("\n Class {}, grid {}: microseconds of one isolated call\n{}", report.problem.class_name,
                  report.configuration.grid.name(), table.text(report.phases));
  return text + left_out_lines(report.transports_left_out);
}

std::string write_pingpong_text(const PingPongReport& report) {
  auto text = fmt::format("\n cg2d pingpong - {}, {}\n Quiet = {}\n", report.machine,
                          format_count(report.rank_count, "rank"), report.quiet.text());
  for (const auto& pair : report.pairs) text += pair_text(pair);
  return text + sums_text(report) + phases_text(report);
}

// ---------------------------------------------------------------- JSON

Json sample_json(const Sample& seconds) {
  return {{"median_s", seconds.median},
          {"minimum_s", seconds.minimum},
          {"maximum_s", seconds.maximum},
          {"turns", seconds.count}};
}

Json left_out_json(const std::vector<std::pair<std::string, std::string>>& left_out) {
  Json json = Json::array();
  for (const auto& [name, reason] : left_out) json.push_back({{"name", name}, {"reason", reason}});
  return json;
}

Json pair_json(const PairResult& pair) {
  Json times = Json::array();
  for (const auto& time : pair.times) {
    Json entry{{"method", time.method}, {"variables", time.variable_count}, {"bytes", time.byte_count}};
    entry["seconds_per_variable"] = sample_json(time.seconds);
    entry["bytes_per_s"] = time.bytes_per_s();
    times.push_back(std::move(entry));
  }
  Json lines = Json::array();
  for (const auto& [method, line] : pair.lines)
    lines.push_back({{"method", method}, {"start_up_s", line.intercept}, {"seconds_per_byte", line.slope}});
  return {{"ranks", {pair.pair.first, pair.pair.second}},
          {"same_node", pair.same_node},
          {"transfers", std::move(times)},
          {"lines", std::move(lines)},
          {"left_out", left_out_json(pair.left_out)}};
}

std::string write_pingpong_json(const PingPongReport& report) {
  Json json{{"schema_version", 1}, {"machine", report.machine}, {"ranks", report.rank_count}};
  json["provenance"] = report.provenance ? provenance_json(*report.provenance) : Json(nullptr);
  json["quiet"] = {{"disturbed", report.quiet.is_disturbed()}, {"reason", report.quiet.reason()}};
  json["pairs"] = Json::array();
  for (const auto& pair : report.pairs) json["pairs"].push_back(pair_json(pair));
  json["sums"] = Json::array();
  for (const auto& sum : report.sums)
    json["sums"].push_back({{"way", sum.way}, {"seconds", sample_json(sum.seconds)}});
  std::vector<std::pair<std::string, std::string>> sums_left_out;
  if (!report.sums_left_out.empty()) sums_left_out.emplace_back("MPI_Allreduce", report.sums_left_out);
  json["sums_left_out"] = left_out_json(sums_left_out);
  Json transports = Json::array();
  for (const auto& row : report.phases) {
    Json phases = Json::object();
    for (std::size_t k = 0; k < row.seconds.size(); ++k)
      phases[std::string(phase_name(communication_phase_at(k)))] = sample_json(row.seconds[k]);
    transports.push_back({{"transport", row.transport}, {"phases", std::move(phases)}});
  }
  json["phases"] = {{"class", report.problem.class_name},
                    {"n", report.problem.n},
                    {"grid", report.configuration.grid.name()},
                    {"transports", std::move(transports)},
                    {"left_out", left_out_json(report.transports_left_out)}};
  return json_text(json, 2) + "\n";
}

// ---------------------------------------------------------------- CSV

std::string sample_cells(const Sample& seconds) {
  return fmt::format("{:.9g},{:.9g},{:.9g},{}", seconds.median, seconds.minimum, seconds.maximum,
                     seconds.count);
}

/// Columns that do not apply to a line are empty.
std::string write_pingpong_csv(const PingPongReport& report) {
  std::string text =
      "kind,first_rank,second_rank,same_node,way,phase,variables,bytes,median_s,minimum_s,maximum_s,turns\n";
  for (const auto& pair : report.pairs) {
    for (const auto& time : pair.times) {
      text += fmt::format("transfer,{},{},{},{},,{},{},{}\n", pair.pair.first, pair.pair.second,
                          pair.same_node ? "yes" : "no", time.method, time.variable_count, time.byte_count,
                          sample_cells(time.seconds));
    }
  }
  for (const auto& sum : report.sums)
    text += fmt::format("sum,,,,{},,1,8,{}\n", sum.way, sample_cells(sum.seconds));
  for (const auto& row : report.phases) {
    for (std::size_t k = 0; k < row.seconds.size(); ++k) {
      text += fmt::format("phase,,,,{},{},,,{}\n", row.transport, phase_name(communication_phase_at(k)),
                          sample_cells(row.seconds[k]));
    }
  }
  return text;
}

struct PingPongFormat {
  std::string_view name;
  std::string (*write)(const PingPongReport& report);
};
constexpr std::array pingpong_formats{PingPongFormat{.name = "text", .write = &write_pingpong_text},
                                      PingPongFormat{.name = "json", .write = &write_pingpong_json},
                                      PingPongFormat{.name = "csv", .write = &write_pingpong_csv}};

}  // namespace

std::string write_pingpong(const PingPongReport& report, std::string_view format) {
  const auto found = std::ranges::find(pingpong_formats, format, &PingPongFormat::name);
  if (found == pingpong_formats.end()) throw std::out_of_range("no such format");
  return found->write(report);
}

std::vector<std::string> pingpong_format_names() { return names_of(pingpong_formats); }

}  // namespace cg2d
