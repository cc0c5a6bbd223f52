#include "cg/report/result_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

ComparedConfiguration compared(const MeasuredConfiguration& before, const MeasuredConfiguration& after,
                               double threshold) {
  ComparedConfiguration pair{.asked = before.asked,
                             .before = sound_sample(before),
                             .after = sound_sample(after),
                             .is_regression = false};
  if (!pair.before) return pair;
  pair.is_regression =
      !pair.after || (pair.ratio() > 1.0 + threshold && pair.after->minimum > pair.before->maximum);
  return pair;
}

std::string sample_text(const std::optional<Sample>& sample) {
  if (!sample) return fmt::format("{:>10} {:>7} {:>5}", "failed", "", "");
  return fmt::format("{:>10.4g} {:>6.1f}% {:>5}", sample->median, 100.0 * sample->spread(), sample->count);
}

std::string verdict_on(const ComparedConfiguration& pair, double threshold) {
  if (!pair.before || !pair.after) return pair.is_regression ? "REGRESSION" : "";
  if (pair.is_regression) return "REGRESSION";
  if (pair.ratio() > 1.0 + threshold) return "slower, within the spread";
  const bool beyond_spread = pair.after->maximum < pair.before->minimum;
  return pair.ratio() < 1.0 - threshold && beyond_spread ? "faster" : "";
}

}  // namespace

int Comparison::regression_count() const {
  return static_cast<int>(std::ranges::count_if(common, [](const auto& pair) { return pair.is_regression; }));
}

Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold) {
  const auto all_before = gathered(before);
  const auto all_after = gathered(after);
  Comparison comparison;
  for (const auto& measured : all_before) {
    if (const auto* const other = find_in(all_after, measured.asked)) {
      comparison.common.push_back(compared(measured, *other, threshold));
    } else {
      comparison.only_before.push_back(measured.asked);
    }
  }
  for (const auto& measured : all_after) {
    if (find_in(all_before, measured.asked) == nullptr) comparison.only_after.push_back(measured.asked);
  }
  return comparison;
}

std::string comparison_text(const Comparison& comparison, double threshold) {
  std::size_t width = 36;
  for (const auto& pair : comparison.common) width = std::max(width, pair.asked.key().size());
  std::string text = fmt::format("{:<{}} {:>10} {:>7} {:>5} {:>10} {:>7} {:>5} {:>7}\n", "configuration",
                                 width, "A: s", "spread", "runs", "B: s", "spread", "runs", "B/A");
  for (const auto& pair : comparison.common) {
    const auto ratio = pair.before && pair.after ? fmt::format("{:.3f}", pair.ratio()) : std::string();
    const auto line = fmt::format("{:<{}} {} {} {:>7} {}", pair.asked.key(), width, sample_text(pair.before),
                                  sample_text(pair.after), ratio, verdict_on(pair, threshold));
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (const auto& asked : comparison.only_before) text += fmt::format("Only in A: {}\n", asked.key());
  for (const auto& asked : comparison.only_after) text += fmt::format("Only in B: {}\n", asked.key());
  const int count = comparison.regression_count();
  return text +
         fmt::format("{} of {}: slower by more than {:g} % and beyond the spread, or failed in B only\n",
                     format_count(count, "regression"),
                     format_count(std::ssize(comparison.common), "common configuration"), 100.0 * threshold);
}

std::optional<double> percentage_from(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const auto value = number_from<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0.0) return std::nullopt;
  return *value / 100.0;
}

}  // namespace cg2d
