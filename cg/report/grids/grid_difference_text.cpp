// Differences of grids, events and limits as text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/report/grids/grid_differences.hpp"

namespace cg2d {
namespace {

constexpr std::size_t most_events_in_table = 8;

std::string name_of(const PhaseDifference& difference) {
  return difference.phase ? std::string(phase_name(*difference.phase)) : std::string("outside the phases");
}

/// "29 120", "5600", "0.25": whole numbers in groups of three digits from 10 000 on.
std::string grouped(double amount) {
  constexpr double least_whole = 100.0;
  constexpr std::size_t group = 3;
  if (amount < least_whole) return fmt::format("{:.4g}", amount);
  auto digits = fmt::format("{:.0f}", amount);
  if (digits.size() <= group + 1) return digits;
  for (auto place = digits.size() - group; place > 0 && place < digits.size();
       place -= std::min(place, group))
    digits.insert(place, " ");
  return digits;
}

std::string us_text(double seconds) { return fmt::format("{:+.3g} us", microseconds_per_s * seconds); }

/// "1 message more, 29 120 bytes more"; empty where both grids send as much.
std::string traffic_words(const PhaseDifference& difference) {
  std::vector<std::string> parts;
  const auto add = [&](double amount, std::string_view one, std::string_view many) {
    constexpr double least = 0.005;  // as many digits as are shown
    if (std::abs(amount) < least) return;
    const auto number = grouped(std::abs(amount));
    parts.push_back(
        fmt::format("{} {} {}", number, number == "1" ? one : many, amount > 0 ? "more" : "less"));
  };
  add(difference.messages, "message", "messages");
  add(difference.bytes, "byte", "bytes");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string event_words(const GridDifference& difference, Phase phase) {
  const auto found = std::ranges::find(difference.events, phase, &EventDifference::phase);
  if (found == difference.events.end()) return {};
  return fmt::format("{} {:.2g} x", found->event, found->ratio());
}

/// link: between the share and the phase.
std::string phase_words(const GridDifference& difference, const PhaseDifference& phase,
                        std::string_view link) {
  std::vector<std::string> parts{us_text(phase.difference_s)};
  constexpr double least_part = 0.1;  // least share in the difference of its phase
  if (phase.waiting_s * phase.difference_s > 0.0 &&
      std::abs(phase.waiting_s) > least_part * std::abs(phase.difference_s))
    parts.front() += fmt::format(", {} of it waiting", us_text(phase.waiting_s));
  if (const auto traffic = traffic_words(phase); !traffic.empty()) parts.push_back(traffic);
  if (phase.phase) {
    if (const auto event = event_words(difference, *phase.phase); !event.empty()) parts.push_back(event);
  }
  return fmt::format("{:.0f} %{} {} ({})", 100.0 * phase.share, link, name_of(phase), fmt::join(parts, "; "));
}

/// The phases that are sure, the greatest difference first.
std::vector<const PhaseDifference*> sure_phases(const GridDifference& difference) {
  std::vector<const PhaseDifference*> sure;
  for (const auto& phase : difference.phases) {
    if (phase.is_sure()) sure.push_back(&phase);
  }
  std::ranges::stable_sort(sure, std::greater<>(),
                           [](const auto* phase) { return std::abs(phase->difference_s); });
  return sure;
}

std::string limit_text(const ResultRecord* run, const PhaseDifference& difference) {
  if (run == nullptr || !difference.phase) return "-";
  const double share = run->limits->at(index_of(*difference.phase)).share();
  return share > 0.0 && share <= 1.0 ? fmt::format("{:.0f} %", 100.0 * share) : "-";
}

/// The sums of the columns.
PhaseDifference sum_of(const std::vector<PhaseDifference>& phases) {
  PhaseDifference sum;
  for (const auto& phase : phases) {
    sum.slower_s += phase.slower_s;
    sum.faster_s += phase.faster_s;
    sum.difference_s += phase.difference_s;
    sum.share += phase.share;
    sum.waiting_s += phase.waiting_s;
    sum.messages += phase.messages;
    sum.bytes += phase.bytes;
  }
  return sum;
}

std::string phase_lines(const GridDifference& difference, const std::vector<ResultRecord>& records) {
  const auto* const slower = limited_run(records, difference.slower);
  const auto* const faster = limited_run(records, difference.faster);
  const bool has_limits = slower != nullptr && faster != nullptr;
  Table table;
  const auto line = [&](std::string_view name, const PhaseDifference& phase) {
    table.line().word("us per CG step", name);
    table.number(difference.slower.arrangement(), "{:.2f}", microseconds_per_s * phase.slower_s);
    table.number(difference.faster.arrangement(), "{:.2f}", microseconds_per_s * phase.faster_s);
    table.number("difference", "{:+.2f}", microseconds_per_s * phase.difference_s);
  };
  const auto rest = [&](const PhaseDifference& phase) {
    table.number("share", "{:.0f} %", 100.0 * phase.share);
    table.number("waiting", "{:+.2f}", microseconds_per_s * phase.waiting_s);
    table.number("messages", "{:+.3g}", phase.messages).number("bytes", "{:+.6g}", phase.bytes);
  };
  for (const auto& phase : difference.phases) {
    line(name_of(phase), phase);
    table.word("", phase.is_sure() ? "" : "~");
    rest(phase);
    if (has_limits)
      table.number("of limit",
                   fmt::format("{:>4} {:>5}", limit_text(slower, phase), limit_text(faster, phase)));
  }
  const auto sum = sum_of(difference.phases);
  line("the whole step", sum);
  rest(sum);
  return table.text("    ") +
         "    Means over the ranks and the middle half of the rounds, by the difference of the whole step. "
         "~ within the noise\n";
}

std::string event_lines(const GridDifference& difference) {
  if (difference.events.empty()) return {};
  Table table;
  for (std::size_t k = 0; k < std::min(most_events_in_table, difference.events.size()); ++k) {
    const auto& event = difference.events[k];
    table.line().word("events per CG step", event.event).word("phase", phase_name(event.phase));
    table.number(difference.slower.arrangement(), grouped(event.slower));
    table.number(difference.faster.arrangement(), grouped(event.faster));
    table.number("ratio", "{:.2f}", event.ratio());
  }
  return table.text("    ");
}

std::string event_table(const std::vector<MeasuredConfiguration>& cells,
                        const std::vector<ResultRecord>& records) {
  Table table;
  for (const auto& cell : cells) {
    const auto* const run = counted_run(records, cell.asked);
    if (run == nullptr || !has_known_steps(*run)) continue;
    for (const auto& event : run->events) {
      table.line().word("grid", cell.asked.arrangement()).word("event", event.name);
      for (std::size_t k = 0; k < event.counts.size(); ++k)
        table.number(phase_name(phase_at(k)), grouped(event.counts[k] / run->work->step_count));
      table.number("all phases", grouped(std::accumulate(event.counts.begin(), event.counts.end(), 0.0) /
                                         run->work->step_count));
    }
  }
  if (table.is_empty()) return {};
  return "  Events per CG step, mean over the ranks, each grid in a run of its own\n" + table.text("    ");
}

std::string limit_table(const std::vector<MeasuredConfiguration>& cells,
                        const std::vector<ResultRecord>& records) {
  Table table;
  for (const auto& cell : cells) {
    const auto* const run = limited_run(records, cell.asked);
    if (run == nullptr || !has_known_steps(*run)) continue;
    const auto& limits = *run->limits;
    const auto line = [&](std::string_view what, const auto& text_of) {
      table.line().word("grid", cell.asked.arrangement()).word("of", what);
      for (const auto phase : benchmark_phases) table.number(phase_name(phase), text_of(index_of(phase)));
    };
    line("share of the limit", [&](std::size_t phase) {
      const double share = limits.at(phase).share();
      return share > 0.0 && share <= 1.0 ? fmt::format("{:.1f} %", 100.0 * share) : std::string();
    });
    line("bytes to and from memory",
         [&](std::size_t phase) { return grouped(limits.at(phase).byte_count / run->work->step_count); });
    line("flops",
         [&](std::size_t phase) { return grouped(limits.at(phase).flop_count / run->work->step_count); });
  }
  if (table.is_empty()) return {};
  return "  Limits of the machine, each grid in a run of its own: the share that each phase reaches, and its "
         "work per\n"
         "  CG step, mean over the ranks (-: no work, or from a faster cache than the limit was measured "
         "in)\n" +
         table.text("    ");
}

}  // namespace

std::string difference_words(const GridDifference& difference) {
  const auto slower = difference.slower.arrangement();
  const auto faster = difference.faster.arrangement();
  if (!difference.is_sure()) {
    return fmt::format(
        "{} and {}: {}, so nothing to explain", slower, faster,
        difference.ratio.is_bounded() ? "no difference beyond the noise" : lack_of_rounds(difference.ratio));
  }
  auto text = fmt::format("{} is {} slower than {}, {} per CG step", slower, gain_text(difference.ratio),
                          faster, us_text(difference.difference_s));
  const auto sure = sure_phases(difference);
  if (sure.empty()) return text + ": no single phase differs beyond its noise";
  std::vector<std::string> parts;
  parts.reserve(sure.size());
  for (const auto* phase : sure)
    parts.push_back(phase_words(difference, *phase, parts.empty() ? " of it is" : ""));
  return text + fmt::format("; {}", fmt::join(parts, ", "));
}

std::string difference_text(const GridDifference& difference, const std::vector<ResultRecord>& records) {
  auto text = "  Why: " + difference_words(difference) + ".\n";
  if (!difference.is_sure()) return text;
  return text + phase_lines(difference, records) + event_lines(difference);
}

std::string extra_run_tables(const std::vector<MeasuredConfiguration>& cells,
                             const std::vector<ResultRecord>& records) {
  return event_table(cells, records) + limit_table(cells, records);
}

}  // namespace cg2d
