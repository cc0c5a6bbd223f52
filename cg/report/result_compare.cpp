#include "cg/report/result_compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cg/base/values.hpp"

namespace cg2d {
namespace {

const MeasuredConfiguration* find_in(const std::vector<MeasuredConfiguration>& all,
                                     const ConfiguredProblem& asked) {
  const auto found = std::ranges::find_if(all, [&](const auto& known) { return known.asked == asked; });
  return found == all.end() ? nullptr : &*found;
}

std::optional<Sample> sound_sample(const MeasuredConfiguration& measured) {
  return measured.is_sound() ? std::optional(sample_of(measured.times_s)) : std::nullopt;
}

/// after / before, the rounds of each in the order of measurement.
std::vector<double> ratios_of(const MeasuredConfiguration& before, const MeasuredConfiguration& after) {
  std::vector<double> ratios;
  auto earlier = before.rounds.begin();
  auto later = after.rounds.begin();
  for (; earlier != before.rounds.end() && later != after.rounds.end(); ++earlier, ++later)
    ratios.push_back(later->second / earlier->second);
  return ratios;
}

Change change_of(const RatioInterval& ratio, double threshold) {
  if (ratio.is_above(1.0 + threshold)) return Change::regression;
  if (ratio.is_below(1.0 - threshold)) return Change::faster;
  return ratio.is_bounded() && ratio.high <= 1.0 + threshold ? Change::none : Change::undecided;
}

/// The median of a metric; nothing where a run has none.
std::optional<double> median_of(const MeasuredConfiguration& measured, const ShownFigure& figure) {
  std::vector<double> values;
  for (const auto& run : measured.runs) {
    for (const auto& metric : run.metrics) {
      if (metric.figure == &figure) values.push_back(metric.value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(sample_of(values).median);
}

std::vector<ComparedFigure> compared_figures(const MeasuredConfiguration& before,
                                             const MeasuredConfiguration& after) {
  std::vector<ComparedFigure> figures;
  for (const auto& metric : before.runs.front().metrics) {
    if (const auto other = median_of(after, *metric.figure))
      figures.push_back({metric.figure, *median_of(before, *metric.figure), *other});
  }
  return figures;
}

ComparedConfiguration compared(const MeasuredConfiguration& before, const MeasuredConfiguration& after,
                               double threshold, double tail_probability) {
  ComparedConfiguration pair{.asked = before.asked,
                             .before = sound_sample(before),
                             .after = sound_sample(after),
                             .ratio = {},
                             .change = Change::unknown};
  if (pair.before && !pair.after) pair.change = Change::regression;
  if (!pair.before || !pair.after) return pair;
  pair.figures = compared_figures(before, after);
  const auto ratios = ratios_of(before, after);
  pair.ratio = interval_of(ratios, tail_probability);
  pair.change = change_of(pair.ratio, threshold);
  if (pair.change == Change::undecided)
    pair.suggested_rounds = rounds_needed(ratios, 1.0 + threshold, tail_probability);
  return pair;
}

/// The ratios of all configurations, by round.
void add_ratios(const std::vector<double>& ratios, std::vector<std::vector<double>>& rounds) {
  if (rounds.size() < ratios.size()) rounds.resize(ratios.size());
  for (std::size_t round = 0; round < ratios.size(); ++round) rounds[round].push_back(ratios[round]);
}

std::string sample_text(const std::optional<Sample>& sample) {
  if (!sample) return fmt::format("{:>10} {:>7} {:>5}", "failed", "", "");
  const auto spread = sample->spread();
  return fmt::format("{:>10.4g} {:>7} {:>5}", sample->median,
                     spread ? fmt::format("{:.1f}%", 100.0 * *spread) : "", sample->count);
}

RatioInterval inverse(const RatioInterval& ratio) {
  return {.median = 1.0 / ratio.median,
          .low = 1.0 / ratio.high,
          .high = 1.0 / ratio.low,
          .round_count = ratio.round_count};
}

std::string change_text(Change change, const RatioInterval& ratio) {
  switch (change) {
    case Change::regression:
      return "REGRESSION: slower by " + gain_text(ratio);
    case Change::faster:
      return "faster: A takes longer by " + gain_text(inverse(ratio));
    case Change::none:
      return "no regression";
    case Change::undecided:
      return ratio.is_bounded() ? "too noisy to say" : lack_of_rounds(ratio);
    case Change::unknown:
      break;
  }
  return {};
}

std::string summary_of(const Comparison& comparison) {
  return fmt::format("{} of {}: slower by more than {:g} %, or failed in B only; {} undecided\n",
                     format_count(comparison.count(Change::regression), "regression"),
                     format_count(std::ssize(comparison.common), "common configuration"),
                     100.0 * comparison.threshold, comparison.count(Change::undecided));
}

}  // namespace

std::string verdict_on(const ComparedConfiguration& pair) {
  if (pair.before && !pair.after) return "REGRESSION: failed in B only";
  if (pair.change != Change::undecided) return change_text(pair.change, pair.ratio);
  auto text = change_text(pair.change, pair.ratio);
  text += pair.suggested_rounds ? fmt::format(" (take {} rounds)", *pair.suggested_rounds)
                                : " (the distance from the threshold is below the noise)";
  return text;
}

bool ComparedFigure::differs(double share) const {
  return std::max(before, after) > (1.0 + share) * std::min(before, after);
}

int Comparison::count(Change change) const {
  return static_cast<int>(std::ranges::count(common, change, &ComparedConfiguration::change));
}

ExitCode Comparison::exit_code() const {
  if (count(Change::regression) > 0 || overall_change == Change::regression) return ExitCode::regression;
  return count(Change::undecided) > 0 ? ExitCode::undecided : ExitCode::success;
}

Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold) {
  auto all_before = comparable_runs(before);
  auto all_after = comparable_runs(after);
  Comparison comparison{.threshold = threshold,
                        .common = {},
                        .overall = {},
                        .only_before = {},
                        .only_after = {},
                        .left_out = std::move(all_before.left_out)};
  comparison.left_out.insert(comparison.left_out.end(), all_after.left_out.begin(), all_after.left_out.end());
  std::vector<std::pair<const MeasuredConfiguration*, const MeasuredConfiguration*>> pairs;
  for (const auto& measured : all_before.configurations) {
    if (const auto* const other = find_in(all_after.configurations, measured.asked)) {
      pairs.emplace_back(&measured, other);
    } else {
      comparison.only_before.push_back(measured.asked);
    }
  }
  for (const auto& measured : all_after.configurations) {
    if (find_in(all_before.configurations, measured.asked) == nullptr)
      comparison.only_after.push_back(measured.asked);
  }
  // All together are one more comparison.
  const double tail_probability = wrong_verdict_probability / static_cast<double>(pairs.size() + 1);
  std::vector<std::vector<double>> ratios_of_rounds;
  for (const auto& [one, other] : pairs) {
    comparison.common.push_back(compared(*one, *other, threshold, tail_probability));
    if (one->is_sound() && other->is_sound()) add_ratios(ratios_of(*one, *other), ratios_of_rounds);
  }
  comparison.overall = common_interval(ratios_of_rounds, tail_probability);
  if (comparison.overall.round_count > 0)
    comparison.overall_change = change_of(comparison.overall, threshold);
  return comparison;
}

std::string difference_between(const Comparison& comparison) {
  if (comparison.only_before.empty() || comparison.only_after.empty()) {
    return "class, grid, kernel, transport, threads, and the memory limit of a streamed matrix must be the "
           "same";
  }
  const auto& one = comparison.only_before.front();
  const auto& other = comparison.only_after.front();
  std::vector<std::string> parts;
  std::string sweep;
  const auto add = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) parts.push_back(fmt::format("{} is {} and {}", what, a, b));
  };
  const auto add_option = [&](std::string_view what, std::string_view option, const std::string& a,
                              const std::string& b) {
    add(what, a, b);
    if (a != b) sweep += fmt::format(" {} {},{}", option, a, b);
  };
  add("the problem", one.problem, other.problem);
  add("the form", one.form, other.form);
  add("the storage", one.storage.empty() ? "memory" : one.storage,
      other.storage.empty() ? "memory" : other.storage);
  const bool has_sweep = parts.empty();
  add_option("the grid", "--grid", one.configuration.grid.name(), other.configuration.grid.name());
  for (const auto& axis : configuration_axes()) {
    if (axis.is_crossed())
      add_option(axis.name, axis.option, axis.print(one.configuration), axis.print(other.configuration));
  }
  auto text = fmt::format("{}", fmt::join(parts, ", "));
  if (has_sweep) text += fmt::format("; cg2d sweep{} measures them in turns, which compares them", sweep);
  return text;
}

std::string comparison_text(const Comparison& comparison) {
  std::size_t width = 36;
  for (const auto& pair : comparison.common) width = std::max(width, pair.asked.key().size());
  std::string text = fmt::format("{:<{}} {:>10} {:>7} {:>5} {:>10} {:>7} {:>5} {:>7}\n", "configuration",
                                 width, "A: s", "spread", "runs", "B: s", "spread", "runs", "B/A");
  for (const auto& pair : comparison.common) {
    const auto ratio = pair.ratio.round_count > 0 ? fmt::format("{:.3f}", pair.ratio.median) : std::string();
    const auto line = fmt::format("{:<{}} {} {} {:>7} {}", pair.asked.key(), width, sample_text(pair.before),
                                  sample_text(pair.after), ratio, verdict_on(pair));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (comparison.common.size() > 1 && comparison.overall.round_count > 0)
    text += fmt::format("All together: B/A {:.3f}; {}\n", comparison.overall.median,
                        change_text(comparison.overall_change, comparison.overall));
  for (const auto& pair : comparison.common) {
    for (const auto& one : pair.figures) {
      const auto& unit = one.figure->unit;
      if (one.differs(comparison.threshold))
        text += fmt::format("Also differs: {}: {} {} in A, {} in B\n", pair.asked.key(), one.figure->label,
                            text_with_unit(one.before, unit), text_with_unit(one.after, unit));
    }
  }
  for (const auto& asked : comparison.only_before) text += fmt::format("Only in A: {}\n", asked.key());
  for (const auto& asked : comparison.only_after) text += fmt::format("Only in B: {}\n", asked.key());
  for (const auto& run : comparison.left_out)
    text += fmt::format("Left out: {} ({}): {}\n", run.key, run.place, run.reason);
  return text + summary_of(comparison) +
         "B/A: median of the rounds of B by those of A, round by round; in parentheses its interval by the "
         "sign "
         "test.\n";
}

std::optional<double> percentage_from(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const auto value = number_from<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0.0) return std::nullopt;
  return *value / 100.0;
}

}  // namespace cg2d
