#include "cg/run/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace cg2d {
namespace {

template <typename Value>
double mean_over_ranks(const RepeatReport& repeat, const Value& value) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) sum += value(rank, repeat.ranks[rank]);
  return sum / static_cast<double>(repeat.ranks.size());
}

}  // namespace

std::string disturbance(const RunReport& report) {
  std::string text;
  std::size_t count = 0;
  for (const auto& repeat : report.repeats) {
    if (!repeat.quiet.is_disturbed()) continue;
    if (count++ == 0) text = repeat.quiet.reason();
  }
  if (count == 0 || report.repeats.size() == 1) return text;
  return fmt::format("{} of {} repetitions, the first of them: {}", count, report.repeats.size(), text);
}

const RepeatReport& median_repeat(const RunReport& report) {
  std::vector<std::size_t> order(report.repeats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return report.repeats[a].time_s < report.repeats[b].time_s; });
  return report.repeats[order[(order.size() - 1) / 2]];
}

Sample repeat_times(const RunReport& report) {
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  return sample_of(std::move(times_s));
}

double cg_step_count(const RunReport& report) {
  return static_cast<double>(report.problem.niter) * cg_steps_per_solve;
}

const OuterStep& final_step(const RunReport& report) { return median_repeat(report).steps.back(); }

RowLengths all_row_lengths(const RunReport& report) {
  RowLengths all = report.ranks.front().row_lengths;
  for (std::size_t rank = 1; rank < report.ranks.size(); ++rank)
    all = merged(all, report.ranks[rank].row_lengths);
  return all;
}

Spread spread_of(std::span<const double> values) {
  Spread spread;
  if (values.empty()) return spread;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  spread.minimum = *least;
  spread.maximum = *most;
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return spread;
}

double phase_coverage(const RepeatReport& repeat) {
  return mean_over_ranks(repeat, [](std::size_t, const RankTimes& times) {
    std::uint64_t clocks = 0;
    for (const auto& record : times.phases) clocks += record.clocks;
    return static_cast<double>(clocks) / static_cast<double>(times.region_clocks);
  });
}

double timing_share(const RunReport& report, const RepeatReport& repeat) {
  return mean_over_ranks(repeat, [&](std::size_t rank, const RankTimes& times) {
    std::uint64_t readings = times.wait_count;
    for (const auto& record : times.phases) readings += record.calls;
    return static_cast<double>(readings) * report.ranks[rank].clocks_per_scope /
           static_cast<double>(times.region_clocks);
  });
}

}  // namespace cg2d
