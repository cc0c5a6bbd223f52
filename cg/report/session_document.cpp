#include "cg/report/session_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cg/base/build_info.hpp"
#include "cg/base/errors.hpp"
#include "cg/report/phase_figures.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "cg/timing/cycle_counter.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {

void describe(Members& m, BindingResult& binding) {
  m("is_bound", binding.is_bound);
  m("why_not", binding.why_not, meaning("Empty where bound."));
}

void describe(Members& m, Footprint& footprint) {
  m("rank", footprint.rank_bytes, at_least(0, "Of the rank that has most."));
  m("total", footprint.all_bytes, at_least(0, "Of all ranks together."));
}

namespace {

/// The value as JSON has it: a number, a flag or a text.
void describe_axis(Members& m, const ConfigurationAxis& axis, Configuration& configuration) {
  auto text = axis.print(configuration);
  const Note note{.meaning = axis.help, .column = axis.name};
  if (axis.is_flag()) {
    bool is_on = text == "on";
    m(axis.name, is_on, note);
    text = is_on ? "on" : "off";
  } else if (axis.is_number()) {
    int number = *number_from<int>(text);
    m(axis.name, number, note);
    text = std::to_string(number);
  } else {
    m(axis.name, text, note);
  }
  if (!m.reads()) return;
  try {
    axis.parse_recorded(configuration, text);
  } catch (const InputError& error) {
    m.complain(error.what());
  }
}

/// A region whose phases are described; figures: of what is known before the member.
struct Region {
  SessionReport& report;
  RepeatReport& repeat;
  RegionFindings& found;
  const PhaseFigures& figures;
};

/// Whether a result has the phase: one of the benchmark, or another one of a step.
bool has_phase(const RegionFindings& found, const PhaseRow& row) {
  return row.is_of_benchmark || std::ranges::find(found.phases, row.phase) != found.phases.end();
}

/// describe_one(phase) for each phase that a result has.
template <typename Describe>
void by_phase(Members& m, RegionFindings& found, const Describe& describe_one) {
  for (const auto& row : phase_table()) {
    const bool was_known = has_phase(found, row);
    bool is_there = was_known;
    if (row.is_of_benchmark)
      m.object(row.name, [&] { describe_one(row.phase); });
    else
      m.object_if(is_there, row.name, {}, [&] { describe_one(row.phase); });
    if (m.reads() && is_there && !was_known) found.phases.push_back(row.phase);
  }
}

void describe_phase(Members& m, const Region& region, RankTimes& times, double clocks_per_second,
                    Phase phase) {
  auto& record = times.phases[index_of(phase)];
  const auto operation = operation_of(phase);
  comm::Traffic none;
  auto& sent = operation ? times.sent[static_cast<std::size_t>(*operation)] : none;
  const bool hides =
      phase == Phase::halo || (phase == Phase::collection && region.report.configuration.overlaps);
  // Columns are of the phases of the benchmark.
  const bool is_shown = phase_row(phase).is_of_benchmark;
  const auto column = [&](std::string_view name) { return is_shown ? name : std::string_view(); };
  const auto seconds = [&](std::uint64_t clocks) { return static_cast<double>(clocks) / clocks_per_second; };
  m("clocks", record.clocks, at_least(0));
  m.derived("seconds", seconds(record.clocks),
            {.column = column("*_max_s"), .mean_column = column("*_s"), .least = 0.0});
  m("waited_clocks", record.waited_clocks,
    at_least(0, "Of the clocks, those spent waiting for other ranks."));
  m.derived("waited_seconds", seconds(record.waited_clocks),
            {.mean_column = column("*_waiting_s"), .least = 0.0});
  m("calls", record.calls, at_least(0));
  m("messages", sent.message_count, at_least(0, "Sent by this rank."));
  m("bytes", sent.byte_count, at_least(0, "Sent by this rank."));
  m.if_given(
      "hidden_clocks", record.hidden_clocks, hides,
      at_least(0,
               "Of products, while parts of the collection, or the halo, were still under way; not among "
               "this phase's clocks. In the collection of runs with overlap, and in the halo of stencils, "
               "only."));
  double hidden_s = seconds(record.hidden_clocks);
  m.if_given("hidden_seconds", hidden_s, hides, {.mean_column = column("collection_hidden_s"), .least = 0.0});
}

void describe_times(Members& m, const Region& region) {
  auto& report = region.report;
  auto& repeat = region.repeat;
  auto& found = region.found;
  const auto& grid = report.configuration.grid;
  m.derived("counter", {}, [] { return cycle_counter_name(); });
  m.derived("counter_is_invariant", {}, [] { return cycle_counter_is_invariant(); });
  m.derived("cg_steps", static_cast<std::int64_t>(region.figures.step_count),
            at_least(1, "In the timed region."));
  m.derived("coverage", phase_coverage(repeat),
            at_least(0, "Share of the timed region that the phases cover, mean over ranks."));
  m("timing_share", found.timing_share,
    at_least(0, "Share of the timed region that reading the counter took, mean over ranks."));
  m.list("ranks", repeat.ranks, {.fewest = 1}, [&](RankTimes& times, std::size_t rank) {
    // A file may contradict itself.
    report.ranks.resize(std::max(report.ranks.size(), rank + 1));
    auto& clocks_per_second = report.ranks[rank].ticks_per_second;
    m.derived("rank", rank, at_least(0));
    m.derived("process_column", at_least(0), [&] { return grid.column_of(static_cast<int>(rank)); });
    m.derived("process_row", at_least(0), [&] { return grid.row_of(static_cast<int>(rank)); });
    m("region_clocks", times.region_clocks, at_least(1));
    m("region_s", times.region_s, positive());
    m("clocks_per_second", clocks_per_second, positive());
    m.object("phases", [&] {
      by_phase(m, region.found,
               [&](Phase phase) { describe_phase(m, region, times, clocks_per_second, phase); });
    });
  });
}

void describe_roofline(Members& m, RegionFindings& found, Roofline& roofline) {
  auto& [limits, matrix, vectors, storage_bytes, shares] = roofline;
  const bool streams = limits.storage_bytes_per_s > 0.0;
  m("matrix_bytes_per_s", limits.matrix_bytes_per_s, positive());
  m("vector_bytes_per_s", limits.vector_bytes_per_s, positive());
  m("flops_per_s", limits.flops_per_s, positive());
  m.if_given("storage_bytes_per_s", limits.storage_bytes_per_s, streams,
             positive("Only of a matrix that was streamed: reading its panels without multiplying them."));
  m.if_given("storage_bytes_per_step", storage_bytes, streams,
             at_least(0, "Only of a matrix that was streamed: what a CG step reads, all ranks."));
  m("matrix_footprint_bytes", matrix, meaning("What matrix_bytes_per_s was read from."));
  m("vector_footprint_bytes", vectors, meaning("What vector_bytes_per_s was read from."));
  m.object("phases", [&, &shares = shares] {
    by_phase(m, found, [&](Phase phase) {
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
  Named<std::int64_t> named;
  for (std::size_t event = 0; event < std::min(events.size(), values.size()); ++event)
    named.emplace_back(events[event], values[event]);
  m.if_given(name, named, is_there);
  for (std::size_t event = 0; event < std::min(named.size(), values.size()); ++event)
    values[event] = named[event].second;
}

void describe_event(Members& m, const Region& region, std::string& name, std::size_t event) {
  const auto& figures = region.figures;
  m("name", name, not_empty());
  const auto totals = event_totals(figures, event);
  const bool are_misses = event_kind(name) == EventKind::misses && figures.nonzeros_multiplied > 0.0;
  m.derived("kind", event_kind_name(event_kind(name)));
  m.derived("total", totals.region_total, meaning("Whole timed region, all ranks."));
  m.derived("outside_phases", totals.outside_phases, meaning("Of total: what is in no phase."));
  m.derived("coverage", totals.coverage, or_null("Sum over the phases by total; null if total is 0."));
  auto& accounts = region.found.accounts;
  accounts.resize(std::max(accounts.size(), event + 1));
  m("system_total", accounts[event],
    or_null("total as getrusage and the clock of processor time have it; null: they have no such figure."));
  m.derived("per_nonzero", are_misses ? std::optional(per_nonzero(figures, totals)) : std::nullopt,
            or_null("Misses in multiply, per nonzero and product."));
  m.object("phases", meaning("Over the ranks; total: their sum."), [&] {
    by_phase(m, region.found, [&](Phase phase) {
      const auto& spread = totals.phases[index_of(phase)];
      m.derived("minimum", spread.minimum);
      m.derived("mean", spread.mean);
      m.derived("maximum", spread.maximum);
      m.derived("total", totals.phase_totals[index_of(phase)]);
    });
  });
}

/// null where there is no ratio.
Named<double> ratios_by_phase(const RegionFindings& found, const CounterFigure& made) {
  Named<double> ratios;
  for (const auto& row : phase_table()) {
    if (has_phase(found, row))
      ratios.emplace_back(
          row.name, made.phases[index_of(row.phase)].value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return ratios;
}

void describe_counters(Members& m, const Region& region) {
  auto& report = region.report;
  auto& repeat = region.repeat;
  auto& found = region.found;
  auto& counters = report.counters;
  if (report.ranks.empty()) report.ranks.emplace_back();
  auto made = counter_figures(counted_events(region.figures));
  const auto per_cycle =
      std::ranges::find(made, "instructions_per_cycle", [](const auto& one) { return one.row->name; });
  m.derived("papi", or_null("null: the program was built without PAPI"), [] { return papi_version(); });
  m("asked", counters.asked, {.meaning = "Events and groups.", .fewest = 1});
  m.list("events", counters.counted, meaning("Those that were counted."),
         [&](std::string& name, std::size_t event) { describe_event(m, region, name, event); });
  m("refused", counters.refused, meaning("Those that cannot be counted here."));
  m("multiplexed", counters.multiplexed, meaning("true: values are estimates."));
  bool counts_all = report.configuration.thread_count == 1 || counters.counts_all_threads;
  m("all_threads", counts_all, meaning("false: the master thread of a rank only."));
  if (m.reads()) counters.counts_all_threads = counts_all;
  m("clocks_per_reading", report.ranks.front().clocks_per_reading, at_least(0));
  m("reading_share", found.reading_share,
    at_least(0, "Share of the timed region that reading took, mean over ranks."));
  m.derived("instructions_per_cycle",
            per_cycle == made.end() ? std::nullopt : std::optional(ratios_by_phase(found, *per_cycle)),
            or_null("Per core cycle; null unless instructions and core cycles were counted. Also in "
                    "figures."));
  m.list("figures", made, meaning("Made of the counts of all ranks; those whose events were counted."),
         [&](CounterFigure& one, std::size_t /*index*/) {
           m.derived("name", {}, [&] { return one.row->name; });
           m.derived("description", {}, [&] { return one.row->description; });
           m("events", one.events, {.fewest = 1});
           m.derived("phases", ratios_by_phase(found, one), meaning("null where there is no such figure."));
         });
  m.list("ranks", repeat.counts, {}, [&](RankCounts& counts, std::size_t rank) {
    m.derived("rank", rank, at_least(0));
    m("readings", counts.reading_count, at_least(0));
    describe_counts(m, "region", true, counters.counted, counts.region);
    m.object("phases", [&] {
      for (const auto& row : phase_table())
        describe_counts(m, row.name, has_phase(found, row), counters.counted,
                        counts.phases[index_of(row.phase)]);
    });
  });
}

}  // namespace

void describe_head(Members& m, std::string& program_version) {
  m.constant("schema_version", result_schema_version);
  m.object("program", [&] {
    m.constant("name", std::string("cg2d"));
    m("version", program_version, not_empty());
  });
}

void describe_head(Members& m) {
  std::string version(build_info::version);
  describe_head(m, version);
}

void describe_grid(Members& m, comm::ProcessGrid& grid) {
  m.derived("name", grid.name(), meaning("PXxPY"));
  describe_columns(m, grid);
}

void describe_end(Members& m, SessionReport& report) {
  m("status", report.code, in_column("status"));
  m("reason", report.reason, meaning("One line, as on stderr; empty on success."));
  auto code = static_cast<int>(report.code);
  m("exit_code", code, at_least(0));
  m("warnings", report.warnings);
  if (code != static_cast<int>(report.code))
    m.complain(fmt::format("its exit_code is {}, and its status {}", code, status_name(report.code)));
}

void describe_origin(Members& m, SessionReport& report) {
  m("provenance", report.provenance,
    or_null("null where the work ended before it looked, and where it is not known."));
  m.object_if(report.environment, "environment", or_null(), [&](Environment& environment) {
    auto threads = report.binding ? report.binding->ranks : std::vector<std::vector<std::string>>();
    describe(m, environment, &threads);
    m.one_of("waiting", report.wait_mode, wait_mode_table(),
             meaning("What a waiting rank does between two polls; block: it does not poll (in SimGrid's "
                     "simulator)."));
    m("thread_binding", report.binding,
      or_null("Whether each thread was bound to a core: one of its own, or, with one thread per rank "
              "and at least two ranks per core, one that ranks share; null: the run did not come to "
              "it."));
    if (m.reads() && report.binding) report.binding->ranks = std::move(threads);
  });
}

void describe_axes(Members& m, Configuration& configuration, bool all) {
  for (const auto& axis : configuration_axes()) {
    if (all || axis.is_crossed()) describe_axis(m, axis, configuration);
  }
}

void describe_configuration(Members& m, SessionReport& report) {
  auto& configuration = report.configuration;
  m.derived("ranks", configuration.grid.rank_count(), in_column("ranks", at_least(1)));
  m.object("grid", [&] {
    describe_grid(m, configuration.grid);
    m("automatic", report.grid_is_automatic, meaning("Whether the program chose it."));
    m("trial", report.grid_trial,
      meaning("With --grid auto: the grids that were tried, the most promising first, with the time of a CG "
              "step."));
  });
  describe_axes(m, configuration);
  m("symmetric_storage", report.is_symmetric, meaning("Whether one entry of each mirrored pair was stored."));
  m("instruction_set", report.instruction_set,
    in_column("instruction_set", meaning("Of the kernel; empty without an assembled matrix.")));
  m("transport_by", report.transport_origin,
    meaning("By the built-in rule it is shared where all ranks share a node."));
  m("transport_trial", report.transport_trial,
    meaning("With --transport auto: the time of a CG step with each transport; the one that is taken first, "
            "then by time."));
  m("speed_trial", report.speed_trial,
    meaning("With --cut speed: what was measured, and what follows from it."));
}

void describe_block(Members& m, const SessionReport& report, RankResult& rank) {
  m("nonzeros", rank.nonzero_count, at_least(0, "Of the whole block, whatever the kernel stores of it."));
  m.if_given("csr_bytes", rank.csr_bytes, !report.is_streamed,
             or_null(at_least(0,
                              "The whole block, as it was made; null where the matrix is streamed: no such "
                              "block was made.")));
  m("block_bytes", rank.block_bytes,
    {.meaning = "In the format of the kernel.", .label = "Block", .unit = "B", .least = 0.0});
  m("peak_bytes", rank.peak_bytes, metric("Peak memory", "B", "Largest resident memory of the process."));
}

void describe_features(Members& m, SessionReport& report, WorkKind kind) {
  for (const auto& feature : feature_table()) {
    if (feature.describe != nullptr) feature.describe(m, report.features, kind);
  }
}

RegionFindings findings_of(const PhaseFigures& figures) {
  RegionFindings found{.are_timed = figures.are_timed,
                       .are_counted = !figures.report.counters.asked.empty(),
                       .phases = {figures.phases.begin(), figures.phases.end()}};
  for (const auto& name : figures.report.counters.counted)
    found.accounts.push_back(account_of(figures.repeat, name));
  found.reading_share = reading_share(figures);
  if (!figures.are_timed) return found;
  found.timing_share = timing_share(figures.report.ranks, figures.repeat);
  found.roofline = roofline_of(figures);
  return found;
}

void describe_region(Members& m, SessionReport& report, RepeatReport& repeat, RegionFindings& found,
                     const PhaseFigures& figures) {
  const Region region{report, repeat, found, figures};
  m.object_if(
      found.are_timed, "phases",
      or_null("null where phases were not timed (--no-phases), and without a result or an iteration."),
      [&] { describe_times(m, region); });
  m.object_if(
      found.roofline, "roofline",
      or_null("What the phases must move and compute, against what all ranks together can; of the "
              "repetition reported, means over the ranks for the whole timed region. null without "
              "--roofline, where ranks outnumber cores, and without phases. Without an assembled matrix "
              "matrix_bytes_per_s is read from as many bytes as vectors have."),
      [&](Roofline& roofline) { describe_roofline(m, found, roofline); });
  m.object_if(
      found.are_counted, "counters",
      or_null("Events that the kernel and PAPI counted, of the repetition reported; in phases the sums over "
              "all CG steps. null where no events were asked for, and without a result; per nonzero: null "
              "without an assembled matrix."),
      [&] { describe_counters(m, region); });
}

}  // namespace cg2d
