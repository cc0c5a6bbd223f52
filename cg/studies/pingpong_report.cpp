#include "cg/studies/pingpong_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/report/shown_figures.hpp"

namespace cg2d {
namespace {

constexpr double in_microseconds = 1e6;
constexpr double gigabyte = 1e9;

// ---------------------------------------------------------------- text

/// One number for each method, for each size and number of variables that was measured.
std::string transfer_table(std::vector<TransferTime> times, std::string_view what,
                           const std::function<double(const TransferTime&)>& number) {
  const auto first_method = times.front().method;
  std::ranges::stable_sort(times, {}, &TransferTime::variable_count);
  Table table;
  for (const auto& time : times) {
    if (time.method == first_method)
      table.line().number("messages", "{}", time.variable_count).number("bytes", "{}", time.byte_count);
    table.number(time.method, "{:.3f}", number(time));
  }
  return fmt::format("\n {}\n{}", what, table.text());
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
  const auto find = [&](std::string_view method, const auto& is_wanted) {
    const auto found = std::ranges::find_if(
        pair.times, [&](const auto& time) { return time.method == method && is_wanted(time); });
    return found == pair.times.end() ? nullptr : &*found;
  };
  const auto* const alone = find("put-immediate", [](const auto& time) { return time.variable_count == 1; });
  if (alone == nullptr) return {};
  const auto* const together = find("put-delayed", [&](const auto& time) {
    return time.variable_count > 1 && time.byte_count == alone->byte_count;
  });
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
  text +=
      transfer_table(pair.times, "Latency per message, us; messages per synchronization, bytes of a message",
                     [](const auto& time) { return in_microseconds * time.seconds.median; });
  text += transfer_table(pair.times, "GB/s", [](const auto& time) { return time.bytes_per_s() / gigabyte; });
  return text + line_table(pair) + delayed_put_line(pair);
}

std::string sums_text(const PingPongReport& report) {
  const auto mpi = std::ranges::find(report.sums, "MPI_Allreduce", &SumTime::way);
  Table table;
  for (const auto& sum : report.sums) {
    table.line().word("method", sum.way).number("us", "{:.3f}", in_microseconds * sum.seconds.median);
    table.number("spread", percent_text(sum.seconds.spread(), 0));
    if (mpi != report.sums.end())
      table.number("of MPI_Allreduce", "{:.0f} %", 100.0 * sum.seconds.median / mpi->seconds.median);
  }
  return fmt::format("\n Dot product of {}: the sum of 8 bytes, microseconds\n{}",
                     format_count(report.rank_count, "rank"), table.text()) +
         left_out_lines(report.sums_left_out);
}

std::string phases_text(const PingPongReport& report) {
  Table table;
  for (const auto& row : report.phases) {
    table.line().word("transport", row.transport);
    for (std::size_t k = 0; k < communication_phase_count; ++k)
      table.number(phase_name(communication_phase_at(k)), "{:.3f}", in_microseconds * row.seconds[k].median);
  }
  return fmt::format("\n Class {}, grid {}: microseconds of one isolated call\n{}", report.problem.class_name,
                     report.configuration.grid.name(), table.text()) +
         left_out_lines(report.transports_left_out);
}

std::string write_pingpong_text(const PingPongReport& report) {
  auto text = fmt::format("\n cg2d pingpong - {}, {}\n Quiet = {}\n", report.machine,
                          format_count(report.rank_count, "rank"), report.quiet.text());
  for (const auto& pair : report.pairs) text += pair_text(pair);
  return text + sums_text(report) + phases_text(report);
}

// ---------------------------------------------------------------- JSON

void describe_sample(Members& m, std::string_view name, Sample& seconds, std::string_view text = {}) {
  m.object(name, meaning(text), [&] {
    m("median_s", seconds.median, at_least(0));
    m("minimum_s", seconds.minimum, at_least(0));
    m("maximum_s", seconds.maximum, at_least(0));
    m("turns", seconds.count, at_least(1));
  });
}

void describe_left_out(Members& m, std::string_view name,
                       std::vector<std::pair<std::string, std::string>>& left_out) {
  m.list(name, left_out, {}, [&](auto& one, std::size_t /*index*/) {
    m("name", one.first, not_empty());
    m("reason", one.second, not_empty());
  });
}

}  // namespace

void describe(Members& m, TransferTime& time) {
  m("method", time.method, not_empty());
  m("variables", time.variable_count, at_least(1));
  m("bytes", time.byte_count, at_least(1, "Of one variable."));
  describe_sample(m, "seconds_per_variable", time.seconds,
                  "Half a round trip over the number of its variables.");
  m.derived("bytes_per_s", time.bytes_per_s(), positive());
}

void describe(Members& m, TransferLine& fitted) {
  m("method", fitted.method, not_empty());
  m("start_up_s", fitted.line.intercept, at_least(0));
  m("seconds_per_byte", fitted.line.slope, at_least(0));
}

void describe(Members& m, PairResult& pair) {
  std::array<int, 2> ranks{pair.pair.first, pair.pair.second};
  m("ranks", ranks, at_least(0));
  pair.pair = {.first = ranks[0], .second = ranks[1]};
  m("same_node", pair.same_node);
  m("transfers", pair.times);
  m("lines", pair.lines, meaning("Transfers of one variable: start_up_s + seconds_per_byte * bytes."));
  describe_left_out(m, "left_out", pair.left_out);
}

void describe(Members& m, TransportPhases& row) {
  m("transport", row.transport, not_empty());
  m.object("phases", [&] {
    row.seconds.resize(communication_phase_count);
    for (std::size_t k = 0; k < communication_phase_count; ++k)
      describe_sample(m, phase_name(communication_phase_at(k)), row.seconds[k]);
  });
}

void describe(Members& m, PingPongReport& report) {
  m.constant("schema_version", 1);
  m("machine", report.machine, not_empty());
  m("ranks", report.rank_count, at_least(2));
  m("provenance", report.provenance);
  describe_disturbance(m, report.quiet);
  m("pairs", report.pairs, {.fewest = 1});
  m.list("sums", report.sums,
         {.meaning = "The sum of a number of 8 bytes over all ranks: by each transport, by MPI_Allreduce, by "
                     "MPI_Iallreduce.",
          .fewest = 2},
         [&](SumTime& sum, std::size_t /*index*/) {
           m("way", sum.way, not_empty());
           describe_sample(m, "seconds", sum.seconds);
         });
  describe_left_out(m, "sums_left_out", report.sums_left_out);
  m.object("phases", meaning("One call by itself, on the grid of all ranks."), [&] {
    m("class", report.problem.class_name, not_empty());
    m("n", report.problem.n, at_least(1));
    describe_name(m, "grid", report.configuration.grid);
    m("transports", report.phases, {.fewest = 1});
    describe_left_out(m, "left_out", report.transports_left_out);
  });
}

std::string write_pingpong(const PingPongReport& report, std::string_view format) {
  if (format == "json") return document_text(report);
  if (format == "csv")
    return csv_of_lists(report, {{"pairs", "transfers"}, {"sums"}, {"phases", "transports"}});
  return write_pingpong_text(report);
}

}  // namespace cg2d
