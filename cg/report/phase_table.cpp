#include "cg/report/phase_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "cg/base/table.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/solve/solve_report.hpp"

namespace cg2d {
namespace {

/// A row of the phase table: means over the ranks for one CG step; predicted: for the whole run.
struct RowMeans {
  double waited = 0.0;
  double hidden = 0.0;
  double messages = 0.0;
  double bytes = 0.0;
  double predicted_s = 0.0;

  RowMeans& operator+=(const RowMeans& other) {
    waited += other.waited;
    hidden += other.hidden;
    messages += other.messages;
    bytes += other.bytes;
    predicted_s += other.predicted_s;
    return *this;
  }
};

/// Means over the ranks for one CG step, in clocks.
RowMeans means_of(const PhaseFigures& figures, Phase phase) {
  const auto& repeat = figures.repeat;
  const auto index = index_of(phase);
  const auto mean = [&](auto count) {
    return static_cast<double>(count) / figures.step_count / static_cast<double>(repeat.ranks.size());
  };
  RowMeans means;
  if (figures.prediction) means.predicted_s = figures.prediction->phases[index];
  for (const auto& times : repeat.ranks) {
    means.waited += mean(times.phases[index].waited_clocks);
    means.hidden += mean(times.phases[index].hidden_clocks);
    const auto sent = times.sent_in(phase);
    means.messages += mean(sent.message_count);
    means.bytes += mean(sent.byte_count);
  }
  return means;
}

std::string hidden_legend(const PhaseFigures& figures, std::string_view unit) {
  if (!figures.hides()) return {};
  return fmt::format(
      " hidden ({}) = {} was under way: saved at most\n", unit,
      figures.configuration.overlaps ? "multiply while a part of the collection" : "interior while the halo");
}

/// Time: for people who want to know where it goes.
std::string time_table(const PhaseFigures& figures) {
  const auto& repeat = figures.repeat;
  const auto rank_count = static_cast<double>(repeat.ranks.size());
  const auto shares = phase_shares(figures);
  constexpr double microseconds = 1e6;
  constexpr double billion = 1e9;
  double region_s = 0.0;
  for (const auto& rank : repeat.ranks) region_s += rank.region_s / rank_count;

  Table table;
  const auto row = [&](std::string_view name, const PhaseShare& share, const RowMeans& means) {
    const double all_ranks_per_s = share.measured_s > 0.0 ? rank_count / share.measured_s : 0.0;
    const auto rate = [&](double amount, int digits) {
      return amount > 0.0 ? fmt::format("{:.{}f}", amount * all_ranks_per_s / billion, digits)
                          : std::string();
    };
    table.line().word("phase", name).number("share", "{:.1f} %", 100.0 * share.measured_s / region_s);
    table.number("us", "{:.2f}", microseconds * share.measured_s / figures.step_count);
    table.number("waiting", "{:.2f}", means.waited);
    if (figures.hides()) table.number("hidden", "{:.2f}", means.hidden);
    table.number("GB/s", rate(share.byte_count, 2)).number("Gflop/s", rate(share.flop_count, 3));
    table.number("messages", "{:.2f}", means.messages).number("bytes sent", "{:.0f}", means.bytes);
    if (figures.prediction) table.number("predicted", "{:.2f}", means.predicted_s);
  };
  PhaseShare all_shares;
  RowMeans all;
  for (const auto phase : figures.phases) {
    const auto& share = shares[index_of(phase)];
    auto means = means_of(figures, phase);
    const double us_per_clock = microseconds / figures.ranks.front().ticks_per_second;
    means.waited *= us_per_clock;
    means.hidden *= us_per_clock;
    means.predicted_s *= microseconds / figures.step_count;
    row(phase_name(phase), share, means);
    all += means;
    all_shares.byte_count += share.byte_count;
    all_shares.flop_count += share.flop_count;
    all_shares.measured_s += share.measured_s;
  }
  row("all phases", all_shares, all);
  return " Phases: time per CG step, mean over the ranks\n" + table.text() + hidden_legend(figures, "us") +
         fmt::format(
             " waiting (us) is part of its phase; GB/s and Gflop/s: of all ranks, the least work of the "
             "phase over its time;\n messages and bytes sent: per rank. The phases cover {:.2f} % of the "
             "time, timing them took {:.3f} %. --clocks: clocks\n",
             100.0 * phase_coverage(repeat), 100.0 * timing_share(figures.ranks, repeat));
}

/// Clocks, with their spread over the ranks.
std::string clock_table(const PhaseFigures& figures) {
  const auto& repeat = figures.repeat;
  const auto rank_count = repeat.ranks.size();
  const double steps = figures.step_count;
  const double ticks_per_s = figures.ranks.front().ticks_per_second;
  double region_mean = 0.0;
  for (const auto& rank : repeat.ranks)
    region_mean += static_cast<double>(rank.region_clocks) / static_cast<double>(rank_count);

  Table table;
  std::vector<double> clocks(rank_count);
  std::vector<double> sums(rank_count, 0.0);
  RowMeans all;
  const auto row = [&](std::string_view name, const Spread& spread, const RowMeans& means) {
    table.line().word("phase", name).number("share", "{:.1f} %", 100.0 * spread.mean * steps / region_mean);
    table.number("minimum", "{:.0f}", spread.minimum).number("mean", "{:.0f}", spread.mean);
    table.number("maximum", "{:.0f}", spread.maximum);
    table.number("imbalance", "{:.1f} %", 100.0 * spread.imbalance());
    table.number("waiting", "{:.0f}", means.waited);
    if (figures.hides()) table.number("hidden", "{:.0f}", means.hidden);
    table.number("messages", "{:.2f}", means.messages).number("bytes", "{:.0f}", means.bytes);
    if (figures.prediction) table.number("predicted", "{:.0f}", means.predicted_s * ticks_per_s / steps);
  };
  for (const auto phase : figures.phases) {
    const auto index = index_of(phase);
    for (std::size_t rank = 0; rank < rank_count; ++rank) {
      clocks[rank] = static_cast<double>(repeat.ranks[rank].phases[index].clocks) / steps;
      sums[rank] += clocks[rank];
    }
    const auto means = means_of(figures, phase);
    row(phase_name(phase), spread_of(clocks), means);
    all += means;
  }
  row("all phases", spread_of(sums), all);
  return fmt::format(" Phases: reference clocks per CG step ({}, {:.3f} GHz), over the ranks\n",
                     cycle_counter_name(), ticks_per_s / 1e9) +
         table.text() + hidden_legend(figures, "mean clocks") +
         fmt::format(
             " imbalance = maximum/mean - 1; waiting (mean clocks) is part of its phase; messages and bytes "
             "sent per rank (mean)\n"
             " Phases cover {:.2f} % of the timed region; timing them took {:.3f} % ({:.0f} clocks per "
             "scope)\n",
             100.0 * phase_coverage(repeat), 100.0 * timing_share(figures.ranks, repeat),
             figures.ranks.front().clocks_per_scope);
}

/// By all vectors together. Each product of an assembled matrix is summed once; only there are its nonzeros those of
/// the system.
double nonzeros_multiplied(const SolveReport& report) {
  if (report.matrix_free || report.repeat.ranks.empty()) return 0.0;
  const auto& times = report.repeat.ranks.front();
  return static_cast<double>(times.phases[index_of(Phase::summation)].calls) *
         static_cast<double>(report.matrix->nonzero_count) * report.right_hand_side_count;
}

}  // namespace

std::vector<Phase> PhaseFigures::reported_phases() const {
  std::vector<Phase> all(benchmark_phases.begin(), benchmark_phases.end());
  std::ranges::copy_if(phases, std::back_inserter(all),
                       [](Phase phase) { return !phase_row(phase).is_of_benchmark; });
  return all;
}

bool PhaseFigures::hides() const {
  return configuration.overlaps || std::ranges::find(phases, Phase::halo) != phases.end();
}

std::string phase_table_text(const PhaseFigures& figures, const TextDetail& detail) {
  return detail.shows_clocks ? clock_table(figures) : time_table(figures);
}

PhaseFigures phases_of(const RunReport& report, const RepeatReport& repeat) {
  return {.configuration = report.configuration,
          .repeat = repeat,
          .ranks = report.ranks,
          .are_timed = report.phases_timed,
          .step_count = cg_step_count(report),
          .prediction = report.prediction ? &*report.prediction : nullptr,
          .counters = &report.counters,
          .nonzeros_multiplied = static_cast<double>(timed_part(report).niter) * products_per_outer_step *
                                 static_cast<double>(report.nonzero_count)};
}

PhaseFigures phases_of(const RunReport& report) { return phases_of(report, median_repeat(report)); }

PhaseFigures phases_of(const SolveReport& report) {
  PhaseFigures figures{.configuration = report.configuration,
                       .repeat = report.repeat,
                       .ranks = report.ranks,
                       .step_count = static_cast<double>(timed_step_count(report)),
                       .counters = &report.counters,
                       .nonzeros_multiplied = nonzeros_multiplied(report)};
  if (report.matrix_free) figures.phases = report.matrix_free->phases;
  return figures;
}

}  // namespace cg2d
