#include "cg/report/run_verdict.hpp"

#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "cg/base/table.hpp"
#include "cg/report/report.hpp"

namespace cg2d {
namespace {

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
  return values.empty() ? std::nullopt : std::optional(middle_of(std::move(values)));
}

/// The different values of a fact, with commas.
std::string values_of(const MeasuredConfiguration& measured, const std::string& name) {
  std::set<std::string> values;
  for (const auto& run : measured.runs) {
    for (const auto& [known, value] : run.facts) {
      if (known == name) values.insert(value);
    }
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

/// A fact in which the runs of a configuration differ, although the same was asked for: ResultRecord::facts of each set, several with commas.
struct SetDifference {
  std::string name;
  std::string before;
  std::string after;
};

/// Facts that only one set has say nothing: a run says what is known of it.
std::vector<SetDifference> differences_of(const ComparedConfiguration& pair) {
  std::vector<SetDifference> differences;
  if (!pair.is_sound()) return differences;
  for (const auto& [name, value] : pair.before.runs.front().facts) {
    SetDifference found{name, values_of(pair.before, name), values_of(pair.after, name)};
    if (!found.after.empty() && found.before != found.after) differences.push_back(std::move(found));
  }
  return differences;
}

/// A metric beside the time that both sets have, as the median of the runs of each.
struct ComparedFigure {
  const ShownFigure* figure = nullptr;
  double before = 0.0;
  double after = 0.0;
};

std::vector<ComparedFigure> figures_of(const ComparedConfiguration& pair) {
  std::vector<ComparedFigure> figures;
  if (!pair.is_sound()) return figures;
  for (const auto& metric : pair.before.runs.front().metrics) {
    if (const auto after = median_of(pair.after, *metric.figure))
      figures.push_back({metric.figure, *median_of(pair.before, *metric.figure), *after});
  }
  return figures;
}

bool is_mostly_disturbed(const ComparedConfiguration& pair) {
  auto both = pair.before.disturbed_runs();
  both += pair.after.disturbed_runs();
  return are_mostly_disturbed(both.count, both.of);
}

/// The columns of one set.
void add_sample(const std::optional<Sample>& sample, const std::string& set, Table& table) {
  table.number(set + " seconds", sample ? fmt::format("{:.4g}", sample->median) : "failed");
  table.number(set + " spread", percent_text(sample ? sample->spread() : std::nullopt, 1));
  table.number(set + " runs", sample ? fmt::format("{}", sample->count) : "");
}

std::string change_text(Change change, const RatioInterval& ratio) {
  if (change == Change::regression) return "REGRESSION: slower by " + gain_text(ratio);
  if (change == Change::none) return "no regression";
  if (change == Change::undecided) return ratio.is_bounded() ? "too noisy to say" : lack_of_rounds(ratio);
  return change == Change::unknown ? std::string() : "faster: time " + gain_text(ratio);
}

/// "REGRESSION: slower by 12 % (8 ... 15 %)", "no regression", or why nothing can be said; then how many runs were disturbed.
std::string verdict_on(const ComparedConfiguration& pair, const SetNames& names) {
  if (pair.before.is_sound() && !pair.after.is_sound())
    return fmt::format("REGRESSION: failed in {} only", names.after);
  if (!pair.before.is_sound() && !pair.after.is_sound()) return "failed in both";
  auto text = change_text(pair.change, pair.ratio);
  if (pair.change == Change::undecided && is_mostly_disturbed(pair)) {
    text = pair.ratio.is_bounded() ? "too noisy to decide" : text + ", too noisy to decide";
  } else if (pair.change == Change::undecided) {
    text += pair.suggested_rounds ? fmt::format(" (take {} rounds)", *pair.suggested_rounds)
                                  : " (the distance from the threshold is below the noise)";
  }
  const auto before = pair.before.disturbed_runs();
  const auto after = pair.after.disturbed_runs();
  if (before.count == 0 && after.count == 0) return text;
  return fmt::format("{}; disturbed: {} of {} of {}, {} of {} of {}", text, before.count,
                     format_count(before.of, "run"), names.before, after.count, after.of, names.after);
}

/// Differences although the same was asked for, and metrics beyond the threshold, each once.
std::string lines_of_differences(const Comparison& comparison) {
  std::set<std::string> lines;
  const auto& names = comparison.names;
  const auto add = [&](std::string_view name, const std::string& before, const std::string& after) {
    lines.insert(
        fmt::format("Differs: {}: {} in {}, {} in {}\n", name, before, names.before, after, names.after));
  };
  for (const auto& pair : comparison.common) {
    for (const auto& [name, before, after] : differences_of(pair)) add(name, before, after);
    for (const auto& [figure, before, after] : figures_of(pair)) {
      if (std::max(before, after) > (1.0 + comparison.threshold) * std::min(before, after))
        add(figure->label, text_with_unit(before, figure->unit), text_with_unit(after, figure->unit));
    }
  }
  return fmt::format("{}", fmt::join(lines, ""));
}

constexpr std::string_view of_change =
    "From before to after; none: a regression is excluded; unknown: it failed before.";

/// null where there are no paired rounds.
void describe_ratio(Members& m, std::string_view name, const RatioInterval& ratio, std::string_view text) {
  m.derived(name, ratio.round_count > 0 ? std::optional(ratio) : std::nullopt, or_null(text));
}

void describe_pair(Members& m, ComparedConfiguration& pair, const SetNames& names) {
  const auto& asked = pair.before.asked;
  m.derived("key", asked.key(), meaning("The unique text of a configuration."));
  m.derived("problem", asked.problem);
  m.derived("grid", asked.arrangement(), meaning("Or the parts of a domain along x, y and z."));
  m.derived("before", pair.before.sample(), or_null("null where a run failed."));
  m.derived("after", pair.after.sample(), or_null("null where a run failed."));
  describe_ratio(m, "ratio", pair.ratio, "After by before, round by round; null without paired rounds.");
  m("change", pair.change, meaning(of_change));
  m("suggested_rounds", pair.suggested_rounds,
    or_null(at_least(0, "Where undecided, that should decide; null if none would.")));
  m.derived("text", verdict_on(pair, names), meaning("For people, as in the table."));
  m.list("figures", figures_of(pair), meaning("Medians of others that both have; without a verdict."),
         [&](ComparedFigure& one, size_t /*index*/) {
           m.derived("name", {}, [&] { return one.figure->column; });
           m.derived("unit", meaning("B: bytes."), [&] { return one.figure->unit; });
           m("before", one.before);
           m("after", one.after);
         });
  m.list("differences", differences_of(pair), meaning("Facts that differ although the same was asked for."),
         [&](SetDifference& one, size_t /*index*/) {
           m("name", one.name, not_empty());
           m("before", one.before);
           m("after", one.after);
         });
  constexpr auto note = meaning("Runs that other work on the machine disturbed.");
  m.derived("disturbed_before", pair.before.disturbed_runs(), note);
  m.derived("disturbed_after", pair.after.disturbed_runs(), note);
}

}  // namespace

std::span<const NamedValue<Change>> words_of(Change /*change*/) {
  static constexpr std::array words{
      NamedValue<Change>{"regression", Change::regression}, NamedValue<Change>{"faster", Change::faster},
      NamedValue<Change>{"none", Change::none}, NamedValue<Change>{"undecided", Change::undecided},
      NamedValue<Change>{"unknown", Change::unknown}};
  return words;
}

void describe(Members& m, DisturbedRuns& runs) {
  m("count", runs.count, at_least(0));
  m("of", runs.of, at_least(0));
}

int Comparison::count(Change change) const {
  return static_cast<int>(std::ranges::count(common, change, &ComparedConfiguration::change));
}

ExitCode Comparison::exit_code() const {
  if (count(Change::regression) > 0 || overall_change == Change::regression) return ExitCode::regression;
  return count(Change::undecided) > 0 ? ExitCode::undecided : ExitCode::success;
}

Comparison compare_results(const std::vector<ResultRecord>& before, const std::vector<ResultRecord>& after,
                           double threshold, const SetNames& names) {
  auto all_before = comparable_runs(before);
  auto all_after = comparable_runs(after);
  Comparison comparison{.names = names, .threshold = threshold, .left_out = std::move(all_before.left_out)};
  comparison.left_out.insert(comparison.left_out.end(), all_after.left_out.begin(), all_after.left_out.end());
  for (const auto& measured : all_after.configurations) comparison.only_after.push_back(measured.asked.key());
  for (const auto& measured : all_before.configurations) {
    const auto other =
        std::ranges::find(all_after.configurations, measured.asked, &MeasuredConfiguration::asked);
    if (other == all_after.configurations.end()) {
      comparison.only_before.push_back(measured.asked.key());
    } else {
      comparison.common.push_back({.before = measured, .after = *other});
      std::erase(comparison.only_after, measured.asked.key());
    }
  }
  // All together are one more comparison.
  const double tail_probability =
      wrong_verdict_probability / static_cast<double>(comparison.common.size() + 1);
  std::vector<std::vector<double>> ratios_of_rounds;
  for (auto& pair : comparison.common) {
    if (pair.before.is_sound() && !pair.after.is_sound()) pair.change = Change::regression;
    if (!pair.is_sound()) continue;
    std::vector<double> ratios;  // the rounds of each in the order of measurement
    std::ranges::transform(
        pair.after.rounds, pair.before.rounds, std::back_inserter(ratios),
        [](const auto& later, const auto& earlier) { return later.second / earlier.second; });
    pair.ratio = interval_of(ratios, tail_probability);
    pair.change = change_of(pair.ratio, threshold);
    if (pair.change == Change::undecided && !is_mostly_disturbed(pair))
      pair.suggested_rounds = rounds_needed(ratios, 1.0 + threshold, tail_probability);
    ratios_of_rounds.resize(std::max(ratios_of_rounds.size(), ratios.size()));
    for (size_t round = 0; round < ratios.size(); ++round) ratios_of_rounds[round].push_back(ratios[round]);
  }
  comparison.overall = common_interval(ratios_of_rounds, tail_probability);
  if (comparison.overall.round_count > 0)
    comparison.overall_change = change_of(comparison.overall, threshold);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  const auto& names = comparison.names;
  Table table;
  for (const auto& pair : comparison.common) {
    table.line().word("configuration", pair.before.asked.key());
    add_sample(pair.before.sample(), names.before, table);
    add_sample(pair.after.sample(), names.after, table);
    table.number(names.after + "/" + names.before,
                 pair.ratio.round_count > 0 ? fmt::format("{:.3f}", pair.ratio.median) : "");
    table.word("", verdict_on(pair, names));
  }
  auto text = table.text("");
  if (comparison.common.size() > 1 && comparison.overall.round_count > 0)
    text +=
        fmt::format("All together: {}/{} {:.3f}; {}\n", names.after, names.before, comparison.overall.median,
                    change_text(comparison.overall_change, comparison.overall));
  text += lines_of_differences(comparison);
  for (const auto& key : comparison.only_before) text += fmt::format("Only in {}: {}\n", names.before, key);
  for (const auto& key : comparison.only_after) text += fmt::format("Only in {}: {}\n", names.after, key);
  for (const auto& run : comparison.left_out)
    text += fmt::format("Left out: {} ({}): {}\n", run.key, run.place, run.reason);
  return text +
         fmt::format("{} of {}: slower by more than {:g} %, or failed in {} only; {} undecided\n",
                     format_count(comparison.count(Change::regression), "regression"),
                     format_count(std::ssize(comparison.common), "common configuration"),
                     100.0 * comparison.threshold, names.after, comparison.count(Change::undecided)) +
         fmt::format(
             "{0}/{1}: median of the rounds of {0} by those of {1}, round by round; in parentheses its "
             "interval by the sign test.\n",
             names.after, names.before);
}

void describe(Members& m, LeftOutRun& run) {
  m("place", run.place);
  m("key", run.key, not_empty());
  m("reason", run.reason, not_empty());
}

void describe(Members& m, Comparison& comparison) {
  describe_head(m);
  describe_verdict_test(m);
  m.object("labels", meaning("A and B unless --label names them."), [&] {
    m("before", comparison.names.before, not_empty());
    m("after", comparison.names.after, not_empty());
  });
  m("threshold", comparison.threshold, at_least(0, "Growth of the time that is a regression: 0.05 is 5 %."));
  m.list("compared", comparison.common, meaning("The configurations that both sets have."),
         [&](ComparedConfiguration& pair, size_t /*index*/) { describe_pair(m, pair, comparison.names); });
  describe_ratio(m, "overall", comparison.overall, "Of all together.");
  m("overall_change", comparison.overall_change, meaning(of_change));
  m("only_before", comparison.only_before);
  m("only_after", comparison.only_after);
  m("left_out", comparison.left_out);
  m.derived("exit_code", static_cast<int>(comparison.exit_code()), meaning("1: a regression; 2: undecided."));
}

std::optional<double> percentage_from(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  while (text.ends_with(' ')) text.pop_back();
  const auto value = number_from<double>(text);
  if (!value || !std::isfinite(*value) || *value < 0.0) return std::nullopt;
  return *value / 100.0;
}

}  // namespace cg2d
