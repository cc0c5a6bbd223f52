// Phases, roofline and counters of a result.

#include "cg/report/report.hpp"
#include "cg/timing/cycle_counter.hpp"

namespace cg2d {

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
  m("calls", record.calls, at_least(0));
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
