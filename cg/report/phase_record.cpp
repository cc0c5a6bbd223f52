// The phases of a result: their times, the limits of the machine, and counted events.

#include "cg/report/phase_record.hpp"

#include <cstdint>

#include "cg/run/roofline.hpp"
#include "cg/timing/papi_library.hpp"

namespace cg2d {
namespace {

/// One rank's part of the region.
struct RankPhases {
  const PhaseFigures& figures;
  std::size_t rank = 0;

  [[nodiscard]] const RankTimes& times() const { return figures.repeat.ranks[rank]; }
  [[nodiscard]] const RankCounts& counts() const { return figures.repeat.counts[rank]; }
  [[nodiscard]] double ticks_per_second() const { return figures.ranks[rank].ticks_per_second; }
};

std::vector<RankPhases> all_ranks(const PhaseFigures& figures, std::size_t count) {
  std::vector<RankPhases> ranks;
  for (std::size_t rank = 0; rank < count; ++rank) ranks.push_back({figures, rank});
  return ranks;
}

/// A phase on a rank.
struct RankPhase {
  const RankPhases& rank;
  Phase phase;

  [[nodiscard]] const PhaseRecord& record() const { return rank.times().phases[index_of(phase)]; }
  [[nodiscard]] double seconds(std::uint64_t clocks) const {
    return static_cast<double>(clocks) / rank.ticks_per_second();
  }
  [[nodiscard]] comm::Traffic sent() const {
    const auto operation = operation_of(phase);
    return operation ? rank.times().sent[static_cast<std::size_t>(*operation)] : comm::Traffic();
  }
  /// The clocks that are hidden where communication is under way during other phases.
  [[nodiscard]] std::optional<std::uint64_t> hidden_clocks() const {
    const bool hides =
        phase == Phase::halo || (phase == Phase::collection && rank.figures.configuration.overlaps);
    return hides ? std::optional(record().hidden_clocks) : std::nullopt;
  }
};

const Record<RankPhase>& phase_record() {
  static const Record<RankPhase> record{
      "phase",
      {{"clocks", count_type(), [](const auto& one) { return one.record().clocks; }},
       {"seconds", column(column(seconds_type(), "*_s", "mean"), "*_max_s", "maximum"),
        [](const auto& one) { return one.seconds(one.record().clocks); }},
       {"waited_clocks", count_type(), [](const auto& one) { return one.record().waited_clocks; },
        "Of the clocks, those spent waiting for other ranks."},
       {"waited_seconds", column(seconds_type(), "*_waiting_s", "mean"),
        [](const auto& one) { return one.seconds(one.record().waited_clocks); }},
       {"calls", count_type(), [](const auto& one) { return one.record().calls; }},
       {"messages", count_type(), [](const auto& one) { return one.sent().message_count; },
        "Sent by this rank."},
       {"bytes", count_type(), [](const auto& one) { return one.sent().byte_count; }, "Sent by this rank."},
       {"hidden_clocks", count_type(), &RankPhase::hidden_clocks,
        "Of products, while parts of the collection, or the halo, were still under way; not among this "
        "phase's clocks. In the collection of runs with overlap, and in the halo of stencils, only.",
        Presence::if_known},
       {"hidden_seconds", column(seconds_type(), "collection_hidden_s", "mean"),
        [](const auto& one) {
          const auto clocks = one.hidden_clocks();
          return clocks ? std::optional(one.seconds(*clocks)) : std::nullopt;
        },
        "", Presence::if_known}}};
  return record;
}

/// The figures of each phase on a rank; some phases never send. (They wait where other ranks still read what they write: shared.)
FigureType rank_phases_type() {
  const auto phase = type_of(phase_record());
  const auto none = constant_type(0);
  auto silent = with(phase, "properties", {{"messages", none}, {"bytes", none}});
  silent = named_type("silent_phase", with(std::move(silent), "description", "A phase without messages."));
  Json properties = Json::object();
  for (const auto one : benchmark_phases) {
    if (!operation_of(one)) properties[std::string(phase_name(one))] = silent;
  }
  return with(by_phase_type(phase), "properties", std::move(properties));
}

const Record<RankPhases>& rank_phases_record() {
  static const Record<RankPhases> record{
      "rank_phases",
      {{"rank", count_type(), &RankPhases::rank},
       {"process_column", count_type(),
        [](const auto& one) { return one.figures.configuration.grid.column_of(static_cast<int>(one.rank)); }},
       {"process_row", count_type(),
        [](const auto& one) { return one.figures.configuration.grid.row_of(static_cast<int>(one.rank)); }},
       {"region_clocks", positive_count_type(), [](const auto& one) { return one.times().region_clocks; }},
       {"region_s", positive_seconds_type(), [](const auto& one) { return one.times().region_s; }},
       {"clocks_per_second", positive_seconds_type(), &RankPhases::ticks_per_second},
       {"phases", rank_phases_type(), [](const auto& one) {
          return json_by_phase(one.figures.reported_phases(), [&](auto index) {
            return json_of(phase_record(), {one, phase_at(index)});
          });
        }}}};
  return record;
}

const Record<Footprint>& footprint_record() {
  static const Record<Footprint> record{
      "footprint",
      {{"rank", count_type(), &Footprint::rank_bytes, "Of the rank that has most."},
       {"total", count_type(), &Footprint::all_bytes, "Of all ranks together."}}};
  return record;
}

const Record<PhaseShare>& phase_share_record() {
  static const Record<PhaseShare> record{"phase_share",
                                         {{"bytes", seconds_type(), &PhaseShare::byte_count},
                                          {"flops", seconds_type(), &PhaseShare::flop_count},
                                          {"limit_s", seconds_type(), &PhaseShare::shortest_s},
                                          {"measured_s", seconds_type(), &PhaseShare::measured_s},
                                          {"share", seconds_type(), &PhaseShare::share}}};
  return record;
}

/// An event that was counted in the region.
struct SeenEvent {
  const PhaseFigures& figures;
  std::string name;
  EventTotals totals;
};

std::vector<SeenEvent> seen_events(const PhaseFigures& figures) {
  std::vector<SeenEvent> seen;
  for (const auto& name : figures.counters->counted)
    seen.push_back({figures, name, event_totals(figures, seen.size())});
  return seen;
}

/// The spread over the ranks, and their sum.
struct SeenSpread {
  const Spread& spread;
  double total = 0.0;
};

const Record<SeenSpread>& event_phase_record() {
  static const Record<SeenSpread> record{
      "event_phase",
      {{"minimum", number_type(), [](const auto& seen) { return seen.spread.minimum; }},
       {"mean", number_type(), [](const auto& seen) { return seen.spread.mean; }},
       {"maximum", number_type(), [](const auto& seen) { return seen.spread.maximum; }},
       {"total", number_type(), &SeenSpread::total}},
      "Over the ranks; total: their sum."};
  return record;
}

const Record<SeenEvent>& event_record() {
  static const Record<SeenEvent> record{
      "event",
      {{"name", name_type(), &SeenEvent::name},
       {"kind", event_kind_type(), [](const auto& seen) { return event_kind_name(event_kind(seen.name)); }},
       {"total", number_type(), [](const auto& seen) { return seen.totals.region_total; },
        "Whole timed region, all ranks."},
       {"outside_phases", number_type(), [](const auto& seen) { return seen.totals.outside_phases; },
        "Of total: what is in no phase."},
       {"coverage", finite_type(), [](const auto& seen) { return seen.totals.coverage; },
        "Sum over the phases by total; null if total is 0."},
       {"system_total", finite_type(), [](const auto& seen) { return seen.totals.account; },
        "total as getrusage and the clock of processor time have it; null: they have no such figure."},
       {"per_nonzero", finite_type(),
        [](const auto& seen) {
          const bool has_it =
              event_kind(seen.name) == EventKind::misses && seen.figures.nonzeros_multiplied > 0.0;
          return has_it ? std::optional(per_nonzero(seen.figures, seen.totals)) : std::nullopt;
        },
        "Misses in multiply, per nonzero and product."},
       {"phases", map_type(type_of(event_phase_record())), [](const auto& seen) {
          return json_by_phase(seen.figures.reported_phases(), [&](auto index) {
            return json_of(event_phase_record(),
                           {seen.totals.phases[index], seen.totals.phase_totals[index]});
          });
        }}}};
  return record;
}

/// A figure made of counts, in the phases that are reported.
struct SeenCounterFigure {
  const PhaseFigures& figures;
  CounterFigure made;

  [[nodiscard]] Json phases() const {
    return json_by_phase(figures.reported_phases(),
                         [&](auto index) { return figure_value(made.phases[index]); });
  }
};

std::vector<SeenCounterFigure> seen_counter_figures(const PhaseFigures& figures) {
  std::vector<SeenCounterFigure> seen;
  for (auto& made : counter_figures(counted_events(figures))) seen.push_back({figures, std::move(made)});
  return seen;
}

const Record<SeenCounterFigure>& counter_figure_record() {
  static const Record<SeenCounterFigure> record{
      "counter_figure",
      {{"name", name_type(), [](const auto& seen) { return seen.made.row->name; }},
       {"description", name_type(), [](const auto& seen) { return seen.made.row->description; }},
       {"events", list_type(name_type(), 1), [](const auto& seen) { return seen.made.events; }},
       {"phases", map_type(finite_type()), &SeenCounterFigure::phases,
        "null where there is no such figure."}}};
  return record;
}

Json event_values(const PhaseFigures& figures, const CounterValues& values) {
  Json json = Json::object();
  for (std::size_t event = 0; event < figures.counters->counted.size(); ++event)
    json[figures.counters->counted[event]] = values[event];
  return json;
}

const Record<RankPhases>& rank_counts_record() {
  const auto values_type = named_type("event_values", map_type({{"type", "integer"}}));
  static const Record<RankPhases> record{
      "rank_counts",
      {{"rank", count_type(), &RankPhases::rank},
       {"readings", count_type(), [](const auto& one) { return one.counts().reading_count; }},
       {"region", values_type,
        [](const auto& one) { return event_values(one.figures, one.counts().region); }},
       {"phases", map_type(values_type), [](const auto& one) {
          return json_by_phase(one.figures.reported_phases(), [&](auto index) {
            return event_values(one.figures, one.counts().phases[index]);
          });
        }}}};
  return record;
}

}  // namespace

FigureType by_phase_type(FigureType value) {
  Json names = Json::array();
  for (const auto phase : benchmark_phases) names.push_back(phase_name(phase));
  const auto name =
      named_type("phase_name", {{"description", "A later version may have more phases than those required."},
                                {"pattern", "^[a-z]+(_[a-z]+)*$"}});
  auto type = named_type("by_phase", {{"description", "A value for each phase."},
                                      {"type", "object"},
                                      {"required", std::move(names)},
                                      {"propertyNames", name}});
  return with(std::move(type), "additionalProperties", std::move(value));
}

FigureType event_kind_type() {
  return named_type("event_kind", word_type({"core cycles", "reference cycles", "instructions", "misses",
                                             "nanoseconds", "count"}));
}

const Record<PhaseFigures>& phases_record() {
  static const Record<PhaseFigures> record{
      "phases",
      {{"counter", name_type(), [](const auto& /*figures*/) { return cycle_counter_name(); }},
       {"counter_is_invariant", flag_type(),
        [](const auto& /*figures*/) { return cycle_counter_is_invariant(); }},
       {"cg_steps", positive_count_type(),
        [](const auto& figures) { return static_cast<std::int64_t>(figures.step_count); },
        "In the timed region."},
       {"coverage", with(with(number_type(), "minimum", 0), "maximum", 1),
        [](const auto& figures) { return phase_coverage(figures.repeat); },
        "Share of the timed region that the phases cover, mean over ranks."},
       {"timing_share", seconds_type(),
        [](const auto& figures) { return timing_share(figures.ranks, figures.repeat); },
        "Share of the timed region that reading the counter took, mean over ranks."},
       list_figure<PhaseFigures>(
           "ranks", rank_phases_record(),
           [](const PhaseFigures& figures) { return all_ranks(figures, figures.repeat.ranks.size()); }, "",
           1)}};
  return record;
}

const Record<RooflineFigures>& roofline_record() {
  static const Record<RooflineFigures> record{
      "roofline",
      {{"matrix_bytes_per_s", positive_seconds_type(),
        [](const auto& seen) { return seen.limits.matrix_bytes_per_s; }},
       {"vector_bytes_per_s", positive_seconds_type(),
        [](const auto& seen) { return seen.limits.vector_bytes_per_s; }},
       {"flops_per_s", positive_seconds_type(), [](const auto& seen) { return seen.limits.flops_per_s; }},
       {"storage_bytes_per_s", positive_seconds_type(),
        [](const auto& seen) {
          return seen.reads_storage() ? std::optional(seen.limits.storage_bytes_per_s) : std::nullopt;
        },
        "Only of a matrix that was streamed: reading its panels without multiplying them.",
        Presence::if_known},
       {"storage_bytes_per_step", seconds_type(),
        [](const auto& seen) {
          return seen.reads_storage() ? std::optional(seen.storage_bytes_per_step()) : std::nullopt;
        },
        "Only of a matrix that was streamed: what a CG step reads, all ranks.", Presence::if_known},
       part<RooflineFigures>(
           "matrix_footprint_bytes", footprint_record(),
           [](const RooflineFigures& seen) { return seen.footprint(&MachineLimits::matrix_footprint_bytes); },
           "What matrix_bytes_per_s was read from."),
       part<RooflineFigures>(
           "vector_footprint_bytes", footprint_record(),
           [](const RooflineFigures& seen) { return seen.footprint(&MachineLimits::vector_footprint_bytes); },
           "What vector_bytes_per_s was read from."),
       {"phases", by_phase_type(type_of(phase_share_record())),
        [](const auto& seen) {
          return json_by_phase(seen.figures.reported_phases(),
                               [&](auto index) { return json_of(phase_share_record(), seen.shares[index]); });
        }}},
      "What the phases must move and compute, against what all ranks together can; of the repetition "
      "reported, means over the ranks for the whole timed region."};
  return record;
}

const Record<PhaseFigures>& counters_record() {
  static const Record<PhaseFigures> record{
      "counters",
      {{"papi", or_null(name_type()), [](const auto& /*figures*/) { return papi_version(); },
        "null: the program was built without PAPI"},
       {"asked", list_type(name_type(), 1), [](const auto& figures) { return figures.counters->asked; },
        "Events and groups."},
       list_figure<PhaseFigures>("events", event_record(), seen_events, "Those that were counted."),
       list_figure<PhaseFigures>(
           "refused", refused_event_record(),
           [](const PhaseFigures& figures) { return figures.counters->refused; },
           "Those that cannot be counted here."),
       {"multiplexed", flag_type(), [](const auto& figures) { return figures.counters->multiplexed; },
        "true: values are estimates."},
       {"all_threads", flag_type(),
        [](const auto& figures) {
          return figures.configuration.thread_count == 1 || figures.counters->counts_all_threads;
        },
        "false: the master thread of a rank only."},
       {"clocks_per_reading", seconds_type(),
        [](const auto& figures) { return figures.ranks.front().clocks_per_reading; }},
       {"reading_share", seconds_type(), reading_share,
        "Share of the timed region that reading took, mean over ranks."},
       {"instructions_per_cycle",
        {{"type", {"object", "null"}}, {"additionalProperties", finite_type()}},
        [](const auto& figures) {
          for (const auto& seen : seen_counter_figures(figures)) {
            if (seen.made.row->name == "instructions_per_cycle") return seen.phases();
          }
          return Json(nullptr);
        },
        "Per core cycle; null unless instructions and core cycles were counted. Also in figures."},
       list_figure<PhaseFigures>("figures", counter_figure_record(), seen_counter_figures,
                                 "Made of the counts of all ranks; those whose events were counted."),
       list_figure<PhaseFigures>(
           "ranks", rank_counts_record(),
           [](const PhaseFigures& figures) { return all_ranks(figures, figures.repeat.counts.size()); })},
      "Events that the kernel and PAPI counted, of the repetition reported; in phases the sums over all CG "
      "steps."};
  return record;
}

const Record<RefusedEvent>& refused_event_record() {
  static const Record<RefusedEvent> record{
      "refused_event",
      {{"name", name_type(), &RefusedEvent::name}, {"reason", name_type(), &RefusedEvent::reason}}};
  return record;
}

}  // namespace cg2d
