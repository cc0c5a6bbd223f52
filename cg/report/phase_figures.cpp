#include "cg/report/phase_figures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "cg/base/describe.hpp"
#include "cg/base/table.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {
namespace {

constexpr double giga = 1e9;
constexpr double microseconds = 1e6;

Spread spread_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  const double mean = total / static_cast<double>(values.size());
  // Rounding may leave the range.
  return {.minimum = *least, .mean = std::clamp(mean, *least, *most), .maximum = *most, .total = total};
}

/// Nothing if the limits were not measured.
std::optional<Roofline> roofline_of(const PhaseFigures& figures) {
  const auto& ranks = figures.report.ranks;
  if (ranks.empty() || !ranks.front().limits.are_known()) return std::nullopt;
  Roofline seen{.shares = phase_shares(figures)};
  auto& sum = seen.limits;
  for (const auto& rank : ranks) {
    sum.matrix_bytes_per_s += rank.limits.matrix_bytes_per_s;
    sum.vector_bytes_per_s += rank.limits.vector_bytes_per_s;
    sum.flops_per_s += rank.limits.flops_per_s;
    sum.storage_bytes_per_s += rank.limits.storage_bytes_per_s;
    seen.matrix.add(rank.limits.matrix_footprint_bytes);
    seen.vectors.add(rank.limits.vector_footprint_bytes);
  }
  if (sum.storage_bytes_per_s > 0.0)
    seen.storage_bytes_per_step = seen.shares[index_of(Phase::multiply)].storage_byte_count *
                                  static_cast<double>(ranks.size()) / figures.step_count;
  return seen;
}

/// Time, for people who want to know where it goes.
std::string phase_table_text(const PhaseFigures& figures) {
  const auto& ranks = figures.repeat.ranks;
  const auto rank_count = static_cast<double>(ranks.size());
  const double steps = figures.step_count;
  const double ticks_per_s = figures.report.ranks.front().ticks_per_second;
  // Whether communication is under way during other phases.
  const bool hides = figures.report.configuration.overlaps ||
                     std::ranges::find(figures.phases, Phase::halo) != figures.phases.end();
  const auto roofline = roofline_of(figures);
  const auto shares = roofline ? roofline->shares : phase_shares(figures);
  double region_s = 0.0;
  for (const auto& rank : ranks) region_s += rank.region_s / rank_count;

  Table table;
  const auto time = [&](std::string_view column, double seconds) {
    table.number(column, "{:.2f}", microseconds * seconds / steps);
  };
  const auto row = [&](std::string_view name, const PhaseShare& share) {
    table.line().word("phase", name).number("share", "{:.1f} %", 100.0 * share.measured_s / region_s);
    table.number("clocks", "{:.0f}", share.clocks / steps);
    time("us", share.measured_s);
    time("waiting", share.waited_s);
    if (hides) time("hidden", share.hidden_s);
    const auto rate = [&](std::string_view column, double amount, int decimals) {
      table.number(column, amount > 0.0
                               ? fmt::format("{:.{}f}", share.rate_of(amount, rank_count) / giga, decimals)
                               : std::string());
    };
    rate("GB/s", share.byte_count, 2);
    rate("Gflop/s", share.flop_count, 3);
    table.number("messages", "{:.2f}", share.messages / steps);
    table.number("bytes sent", "{:.0f}", share.sent_bytes / steps);
    if (figures.prediction) time("predicted", share.predicted_s);
    if (!roofline) return;
    time("limit", share.shortest_s);
    table.number("of limit",
                 percent_text(share.share() <= 1.0 ? std::optional(share.share()) : std::nullopt, 1));
  };
  PhaseShare all;
  for (const auto phase : figures.phases) {
    row(phase_name(phase), shares[index_of(phase)]);
    all += shares[index_of(phase)];
  }
  row("all phases", all);
  std::string limits;  // that the columns "limit" and "of limit" follow from
  if (roofline) {
    limits = "\n Limits, all ranks at once: ";
    if (figures.nonzeros_multiplied > 0.0)
      limits += fmt::format("{:.1f} GB/s over the matrices, ", roofline->limits.matrix_bytes_per_s / giga);
    limits += fmt::format("{:.1f} GB/s over the vectors, {:.1f} Gflop/s; -: vectors from a faster cache\n",
                          roofline->limits.vector_bytes_per_s / giga, roofline->limits.flops_per_s / giga);
  }
  return fmt::format(" Phases: time per CG step, mean over the ranks; reference clocks of {}, {:.3f} GHz\n",
                     cycle_counter_name(), ticks_per_s / giga) +
         table.text() + (hides ? " hidden: work while messages of the phase were under way\n" : "") +
         fmt::format(
             " waiting (us) is part of its phase; GB/s and Gflop/s: of all ranks, the least work of the "
             "phase over its time;\n messages and bytes sent: per rank. The phases cover {:.2f} % of the "
             "time, timing them took {:.3f} %.\n",
             100.0 * phase_coverage(figures.repeat),
             100.0 * timing_share(figures.report.ranks, figures.repeat)) +
         limits;
}

/// The line length of x86-64 and of most AArch64 processors.
constexpr double bytes_per_line = 64.0;

// clang-format off
constexpr std::array figure_rows{
    FigureRow{"instructions_per_cycle", "instructions per core cycle",
              EventRole::instructions, EventRole::cycles},
    FigureRow{"stalled_cycle_share", "share of stalled cycles", EventRole::stalled_cycles, EventRole::cycles},
    FigureRow{"flops_per_cycle", "flops per core cycle", EventRole::flops, EventRole::cycles},
    FigureRow{"misprediction_share", "share of mispredictions",
              EventRole::mispredictions, EventRole::branches},
    FigureRow{"flops_per_nonzero", "flops per nonzero", EventRole::flops, std::nullopt},
    FigureRow{"memory_bytes_per_nonzero", "memory bytes per nonzero",
              EventRole::memory_lines, std::nullopt, bytes_per_line},
};
// clang-format on

std::string counters_text(const PhaseFigures& figures) {
  const auto& counters = figures.report.counters;
  if (counters.asked.empty()) return {};
  if (counters.counted.empty()) return "\n Events: none of those requested can be counted here\n";
  Table table;
  for (size_t event = 0; event < counters.counted.size(); ++event) {
    const auto& name = counters.counted[event];
    table.line().word("event", event_kind(name) == EventKind::nanoseconds ? name + " (ns)" : name);
    const auto totals = event_totals(figures, event);
    double sum = 0.0;
    for (const auto phase : figures.phases) {
      const double mean = totals.phases[index_of(phase)].mean;
      table.number(phase_name(phase), count_text(mean / figures.step_count));
      sum += mean;
    }
    table.number("all phases", count_text(sum / figures.step_count));
  }
  for (const auto& figure : counter_figures(figures)) {
    if (!figure.row->denominator && figures.nonzeros_multiplied == 0.0) continue;
    table.line().word("event", figure.row->description);
    for (const auto phase : figures.phases) {
      const double ratio = figure.phases[index_of(phase)];
      table.number(phase_name(phase), std::isnan(ratio) ? "" : fmt::format("{:.4g}", ratio));
    }
  }
  const auto* const threads = figures.report.configuration.thread_count == 1 ? "one thread per rank"
                              : counters.counts_all_threads                  ? "all threads of a rank"
                                                            : "the master thread of a rank only";
  return fmt::format("\n Events: per CG step, mean over the ranks ({}{})\n", threads,
                     counters.multiplexed ? "; multiplexed: estimates" : "") +
         table.text() +
         fmt::format(
             " Reading the events took {:.3f} % of the timed region ({:.0f} reference clocks per reading)\n",
             100.0 * reading_share(figures), figures.report.ranks.front().clocks_per_reading);
}

}  // namespace

PhaseFigures phases_of(const RunReport& report, const RepeatReport& repeat) {
  return {.report = report,
          .repeat = repeat,
          .are_timed = report.phases_timed,
          .step_count = cg_step_count(report),
          .prediction = report.prediction ? &*report.prediction : nullptr,
          .nonzeros_multiplied = static_cast<double>(timed_part(report).niter) * products_per_outer_step *
                                 static_cast<double>(report.nonzero_count)};
}

PhaseFigures phases_of(const RunReport& report) { return phases_of(report, median_repeat(report)); }

PhaseFigures phases_of(const SolveReport& report) {
  PhaseFigures figures{
      .report = report, .repeat = report.repeat, .step_count = static_cast<double>(timed_step_count(report))};
  if (report.matrix_free) {
    figures.phases = report.matrix_free->phases;
  } else if (!report.repeat.ranks.empty()) {
    // By all vectors together. Each product is summed once.
    const auto& summation = report.repeat.ranks.front().phases[index_of(Phase::summation)];
    figures.nonzeros_multiplied = static_cast<double>(summation.calls) *
                                  static_cast<double>(report.matrix->nonzero_count) *
                                  report.right_hand_side_count;
  }
  return figures;
}

std::vector<CounterFigure> counter_figures(const PhaseFigures& figures) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto& names = figures.report.counters.counted;
  std::vector<CounterFigure> made;
  for (const auto& row : figure_rows) {
    const auto numerator = find_role(row.numerator, names);
    std::optional<size_t> denominator;
    if (row.denominator) denominator = find_role(*row.denominator, names);
    if (!numerator || (row.denominator && !denominator)) continue;
    auto& figure = made.emplace_back();
    figure.row = &row;
    figure.events = {names[*numerator]};
    figure.phases.fill(none);
    const auto above = event_totals(figures, *numerator).phases;
    std::array<Spread, phase_count> below{};
    if (denominator) {
      figure.events.push_back(names[*denominator]);
      below = event_totals(figures, *denominator).phases;
    } else {
      below[index_of(Phase::multiply)].total = figures.nonzeros_multiplied;
    }
    for (size_t phase = 0; phase < phase_count; ++phase)
      figure.phases[phase] =
          below[phase].total > 0.0 ? row.factor * above[phase].total / below[phase].total : none;
  }
  return made;
}

EventTotals event_totals(const PhaseFigures& figures, size_t event) {
  const auto& repeat = figures.repeat;
  EventTotals totals;
  double sum = 0.0;
  for (size_t index = 0; index < phase_count; ++index) {
    std::vector<double> values;
    for (const auto& rank : repeat.counts) values.push_back(static_cast<double>(rank.phases[index][event]));
    totals.phases[index] = spread_of(values);
    sum += totals.phases[index].total;
  }
  for (const auto& rank : repeat.counts) totals.region_total += static_cast<double>(rank.region[event]);
  totals.outside_phases = totals.region_total - sum;
  if (totals.region_total > 0.0) totals.coverage = sum / totals.region_total;
  return totals;
}

std::string count_text(double count) {
  constexpr double least_whole = 1000.0;
  return count < least_whole ? fmt::format("{:.4g}", count) : fmt::format("{:.0f}", count);
}

double per_nonzero(const PhaseFigures& figures, const EventTotals& totals) {
  return totals.phases[index_of(Phase::multiply)].total / figures.nonzeros_multiplied;
}

double reading_share(const PhaseFigures& figures) {
  const auto& repeat = figures.repeat;
  double sum = 0.0;
  for (size_t rank = 0; rank < repeat.counts.size(); ++rank) {
    sum += static_cast<double>(repeat.counts[rank].reading_count) *
           figures.report.ranks[rank].clocks_per_reading /
           static_cast<double>(repeat.ranks[rank].region_clocks);
  }
  return repeat.counts.empty() ? 0.0 : sum / static_cast<double>(repeat.counts.size());
}

constexpr std::array amounts{
    &PhaseShare::byte_count, &PhaseShare::flop_count, &PhaseShare::storage_byte_count,
    &PhaseShare::shortest_s, &PhaseShare::measured_s, &PhaseShare::clocks,
    &PhaseShare::waited_s,   &PhaseShare::hidden_s,   &PhaseShare::messages,
    &PhaseShare::sent_bytes, &PhaseShare::predicted_s};

PhaseShare& PhaseShare::operator+=(const PhaseShare& other) {
  for (const auto amount : amounts) this->*amount += other.*amount;
  return *this;
}
PhaseShare PhaseShare::operator-(const PhaseShare& other) const {
  auto difference = *this;
  for (const auto amount : amounts) difference.*amount -= other.*amount;
  return difference;
}
PhaseShare PhaseShare::operator/(double divisor) const {
  auto part = *this;
  for (const auto amount : amounts) part.*amount /= divisor;
  return part;
}

PhaseShares phase_shares(const PhaseFigures& figures) {
  PhaseShares shares{};
  const auto& ranks = figures.repeat.ranks;
  const auto rank_count = static_cast<double>(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& facts = figures.report.ranks[rank];
    const auto work = work_of(facts, ranks[rank]);
    const auto mean = [&](auto count) { return static_cast<double>(count) / rank_count; };
    const auto seconds = [&](uint64_t clocks) {
      return static_cast<double>(clocks) / facts.ticks_per_second / rank_count;
    };
    for (size_t index = 0; index < phase_count; ++index) {
      const auto& times = ranks[rank].phases[index];
      const auto sent = ranks[rank].sent_in(phase_at(index));
      shares[index] += {
          .byte_count = mean(work[index].byte_count),
          .flop_count = mean(work[index].flop_count),
          .storage_byte_count = mean(work[index].storage_byte_count),
          .shortest_s = mean(shortest_time_s(phase_at(index), work[index], facts.limits)),
          .measured_s = seconds(times.clocks),
          .clocks = mean(times.clocks),
          .waited_s = seconds(times.waited_clocks),
          .hidden_s = seconds(times.hidden_clocks),
          .messages = mean(sent.message_count),
          .sent_bytes = mean(sent.byte_count),
      };
    }
  }
  if (figures.prediction) {
    for (const auto phase : benchmark_phases)
      shares[index_of(phase)].predicted_s = figures.prediction->phases[index_of(phase)];
  }
  return shares;
}

std::string figures_text(const PhaseFigures& figures) {
  if (!figures.is_known()) return {};
  return "\n" + phase_table_text(figures) + counters_text(figures);
}

// Phases, roofline and counters of a document.

void describe(Members& m, Footprint& footprint) {
  m("rank", footprint.rank_bytes, at_least(0, "Of the rank that has most."));
  m("total", footprint.all_bytes, at_least(0, "Of all ranks together."));
}

namespace {

bool has_phase(const DescribedRegion& region, Phase phase) {
  return phase_row(phase).is_of_benchmark || std::ranges::find(region.phases, phase) != region.phases.end();
}

/// describe_one(phase) for each phase that a result has.
template <typename Describe>
void by_phase(Members& m, DescribedRegion& region, const Describe& describe_one) {
  for (const auto& row : phase_table()) {
    const bool was_known = has_phase(region, row.phase);
    bool is_there = was_known;
    if (row.is_of_benchmark)
      m.object(row.name, [&] { describe_one(row.phase); });
    else
      m.object_if(is_there, row.name, {}, [&] { describe_one(row.phase); });
    if (m.reads() && is_there && !was_known) region.phases.push_back(row.phase);
  }
}

/// The facts of a rank, which a file that contradicts itself may lack.
RankResult& facts_of(SessionReport& report, size_t rank) {
  report.ranks.resize(std::max(report.ranks.size(), rank + 1));
  return report.ranks[rank];
}

void describe_phase(Members& m, const SessionReport& report, RankTimes& times, double clocks_per_second,
                    Phase phase) {
  auto& record = times.phases[index_of(phase)];
  const auto operation = operation_of(phase);
  comm::Traffic none;
  auto& sent = operation ? times.sent[static_cast<size_t>(*operation)] : none;
  const bool hides = phase == Phase::halo || (phase == Phase::collection && report.configuration.overlaps);
  // Columns are of the phases of the benchmark.
  const bool is_shown = phase_row(phase).is_of_benchmark;
  const auto column = [&](std::string_view name) { return is_shown ? name : std::string_view(); };
  const auto seconds = [&](uint64_t clocks) { return static_cast<double>(clocks) / clocks_per_second; };
  m("clocks", record.clocks, at_least(0));
  m.derived("seconds", seconds(record.clocks),
            {.column = column("*_max_s"), .mean_column = column("*_s"), .least = 0.0});
  m("waited_clocks", record.waited_clocks, at_least(0, "Of the clocks, those of waiting for other ranks."));
  m.derived("waited_seconds", seconds(record.waited_clocks),
            {.mean_column = column("*_waiting_s"), .least = 0.0});
  m("calls", record.calls, at_least(0, "Both halves of a reproducible sum are one call."));
  m("messages", sent.message_count, at_least(0, "Sent by this rank."));
  m("bytes", sent.byte_count, at_least(0, "Sent by this rank."));
  m.if_given("hidden_clocks", record.hidden_clocks, hides,
             at_least(0, "Of products, with its messages under way; not among its clocks."));
  m.if_given("hidden_seconds", seconds(record.hidden_clocks), hides,
             {.mean_column = column("collection_hidden_s"), .least = 0.0});
}

void describe_times(Members& m, DescribedRegion& region) {
  auto& report = region.report;
  auto& repeat = region.repeat;
  const auto& grid = report.configuration.grid;
  m.derived("counter", {}, [] { return cycle_counter_name(); });
  m.derived("counter_is_invariant", {}, [] { return cycle_counter_is_invariant(); });
  m.derived("cg_steps", static_cast<int64_t>(region.figures.step_count), at_least(1, "In the timed region."));
  m.derived("coverage", phase_coverage(repeat),
            at_least(0, "Share of the timed region that the phases cover, mean over ranks."));
  m.derived("timing_share",
            at_least(0, "Share of the timed region that reading the counter took, mean over ranks."),
            [&] { return timing_share(report.ranks, repeat); });
  m.list("ranks", repeat.ranks, {.fewest = 1}, [&](RankTimes& times, size_t rank) {
    auto& facts = facts_of(report, rank);
    m.derived("rank", rank, at_least(0));
    m.derived("process_column", at_least(0), [&] { return grid.column_of(static_cast<int>(rank)); });
    m.derived("process_row", at_least(0), [&] { return grid.row_of(static_cast<int>(rank)); });
    m("region_clocks", times.region_clocks, at_least(1));
    m("region_s", times.region_s, positive());
    m("clocks_per_second", facts.ticks_per_second, positive());
    m("clocks_per_scope", facts.clocks_per_scope, at_least(0, "Cost of timing a phase once."));
    m("waits", times.wait_count, at_least(0, "Waits for other ranks, which are timed, too."));
    m.object("phases", [&] {
      by_phase(m, region,
               [&](Phase phase) { describe_phase(m, report, times, facts.ticks_per_second, phase); });
    });
  });
}

void describe_roofline(Members& m, DescribedRegion& region, Roofline& roofline) {
  auto& [limits, matrix, vectors, storage_bytes, shares] = roofline;
  const bool streams = limits.storage_bytes_per_s > 0.0;
  m("matrix_bytes_per_s", limits.matrix_bytes_per_s, positive());
  m("vector_bytes_per_s", limits.vector_bytes_per_s, positive());
  m("flops_per_s", limits.flops_per_s, positive());
  m.if_given("storage_bytes_per_s", limits.storage_bytes_per_s, streams,
             positive("Only where streamed: of reading alone."));
  m.if_given("storage_bytes_per_step", storage_bytes, streams,
             at_least(0, "Only where streamed: what a CG step reads, all ranks."));
  m("matrix_footprint_bytes", matrix, meaning("What matrix_bytes_per_s was read from."));
  m("vector_footprint_bytes", vectors, meaning("What vector_bytes_per_s was read from."));
  m.object("phases", [&, &shares = shares] {
    by_phase(m, region, [&](Phase phase) {
      auto& share = shares[index_of(phase)];
      m("bytes", share.byte_count, at_least(0));
      m("flops", share.flop_count, at_least(0));
      m("limit_s", share.shortest_s, at_least(0));
      m("measured_s", share.measured_s, at_least(0));
      m.derived("share", share.share(), at_least(0));
    });
  });
}

/// The values of the counted events, by their names.
void describe_counts(Members& m, std::string_view name, bool is_there, const std::vector<std::string>& events,
                     CounterValues& values) {
  Named<int64_t> named;
  for (size_t event = 0; event < std::min(events.size(), values.size()); ++event)
    named.emplace_back(events[event], values[event]);
  m.if_given(name, named, is_there);
  for (size_t event = 0; event < std::min(named.size(), values.size()); ++event)
    values[event] = named[event].second;
}

void describe_event(Members& m, DescribedRegion& region, std::string& name, size_t event) {
  const auto& figures = region.figures;
  m("name", name, not_empty());
  const auto totals = event_totals(figures, event);
  const bool are_misses = event_kind(name) == EventKind::misses && figures.nonzeros_multiplied > 0.0;
  m.derived("kind", event_kind_name(event_kind(name)));
  m.derived("total", totals.region_total, meaning("Whole timed region, all ranks."));
  m.derived("outside_phases", totals.outside_phases, meaning("Of total: what is in no phase."));
  m.derived("coverage", totals.coverage, or_null("Sum over the phases by total; null if total is 0."));
  m.derived("per_nonzero", are_misses ? std::optional(per_nonzero(figures, totals)) : std::nullopt,
            or_null("Misses in multiply, per nonzero and product."));
  m.object("phases", meaning("Over the ranks; total: their sum."), [&] {
    by_phase(m, region, [&](Phase phase) {
      const auto& spread = totals.phases[index_of(phase)];
      m.derived("minimum", spread.minimum);
      m.derived("mean", spread.mean);
      m.derived("maximum", spread.maximum);
      m.derived("total", spread.total);
    });
  });
}

/// null where there is no ratio.
Named<double> ratios_by_phase(const DescribedRegion& region, const CounterFigure& made) {
  Named<double> ratios;
  for (const auto& row : phase_table()) {
    if (has_phase(region, row.phase)) ratios.emplace_back(row.name, made.phases[index_of(row.phase)]);
  }
  return ratios;
}

void describe_counters(Members& m, DescribedRegion& region) {
  auto& report = region.report;
  auto& repeat = region.repeat;
  auto& counters = report.counters;
  if (report.ranks.empty()) report.ranks.emplace_back();
  auto made = counter_figures(region.figures);
  const auto per_cycle =
      std::ranges::find(made, "instructions_per_cycle", [](const auto& one) { return one.row->name; });
  m.derived("papi", or_null("null: the program was built without PAPI"), [] { return papi_version(); });
  m("asked", counters.asked, {.meaning = "Events and groups.", .fewest = 1});
  m.list("events", counters.counted, meaning("Those that were counted."),
         [&](std::string& name, size_t event) { describe_event(m, region, name, event); });
  m("refused", counters.refused, meaning("Those that cannot be counted here."));
  m("multiplexed", counters.multiplexed, meaning("true: values are estimates."));
  bool counts_all = report.configuration.thread_count == 1 || counters.counts_all_threads;
  m("all_threads", counts_all, meaning("false: the master thread of a rank only."));
  if (m.reads()) counters.counts_all_threads = counts_all;
  m.derived("clocks_per_reading", at_least(0), [&] { return report.ranks.front().clocks_per_reading; });
  m.derived("reading_share", at_least(0, "Share of the timed region that reading took, mean over ranks."),
            [&] { return reading_share(region.figures); });
  m.derived("instructions_per_cycle",
            per_cycle == made.end() ? std::nullopt : std::optional(ratios_by_phase(region, *per_cycle)),
            or_null("Per core cycle; null unless both were counted. Also in figures."));
  m.list("figures", made, meaning("Made of the counts of all ranks; those whose events were counted."),
         [&](CounterFigure& one, size_t /*index*/) {
           m.derived("name", {}, [&] { return one.row->name; });
           m.derived("description", {}, [&] { return one.row->description; });
           m("events", one.events, {.fewest = 1});
           m.derived("phases", ratios_by_phase(region, one), meaning("null where there is no such figure."));
         });
  m.list("ranks", repeat.counts, {}, [&](RankCounts& counts, size_t rank) {
    m.derived("rank", rank, at_least(0));
    m("readings", counts.reading_count, at_least(0));
    m("clocks_per_reading", facts_of(report, rank).clocks_per_reading, at_least(0));
    describe_counts(m, "region", true, counters.counted, counts.region);
    m.object("phases", [&] {
      for (const auto& row : phase_table())
        describe_counts(m, row.name, has_phase(region, row.phase), counters.counted,
                        counts.phases[index_of(row.phase)]);
    });
  });
}

}  // namespace

void describe_region(Members& m, DescribedRegion& region) {
  const auto& figures = region.figures;
  bool are_timed = figures.is_known();
  if (are_timed && !region.roofline) region.roofline = roofline_of(figures);
  m.object_if(are_timed, "phases", or_null("null with --no-phases, and without a result or an iteration."),
              [&] { describe_times(m, region); });
  m.object_if(region.roofline, "roofline",
              or_null("What the phases must move and compute, against what all ranks can, means over the "
                      "ranks; null without --roofline or phases, and where ranks outnumber cores."),
              [&](Roofline& roofline) { describe_roofline(m, region, roofline); });
  m.object_if(figures.is_known() && !region.report.counters.asked.empty(), "counters",
              or_null("Of the repetition reported, sums over all CG steps; null where none were asked for, "
                      "and without phases."),
              [&] { describe_counters(m, region); });
}

}  // namespace cg2d
