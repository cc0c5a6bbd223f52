#include "cg/report/phase_figures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

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

/// The limits that the columns "limit" and "of limit" follow from.
std::string limits_text(const Roofline& roofline, bool has_matrix) {
  const auto& limits = roofline.limits;
  const auto of_matrix =
      has_matrix ? fmt::format("{:.1f} GB/s over the matrices, ", limits.matrix_bytes_per_s / giga)
                 : std::string();
  return fmt::format(
      "\n Limits, all ranks at once: {}{:.1f} GB/s over the vectors, {:.1f} Gflop/s; -: vectors from a "
      "faster cache\n",
      of_matrix, limits.vector_bytes_per_s / giga, limits.flops_per_s / giga);
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
  const auto shares = phase_shares(figures);
  const auto roofline = roofline_of(figures);
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
  return fmt::format(" Phases: time per CG step, mean over the ranks; reference clocks of {}, {:.3f} GHz\n",
                     cycle_counter_name(), ticks_per_s / giga) +
         table.text() + (hides ? " hidden: work while messages of the phase were under way\n" : "") +
         fmt::format(
             " waiting (us) is part of its phase; GB/s and Gflop/s: of all ranks, the least work of the "
             "phase over its time;\n messages and bytes sent: per rank. The phases cover {:.2f} % of the "
             "time, timing them took {:.3f} %.\n",
             100.0 * phase_coverage(figures.repeat),
             100.0 * timing_share(figures.report.ranks, figures.repeat)) +
         (roofline ? limits_text(*roofline, figures.nonzeros_multiplied > 0.0) : "");
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
  const auto ratio = [](double numerator, double denominator) {
    return denominator > 0.0 ? numerator / denominator : none;
  };
  constexpr auto multiply = index_of(Phase::multiply);
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
    if (!denominator) {
      figure.phases[multiply] = ratio(row.factor * above[multiply].total, figures.nonzeros_multiplied);
      continue;
    }
    figure.events.push_back(names[*denominator]);
    const auto below = event_totals(figures, *denominator).phases;
    for (size_t phase = 0; phase < benchmark_phase_count; ++phase)
      figure.phases[phase] = ratio(row.factor * above[phase].total, below[phase].total);
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
    &PhaseShare::calls,      &PhaseShare::waited_s,   &PhaseShare::hidden_s,
    &PhaseShare::messages,   &PhaseShare::sent_bytes, &PhaseShare::predicted_s};

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
          .calls = mean(times.calls),
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

std::string figures_text(const PhaseFigures& figures) {
  if (!figures.is_known()) return {};
  return "\n" + phase_table_text(figures) + counters_text(figures);
}

}  // namespace cg2d
