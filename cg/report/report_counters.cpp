#include "cg/report/report_counters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"
#include "cg/run/roofline.hpp"
#include "cg/timing/papi_library.hpp"

namespace cg2d {
namespace {

/// The nonzeros of all products of one repetition.
double nonzeros_multiplied(const RunReport& report) {
  return static_cast<double>(report.problem.niter) * OuterStepCalls::products *
         static_cast<double>(report.nonzero_count);
}

std::string threads_text(const RunReport& report) {
  if (report.configuration.thread_count == 1) return "one thread per rank";
  return report.counters.counts_all_threads ? "all threads of a rank" : "the master thread of a rank only";
}

std::string phase_row(const RunReport& report, std::string_view label, const EventTotals& totals) {
  std::string text = fmt::format(" {:<28}", label);
  double sum = 0.0;
  for (const auto& phase : totals.phases) {
    text += fmt::format(" {:>14.6g}", phase.mean / cg_step_count(report));
    sum += phase.mean;
  }
  const auto coverage =
      totals.coverage ? fmt::format("{:.2f} %", 100.0 * *totals.coverage) : std::string("-");
  const auto account = totals.account ? fmt::format("{:.0f}", *totals.account) : std::string("-");
  return text + fmt::format(" {:>14.6g} {:>16.0f} {:>16} {:>9}\n", sum / cg_step_count(report),
                            totals.region_total, account, coverage);
}

std::string derived_text(const RunReport& report) {
  std::string text;
  for (const auto& figure : counter_figures(counted_events(report))) {
    text += fmt::format(" {:<28}", figure.row->description);
    for (const auto& ratio : figure.phases)
      text += ratio ? fmt::format(" {:>14.4g}", *ratio) : fmt::format(" {:>14}", "-");
    text += '\n';
  }
  for (std::size_t event = 0; event < report.counters.counted.size(); ++event) {
    if (event_kind(report.counters.counted[event]) != EventKind::misses) continue;
    text += fmt::format(" {} per nonzero in multiply: {:.4g}\n", report.counters.counted[event],
                        per_nonzero(report, event_totals(report, event)));
  }
  return text;
}

Json values_json(const RunReport& report, const CounterValues& values) {
  Json json = Json::object();
  for (std::size_t event = 0; event < report.counters.counted.size(); ++event)
    json[report.counters.counted[event]] = values[event];
  return json;
}

Json ranks_json(const RunReport& report) {
  Json ranks = Json::array();
  const auto& repeat = median_repeat(report);
  for (std::size_t rank = 0; rank < repeat.counts.size(); ++rank) {
    const auto& counts = repeat.counts[rank];
    auto phases = json_by_phase([&](auto index) { return values_json(report, counts.phases[index]); });
    ranks.push_back({{"rank", rank},
                     {"readings", counts.reading_count},
                     {"region", values_json(report, counts.region)},
                     {"phases", std::move(phases)}});
  }
  return ranks;
}

Json event_json(const RunReport& report, std::size_t event) {
  const auto& name = report.counters.counted[event];
  const auto totals = event_totals(report, event);
  auto phases = json_by_phase([&](auto index) -> Json {
    const auto& spread = totals.phases[index];
    return {{"minimum", spread.minimum},
            {"mean", spread.mean},
            {"maximum", spread.maximum},
            {"total", totals.phase_totals[index]}};
  });
  const bool is_miss = event_kind(name) == EventKind::misses;
  return {{"name", name},
          {"kind", event_kind_name(event_kind(name))},
          {"total", totals.region_total},
          {"outside_phases", totals.outside_phases},
          {"coverage", value_or_null(totals.coverage)},
          {"system_total", value_or_null(totals.account)},
          {"per_nonzero", is_miss ? Json(per_nonzero(report, totals)) : Json(nullptr)},
          {"phases", std::move(phases)}};
}

Json ratios_json(const PhaseRatios& ratios) {
  return json_by_phase([&](auto index) { return value_or_null(ratios[index]); });
}

/// That of instructions per cycle is also there by its own name.
Json figure_json(const std::vector<CounterFigure>& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, [](const auto& figure) { return figure.row->name; });
  return found == figures.end() ? Json(nullptr) : ratios_json(found->phases);
}

Json figures_json(const std::vector<CounterFigure>& figures) {
  Json json = Json::array();
  for (const auto& figure : figures) {
    json.push_back({{"name", figure.row->name},
                    {"description", figure.row->description},
                    {"events", figure.events},
                    {"phases", ratios_json(figure.phases)}});
  }
  return json;
}

constexpr double giga = 1e9;

bool has_limits(const RunReport& report) {
  return report.phases_timed && !report.ranks.empty() && report.ranks.front().limits.are_known();
}

MachineLimits sum_of_limits(const RunReport& report) {
  MachineLimits sum;
  for (const auto& rank : report.ranks) {
    sum.matrix_bytes_per_s += rank.limits.matrix_bytes_per_s;
    sum.vector_bytes_per_s += rank.limits.vector_bytes_per_s;
    sum.flops_per_s += rank.limits.flops_per_s;
    sum.matrix_footprint_bytes += rank.limits.matrix_footprint_bytes;
    sum.vector_footprint_bytes += rank.limits.vector_footprint_bytes;
  }
  return sum;
}

using Footprint = std::int64_t MachineLimits::*;

std::int64_t largest_footprint(const RunReport& report, Footprint footprint) {
  std::int64_t largest = 0;
  for (const auto& rank : report.ranks) largest = std::max(largest, rank.limits.*footprint);
  return largest;
}

nlohmann::ordered_json footprint_json(const RunReport& report, const MachineLimits& sum,
                                      Footprint footprint) {
  return {{"rank", largest_footprint(report, footprint)}, {"total", sum.*footprint}};
}

}  // namespace

EventTotals event_totals(const RunReport& report, std::size_t event) {
  const auto& repeat = median_repeat(report);
  EventTotals totals;
  double sum = 0.0;
  for (std::size_t index = 0; index < benchmark_phase_count; ++index) {
    std::vector<double> values;
    for (const auto& rank : repeat.counts) values.push_back(static_cast<double>(rank.phases[index][event]));
    totals.phases[index] = spread_of(values);
    for (const double value : values) totals.phase_totals[index] += value;
    sum += totals.phase_totals[index];
  }
  for (const auto& rank : repeat.counts) totals.region_total += static_cast<double>(rank.region[event]);
  totals.outside_phases = totals.region_total - sum;
  if (totals.region_total > 0.0) totals.coverage = sum / totals.region_total;
  totals.account = account_of(repeat, report.counters.counted[event]);
  return totals;
}

CountedEvents counted_events(const RunReport& report) {
  CountedEvents counted{
      .names = report.counters.counted, .totals = {}, .nonzeros_multiplied = nonzeros_multiplied(report)};
  for (std::size_t event = 0; event < counted.names.size(); ++event)
    counted.totals.push_back(event_totals(report, event).phase_totals);
  return counted;
}

double per_nonzero(const RunReport& report, const EventTotals& totals) {
  return totals.phase_totals[index_of(Phase::multiply)] / nonzeros_multiplied(report);
}

double reading_share(const RunReport& report, const RepeatReport& repeat) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < repeat.counts.size(); ++rank) {
    sum += static_cast<double>(repeat.counts[rank].reading_count) * report.ranks[rank].clocks_per_reading /
           static_cast<double>(repeat.ranks[rank].region_clocks);
  }
  return repeat.counts.empty() ? 0.0 : sum / static_cast<double>(repeat.counts.size());
}

std::string counters_text(const RunReport& report) {
  const auto& counters = report.counters;
  if (counters.asked.empty()) return {};
  if (counters.counted.empty()) return "\n Events: none of those asked for can be counted here\n";
  const auto& repeat = median_repeat(report);
  std::string text =
      fmt::format("\n Events: per CG step, mean over the ranks ({}{})\n {:<28}", threads_text(report),
                  counters.multiplexed ? "; multiplexed: estimates" : "", "event");
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    text += fmt::format(" {:>14}", phase_name(phase_at(index)));
  text += fmt::format(" {:>14} {:>16} {:>16} {:>9}\n", "all phases", "region, ranks", "the system has",
                      "coverage");
  for (std::size_t event = 0; event < counters.counted.size(); ++event) {
    const auto& name = counters.counted[event];
    const auto kind = event_kind(name);
    const bool has_unit = kind == EventKind::core_cycles || kind == EventKind::reference_cycles ||
                          kind == EventKind::nanoseconds;
    const auto unit = kind == EventKind::nanoseconds ? std::string_view("ns") : event_kind_name(kind);
    text +=
        phase_row(report, has_unit ? fmt::format("{} ({})", name, unit) : name, event_totals(report, event));
  }
  text += derived_text(report);
  text += fmt::format(
      " region, ranks: sum over the whole timed region and all ranks; the system has: the same by getrusage "
      "and "
      "the clock of\n processor time; coverage: share of the region's events that is within phases\n"
      " Reading the events took {:.3f} % of the timed region ({:.0f} reference clocks per reading)\n",
      100.0 * reading_share(report, repeat), report.ranks.front().clocks_per_reading);
  return text;
}

Json counters_json(const RunReport& report) {
  const auto& counters = report.counters;
  if (counters.asked.empty()) return nullptr;
  Json refused = Json::array();
  for (const auto& event : counters.refused)
    refused.push_back({{"name", event.name}, {"reason", event.reason}});
  Json events = Json::array();
  for (std::size_t event = 0; event < counters.counted.size(); ++event)
    events.push_back(event_json(report, event));
  const auto figures = counter_figures(counted_events(report));
  return {{"papi", papi_version()},
          {"asked", counters.asked},
          {"events", std::move(events)},
          {"refused", std::move(refused)},
          {"multiplexed", counters.multiplexed},
          {"all_threads", report.configuration.thread_count == 1 || counters.counts_all_threads},
          {"clocks_per_reading", report.ranks.front().clocks_per_reading},
          {"reading_share", reading_share(report, median_repeat(report))},
          {"instructions_per_cycle", figure_json(figures, "instructions_per_cycle")},
          {"figures", figures_json(figures)},
          {"ranks", ranks_json(report)}};
}

std::array<PhaseShare, phase_count> phase_shares(const RunReport& report) {
  std::array<PhaseShare, phase_count> shares{};
  const auto& repeat = median_repeat(report);
  const auto rank_count = static_cast<double>(repeat.ranks.size());
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& facts = report.ranks[rank];
    const auto work = work_of(facts, repeat.ranks[rank]);
    for (std::size_t index = 0; index < benchmark_phase_count; ++index) {
      auto& share = shares[index];
      share.byte_count += work[index].byte_count / rank_count;
      share.flop_count += work[index].flop_count / rank_count;
      share.shortest_s += shortest_time_s(phase_at(index), work[index], facts.limits) / rank_count;
      share.measured_s +=
          static_cast<double>(repeat.ranks[rank].phases[index].clocks) / facts.ticks_per_second / rank_count;
    }
  }
  return shares;
}

std::string roofline_text(const RunReport& report) {
  if (!has_limits(report)) return {};
  const auto limits = sum_of_limits(report);
  std::string text = fmt::format(
      "\n Limits, all ranks at once: {:.1f} GB/s over the matrices, {:.1f} GB/s over the vectors, "
      "{:.1f} Gflop/s\n measured with {} of matrix and {} of vectors on a rank, {} and {} in all\n"
      " {:<15} {:>12} {:>12} {:>9} {:>9} {:>12} {:>12} {:>9}\n",
      limits.matrix_bytes_per_s / giga, limits.vector_bytes_per_s / giga, limits.flops_per_s / giga,
      format_bytes(largest_footprint(report, &MachineLimits::matrix_footprint_bytes)),
      format_bytes(largest_footprint(report, &MachineLimits::vector_footprint_bytes)),
      format_bytes(limits.matrix_footprint_bytes), format_bytes(limits.vector_footprint_bytes), "phase",
      "bytes", "flops", "GB/s", "Gflop/s", "limit us", "measured us", "share");
  const double steps = cg_step_count(report);
  const auto rank_count = static_cast<double>(report.ranks.size());
  constexpr double microseconds = 1e6;
  const auto shares = phase_shares(report);
  for (std::size_t index = 0; index < benchmark_phase_count; ++index) {
    const auto& share = shares[index];
    const double all_ranks_per_s = share.measured_s > 0.0 ? rank_count / share.measured_s : 0.0;
    text += fmt::format(" {:<15} {:>12.0f} {:>12.0f} {:>9.2f} {:>9.3f} {:>12.1f} {:>12.1f} {:>7.1f} %\n",
                        phase_name(phase_at(index)), share.byte_count / steps, share.flop_count / steps,
                        share.byte_count * all_ranks_per_s / giga, share.flop_count * all_ranks_per_s / giga,
                        microseconds * share.shortest_s / steps, microseconds * share.measured_s / steps,
                        100.0 * share.share());
  }
  return text +
         " bytes and flops that a CG step must move and compute (mean of the ranks); rates of all ranks; "
         "share "
         "= limit / measured\n";
}

Json roofline_json(const RunReport& report) {
  if (!has_limits(report)) return nullptr;
  const auto limits = sum_of_limits(report);
  const auto shares = phase_shares(report);
  auto phases = json_by_phase([&](auto index) -> Json {
    const auto& share = shares[index];
    return {{"bytes", share.byte_count},
            {"flops", share.flop_count},
            {"limit_s", share.shortest_s},
            {"measured_s", share.measured_s},
            {"share", share.share()}};
  });
  return {{"matrix_bytes_per_s", limits.matrix_bytes_per_s},
          {"vector_bytes_per_s", limits.vector_bytes_per_s},
          {"flops_per_s", limits.flops_per_s},
          {"matrix_footprint_bytes", footprint_json(report, limits, &MachineLimits::matrix_footprint_bytes)},
          {"vector_footprint_bytes", footprint_json(report, limits, &MachineLimits::vector_footprint_bytes)},
          {"phases", std::move(phases)}};
}

}  // namespace cg2d
