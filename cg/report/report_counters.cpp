#include "cg/report/report_counters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/run/roofline.hpp"
#include "cg/timing/papi.hpp"

namespace cg2d {
namespace {

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

std::optional<double> ratio(double numerator, double denominator) {
  if (denominator > 0.0) return numerator / denominator;
  return std::nullopt;
}

std::optional<CounterFigure> figure_of(const FigureRow& row, const CountedEvents& counted) {
  const auto numerator = find_role(row.numerator, counted.names);
  if (!numerator) return std::nullopt;
  CounterFigure figure{.row = &row, .events = {counted.names[*numerator]}, .phases = {}};
  const auto& above = counted.totals[*numerator];
  if (!row.denominator) {
    const auto multiply = index_of(Phase::multiply);
    figure.phases[multiply] = ratio(row.factor * above[multiply], counted.nonzeros_multiplied);
    return figure;
  }
  const auto denominator = find_role(*row.denominator, counted.names);
  if (!denominator) return std::nullopt;
  figure.events.push_back(counted.names[*denominator]);
  for (std::size_t phase = 0; phase < benchmark_phase_count; ++phase)
    figure.phases[phase] = ratio(row.factor * above[phase], counted.totals[*denominator][phase]);
  return figure;
}

std::string threads_text(const PhaseFigures& figures) {
  if (figures.configuration.thread_count == 1) return "one thread per rank";
  return figures.counters->counts_all_threads ? "all threads of a rank" : "the master thread of a rank only";
}

/// Events per step: "0.005333", "197123456".
std::string count_text(double count) {
  constexpr double least_whole = 1000.0;
  return count < least_whole ? fmt::format("{:.4g}", count) : fmt::format("{:.0f}", count);
}

void add_event(Table& table, const PhaseFigures& figures, std::string_view label, const EventTotals& totals) {
  table.line().word("event", label);
  double sum = 0.0;
  for (const auto phase : figures.phases) {
    const double mean = totals.phases[index_of(phase)].mean;
    table.number(phase_name(phase), count_text(mean / figures.step_count));
    sum += mean;
  }
  table.number("all phases", count_text(sum / figures.step_count));
  table.number("region total", "{:.0f}", totals.region_total);
  table.number("OS total", totals.account ? fmt::format("{:.0f}", *totals.account) : "");
  table.number("coverage", percent_text(totals.coverage, 2));
}

void add_ratios(Table& table, const PhaseFigures& figures) {
  for (const auto& figure : counter_figures(counted_events(figures))) {
    if (!figure.row->denominator && figures.nonzeros_multiplied == 0.0) continue;
    table.line().word("event", figure.row->description);
    for (const auto phase : figures.phases) {
      const auto& ratio = figure.phases[index_of(phase)];
      table.number(phase_name(phase), ratio ? fmt::format("{:.4g}", *ratio) : "");
    }
  }
}

std::string misses_text(const PhaseFigures& figures) {
  std::string text;
  if (figures.nonzeros_multiplied == 0.0) return text;
  for (std::size_t event = 0; event < figures.counters->counted.size(); ++event) {
    if (event_kind(figures.counters->counted[event]) != EventKind::misses) continue;
    text += fmt::format(" {} per nonzero in multiply: {:.4g}\n", figures.counters->counted[event],
                        per_nonzero(figures, event_totals(figures, event)));
  }
  return text;
}

constexpr double giga = 1e9;

MachineLimits sum_of_limits(const PhaseFigures& figures) {
  MachineLimits sum;
  for (const auto& rank : figures.ranks) {
    sum.matrix_bytes_per_s += rank.limits.matrix_bytes_per_s;
    sum.vector_bytes_per_s += rank.limits.vector_bytes_per_s;
    sum.flops_per_s += rank.limits.flops_per_s;
    sum.storage_bytes_per_s += rank.limits.storage_bytes_per_s;
    sum.matrix_footprint_bytes += rank.limits.matrix_footprint_bytes;
    sum.vector_footprint_bytes += rank.limits.vector_footprint_bytes;
  }
  return sum;
}

/// Without a matrix that of reading one is no limit.
std::string limits_text(const PhaseFigures& figures, const Roofline& seen) {
  const auto& [limits, matrix, vectors, storage_bytes, shares] = seen;
  const bool has_matrix = std::ranges::any_of(figures.phases, [](Phase phase) {
    return cg2d::phase_row(phase).limit == PhaseLimit::matrix_bandwidth;
  });
  if (!has_matrix) {
    return fmt::format(
        "\n Limits, all ranks at once: {:.1f} GB/s over the vectors, {:.1f} Gflop/s\n"
        " measured with {} of vectors on a rank, {} in all\n",
        limits.vector_bytes_per_s / giga, limits.flops_per_s / giga, format_bytes(vectors.rank_bytes),
        format_bytes(vectors.all_bytes));
  }
  return fmt::format(
      "\n Limits, all ranks at once: {:.1f} GB/s over the matrices, {:.1f} GB/s over the vectors, "
      "{:.1f} Gflop/s\n measured with {} of matrix and {} of vectors on a rank, {} and {} in all\n",
      limits.matrix_bytes_per_s / giga, limits.vector_bytes_per_s / giga, limits.flops_per_s / giga,
      format_bytes(matrix.rank_bytes), format_bytes(vectors.rank_bytes), format_bytes(matrix.all_bytes),
      format_bytes(vectors.all_bytes));
}

std::string storage_text(const PhaseFigures& figures, const Roofline& seen) {
  const double bytes = seen.storage_bytes_per_step;
  const double step_s = seen.shares[index_of(Phase::multiply)].measured_s / figures.step_count;
  return fmt::format(
      " Storage, all ranks at once: {:.2f} GB/s; a CG step reads {}, {:.2f} GB/s in the phase multiply "
      "({:.0f} % of it)\n",
      seen.limits.storage_bytes_per_s / giga, format_bytes(saturated(bytes)), bytes / step_s / giga,
      100.0 * bytes / step_s / seen.limits.storage_bytes_per_s);
}

}  // namespace

std::span<const FigureRow> figure_table() { return figure_rows; }

std::vector<CounterFigure> counter_figures(const CountedEvents& counted) {
  std::vector<CounterFigure> made;
  for (const auto& row : figure_rows) {
    if (auto figure = figure_of(row, counted)) made.push_back(std::move(*figure));
  }
  return made;
}

EventTotals event_totals(const PhaseFigures& figures, std::size_t event) {
  const auto& repeat = figures.repeat;
  EventTotals totals;
  double sum = 0.0;
  for (std::size_t index = 0; index < phase_count; ++index) {
    std::vector<double> values;
    for (const auto& rank : repeat.counts) values.push_back(static_cast<double>(rank.phases[index][event]));
    totals.phases[index] = spread_of(values);
    for (const double value : values) totals.phase_totals[index] += value;
    sum += totals.phase_totals[index];
  }
  for (const auto& rank : repeat.counts) totals.region_total += static_cast<double>(rank.region[event]);
  totals.outside_phases = totals.region_total - sum;
  if (totals.region_total > 0.0) totals.coverage = sum / totals.region_total;
  totals.account = account_of(repeat, figures.counters->counted[event]);
  return totals;
}

CountedEvents counted_events(const PhaseFigures& figures) {
  CountedEvents counted{
      .names = figures.counters->counted, .totals = {}, .nonzeros_multiplied = figures.nonzeros_multiplied};
  for (std::size_t event = 0; event < counted.names.size(); ++event)
    counted.totals.push_back(event_totals(figures, event).phase_totals);
  return counted;
}

double per_nonzero(const PhaseFigures& figures, const EventTotals& totals) {
  return totals.phase_totals[index_of(Phase::multiply)] / figures.nonzeros_multiplied;
}

double reading_share(const PhaseFigures& figures) {
  const auto& repeat = figures.repeat;
  double sum = 0.0;
  for (std::size_t rank = 0; rank < repeat.counts.size(); ++rank) {
    sum += static_cast<double>(repeat.counts[rank].reading_count) * figures.ranks[rank].clocks_per_reading /
           static_cast<double>(repeat.ranks[rank].region_clocks);
  }
  return repeat.counts.empty() ? 0.0 : sum / static_cast<double>(repeat.counts.size());
}

std::string counters_text(const PhaseFigures& figures) {
  const auto& counters = *figures.counters;
  if (counters.asked.empty()) return {};
  if (counters.counted.empty()) return "\n Events: none of those requested can be counted here\n";
  Table table;
  for (std::size_t event = 0; event < counters.counted.size(); ++event) {
    const auto& name = counters.counted[event];
    const auto kind = event_kind(name);
    const bool has_unit = kind == EventKind::core_cycles || kind == EventKind::reference_cycles ||
                          kind == EventKind::nanoseconds;
    const auto unit = kind == EventKind::nanoseconds ? std::string_view("ns") : event_kind_name(kind);
    add_event(table, figures, has_unit ? fmt::format("{} ({})", name, unit) : name,
              event_totals(figures, event));
  }
  add_ratios(table, figures);
  return fmt::format("\n Events: per CG step, mean over the ranks ({}{})\n", threads_text(figures),
                     counters.multiplexed ? "; multiplexed: estimates" : "") +
         table.text() + misses_text(figures) +
         fmt::format(
             " region total: sum over the whole timed region and all ranks; OS total: the same by getrusage "
             "and the "
             "clock of\n processor time; coverage: share of the region's events that is within phases\n"
             " Reading the events took {:.3f} % of the timed region ({:.0f} reference clocks per reading)\n",
             100.0 * reading_share(figures), figures.ranks.front().clocks_per_reading);
}

PhaseShares phase_shares(const PhaseFigures& figures) {
  PhaseShares shares{};
  const auto& repeat = figures.repeat;
  const auto rank_count = static_cast<double>(repeat.ranks.size());
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& facts = figures.ranks[rank];
    const auto work = work_of(facts, repeat.ranks[rank]);
    for (std::size_t index = 0; index < phase_count; ++index) {
      auto& share = shares[index];
      share.byte_count += work[index].byte_count / rank_count;
      share.flop_count += work[index].flop_count / rank_count;
      share.storage_byte_count += work[index].storage_byte_count / rank_count;
      share.shortest_s += shortest_time_s(phase_at(index), work[index], facts.limits) / rank_count;
      share.measured_s +=
          static_cast<double>(repeat.ranks[rank].phases[index].clocks) / facts.ticks_per_second / rank_count;
    }
  }
  return shares;
}

std::optional<Roofline> roofline_of(const PhaseFigures& figures) {
  if (figures.ranks.empty() || !figures.ranks.front().limits.are_known()) return std::nullopt;
  Roofline seen{.limits = sum_of_limits(figures), .shares = phase_shares(figures)};
  const auto footprint_of = [&](std::int64_t MachineLimits::*bytes) {
    Footprint footprint{.all_bytes = seen.limits.*bytes};
    for (const auto& rank : figures.ranks)
      footprint.rank_bytes = std::max(footprint.rank_bytes, rank.limits.*bytes);
    return footprint;
  };
  seen.matrix = footprint_of(&MachineLimits::matrix_footprint_bytes);
  seen.vectors = footprint_of(&MachineLimits::vector_footprint_bytes);
  if (seen.reads_storage())
    seen.storage_bytes_per_step = seen.shares[index_of(Phase::multiply)].storage_byte_count *
                                  static_cast<double>(figures.ranks.size()) / figures.step_count;
  return seen;
}

std::string roofline_text(const PhaseFigures& figures) {
  const auto seen = roofline_of(figures);
  if (!seen) return {};
  std::string text = limits_text(figures, *seen);
  if (seen->reads_storage()) text += storage_text(figures, *seen);
  const double steps = figures.step_count;
  const auto rank_count = static_cast<double>(figures.ranks.size());
  constexpr double microseconds = 1e6;
  bool is_in_caches = false;
  Table table;
  for (const auto phase : figures.phases) {
    const auto& share = seen->shares[index_of(phase)];
    const double all_ranks_per_s = share.measured_s > 0.0 ? rank_count / share.measured_s : 0.0;
    const bool has_limit = share.share() <= 1.0;
    is_in_caches |= !has_limit;
    table.line().word("phase", phase_name(phase)).number("bytes", "{:.0f}", share.byte_count / steps);
    table.number("flops", "{:.0f}", share.flop_count / steps);
    table.number("GB/s", "{:.2f}", share.byte_count * all_ranks_per_s / giga);
    table.number("Gflop/s", "{:.3f}", share.flop_count * all_ranks_per_s / giga);
    table.number("limit us", "{:.1f}", microseconds * share.shortest_s / steps);
    table.number("measured us", "{:.1f}", microseconds * share.measured_s / steps);
    table.number("share", percent_text(has_limit ? std::optional(share.share()) : std::nullopt, 1));
  }
  return text + table.text() +
         " bytes and flops that a CG step must move and compute (mean of the ranks); rates of all ranks; "
         "share "
         "= limit / measured\n" +
         (is_in_caches ? " -: the limit does not apply: the phase reads vectors from a faster cache than all "
                         "vectors of a "
                         "step have room in\n"
                       : "");
}

}  // namespace cg2d
