#include "cg/studies/pingpong_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cg/base/describe_json.hpp"
#include "cg/base/text_table.hpp"
#include "cg/base/values.hpp"

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
  const auto text = fmt::format("\n Dot product of {}: the sum of 8 bytes, microseconds\n{}",
                                format_count(report.rank_count, "rank"), table.text(report.sums));
  return text + left_out_lines(report.sums_left_out);
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

void describe_sample(Members& m, std::string_view name, Sample& seconds, std::string_view text = {}) {
  m.object(
      name,
      [&] {
        m("median_s", seconds.median, at_least(0));
        m("minimum_s", seconds.minimum, at_least(0));
        m("maximum_s", seconds.maximum, at_least(0));
        m("turns", seconds.count, at_least(1));
      },
      meaning(text));
}

void describe_left_out(Members& m, std::string_view name,
                       std::vector<std::pair<std::string, std::string>>& left_out) {
  m.list(name, left_out, [&](auto& one, std::size_t /*index*/) {
    m("name", one.first, not_empty());
    m("reason", one.second, not_empty());
  });
}

void describe_pair(Members& m, PairResult& pair) {
  std::array<int, 2> ranks{pair.pair.first, pair.pair.second};
  m("ranks", ranks, at_least(0));
  pair.pair = {.first = ranks[0], .second = ranks[1]};
  m("same_node", pair.same_node);
  m.list("transfers", pair.times, [&](TransferTime& time, std::size_t /*index*/) {
    m("method", time.method, not_empty());
    m("variables", time.variable_count, at_least(1));
    m("bytes", time.byte_count, at_least(1, "Of one variable."));
    describe_sample(m, "seconds_per_variable", time.seconds,
                    "Half a round trip over the number of its variables.");
    m.derived("bytes_per_s", time.bytes_per_s(), positive());
  });
  m.list(
      "lines", pair.lines,
      [&](TransferLine& fitted, std::size_t /*index*/) {
        m("method", fitted.method, not_empty());
        m("start_up_s", fitted.line.intercept, at_least(0));
        m("seconds_per_byte", fitted.line.slope, at_least(0));
      },
      meaning("Transfers of one variable: start_up_s + seconds_per_byte * bytes."));
  describe_left_out(m, "left_out", pair.left_out);
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

}  // namespace

void describe(Members& m, PingPongReport& report) {
  m.constant("schema_version", 1);
  m("machine", report.machine, not_empty());
  m("ranks", report.rank_count, at_least(2));
  m("provenance", report.provenance);
  describe_disturbance(m, report.quiet);
  m.list("pairs", report.pairs, [&](PairResult& pair, std::size_t /*index*/) { describe_pair(m, pair); },
         {.fewest = 1});
  m.list("sums", report.sums,
         [&](SumTime& sum, std::size_t /*index*/) {
           m("way", sum.way, not_empty());
           describe_sample(m, "seconds", sum.seconds);
         },
         {.meaning = "The sum of a number of 8 bytes over all ranks: by each transport, by MPI_Allreduce, by "
                     "MPI_Iallreduce.",
          .fewest = 2});
  describe_left_out(m, "sums_left_out", report.sums_left_out);
  m.object(
      "phases",
      [&] {
        m("class", report.problem.class_name, not_empty());
        m("n", report.problem.n, at_least(1));
        describe_name(m, "grid", report.configuration.grid);
        m.list("transports", report.phases,
               [&](TransportPhases& row, std::size_t /*index*/) {
                 m("transport", row.transport, not_empty());
                 m.object("phases", [&] {
                   row.seconds.resize(communication_phase_count);
                   for (std::size_t k = 0; k < communication_phase_count; ++k)
                     describe_sample(m, phase_name(communication_phase_at(k)), row.seconds[k]);
                 });
               },
               {.fewest = 1});
        describe_left_out(m, "left_out", report.transports_left_out);
      },
      meaning("One call by itself, on the grid of all ranks."));
}

std::string write_pingpong(const PingPongReport& report, std::string_view format) {
  if (format == "json") return document_text(report);
  return format == "csv" ? write_pingpong_csv(report) : write_pingpong_text(report);
}

}  // namespace cg2d
