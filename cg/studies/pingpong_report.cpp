#include "cg/studies/pingpong_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

#include "cg/base/json_record.hpp"
#include "cg/base/text_table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/json_quiet.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/session_record.hpp"

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

using LeftOut = std::vector<std::pair<std::string, std::string>>;

const Record<Sample>& sample_record() {
  static const Record<Sample> record{"sample",
                                     {{"median_s", seconds_type(), &Sample::median},
                                      {"minimum_s", seconds_type(), &Sample::minimum},
                                      {"maximum_s", seconds_type(), &Sample::maximum},
                                      {"turns", positive_count_type(), &Sample::count}}};
  return record;
}

/// left_out_of(source): the names and reasons.
template <typename Source, typename LeftOutOf>
Figure<Source> left_out_figure(const std::string& name, const LeftOutOf& left_out_of) {
  using One = LeftOut::value_type;
  return list_figure<Source>(
      name,
      Record<One>("left_out", {{"name", name_type(), &One::first}, {"reason", name_type(), &One::second}}),
      left_out_of);
}

const Record<TransferTime>& transfer_record() {
  static const Record<TransferTime> record{
      {{"method", name_type(), &TransferTime::method},
       {"variables", positive_count_type(), &TransferTime::variable_count},
       {"bytes", positive_count_type(), &TransferTime::byte_count, "Of one variable."},
       part<TransferTime>("seconds_per_variable", sample_record(), &TransferTime::seconds,
                          "Half a round trip over the number of its variables."),
       {"bytes_per_s", positive_seconds_type(), &TransferTime::bytes_per_s}}};
  return record;
}

const Record<TransferLine>& line_record() {
  static const Record<TransferLine> record{
      {{"method", name_type(), &TransferLine::method},
       {"start_up_s", seconds_type(), [](const auto& fitted) { return fitted.line.intercept; }},
       {"seconds_per_byte", seconds_type(), [](const auto& fitted) { return fitted.line.slope; }}}};
  return record;
}

const Record<PairResult>& pair_record() {
  static const Record<PairResult> record{
      {{"ranks",
        {{"type", "array"}, {"items", count_type()}, {"minItems", 2}, {"maxItems", 2}},
        [](const auto& result) {
          return Json{result.pair.first, result.pair.second};
        }},
       {"same_node", flag_type(), &PairResult::same_node},
       list_figure<PairResult>("transfers", transfer_record(), &PairResult::times),
       list_figure<PairResult>("lines", line_record(), &PairResult::lines,
                               "Transfers of one variable: start_up_s + seconds_per_byte * bytes."),
       left_out_figure<PairResult>("left_out", &PairResult::left_out)}};
  return record;
}

const Record<SumTime>& sum_record() {
  static const Record<SumTime> record{
      {{"way", name_type(), &SumTime::way}, part<SumTime>("seconds", sample_record(), &SumTime::seconds)}};
  return record;
}

const Record<TransportPhases>& transport_record() {
  static const auto record = [] {
    Record<TransportPhases> phases;
    for (std::size_t k = 0; k < communication_phase_count; ++k) {
      phases.figures.push_back(
          part<TransportPhases>(std::string(phase_name(communication_phase_at(k))), sample_record(),
                                [k](const auto& row) -> const Sample& { return row.seconds.at(k); }));
    }
    return Record<TransportPhases>{{{"transport", name_type(), &TransportPhases::transport},
                                    part<TransportPhases>("phases", phases, std::identity())}};
  }();
  return record;
}

const Record<PingPongReport>& phases_record() {
  static const Record<PingPongReport> record{
      {{"class", class_type(), [](const auto& report) { return report.problem.class_name; }},
       {"n", positive_count_type(), [](const auto& report) { return report.problem.n; }},
       {"grid", grid_type(), [](const auto& report) { return report.configuration.grid.name(); }},
       list_figure<PingPongReport>("transports", transport_record(), &PingPongReport::phases, "", 1),
       left_out_figure<PingPongReport>("left_out", &PingPongReport::transports_left_out)},
      "One call by itself, on the grid of all ranks."};
  return record;
}

LeftOut sums_left_out(const PingPongReport& report) {
  if (report.sums_left_out.empty()) return {};
  return {{"MPI_Allreduce", report.sums_left_out}};
}

const Record<PingPongReport>& pingpong_record() {
  static const Record<PingPongReport> record{
      {{"schema_version", constant_type(1), [](const auto& /*report*/) { return 1; }},
       {"machine", name_type(), &PingPongReport::machine},
       {"ranks", {{"type", "integer"}, {"minimum", 2}}, &PingPongReport::rank_count},
       part<PingPongReport>("provenance", provenance_record(), &PingPongReport::provenance),
       part<PingPongReport>("quiet", disturbance_record(), &PingPongReport::quiet),
       list_figure<PingPongReport>("pairs", pair_record(), &PingPongReport::pairs, "", 1),
       list_figure<PingPongReport>(
           "sums", sum_record(), &PingPongReport::sums,
           "The sum of a number of 8 bytes over all ranks: by each transport, by MPI_Allreduce, by "
           "MPI_Iallreduce.",
           2),
       left_out_figure<PingPongReport>("sums_left_out", sums_left_out),
       part<PingPongReport>("phases", phases_record(), std::identity())},
      "Times are seconds, sizes are bytes. Each time is a sample: the median, least and greatest of several "
      "turns."};
  return record;
}

std::string write_pingpong_json(const PingPongReport& report) {
  return json_text(json_of(pingpong_record(), report), 2) + "\n";
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

FigureType pingpong_type() { return type_of(pingpong_record()); }

std::vector<std::string> pingpong_format_names() { return names_of(pingpong_formats); }

}  // namespace cg2d
