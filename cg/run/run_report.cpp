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
  return median_run_of(report.repeats, &RepeatReport::time_s);
}

Sample repeat_times(const RunReport& report) {
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  return sample_of(std::move(times_s));
}

std::optional<double> account_of(const RepeatReport& repeat, std::string_view event_name) {
  double sum = 0.0;
  for (const auto& rank : repeat.counts) {
    const auto figure = usage_of(event_name, rank.usage);
    if (!figure) return std::nullopt;
    sum += static_cast<double>(*figure);
  }
  return sum;
}

std::string doubt_about(const CounterResult& counters, const RepeatReport& repeat, std::size_t event) {
  const auto& name = counters.counted[event];
  const auto& counts = repeat.counts;
  bool counted_any = false;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const auto counted = counts[rank].region[event];
    const auto account = usage_of(name, counts[rank].usage);
    counted_any = counted_any || counted != 0;
    if (account && !agrees_with_usage(counted, *account, event_kind(name))) {
      return fmt::format("{} is wrong: {} counted in the timed region of rank {}, but the OS total is {}",
                         name, counted, rank, *account);
    }
  }
  // Software events have been tried, and none may be right; those of the processor would have happened.
  if (counted_any || find_software_event(name) != nullptr) return {};
  return fmt::format("{} counted nothing in the timed region: the processor may not have it (cg2d events)",
                     name);
}

Problem timed_part(const RunReport& report) {
  Problem problem = report.problem;
  if (report.restart) problem.niter -= report.restart->step_count();
  return problem;
}

double cg_step_count(const RunReport& report) {
  return static_cast<double>(timed_part(report).niter) * cg_steps_per_solve;
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

double timing_share(std::span<const RankResult> ranks, const RepeatReport& repeat) {
  return mean_over_ranks(repeat, [&](std::size_t rank, const RankTimes& times) {
    std::uint64_t readings = times.wait_count;
    for (const auto& record : times.phases) readings += record.calls;
    return static_cast<double>(readings) * ranks[rank].clocks_per_scope /
           static_cast<double>(times.region_clocks);
  });
}

}  // namespace cg2d
