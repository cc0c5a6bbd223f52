// The comparison of two sets of results for programs.

#include <array>

#include "cg/base/describe_json.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/session_document.hpp"

namespace cg2d {

std::span<const NamedValue<Change>> words_of(Change /*change*/) {
  static constexpr std::array words{
      NamedValue<Change>{"regression", Change::regression}, NamedValue<Change>{"faster", Change::faster},
      NamedValue<Change>{"none", Change::none}, NamedValue<Change>{"undecided", Change::undecided},
      NamedValue<Change>{"unknown", Change::unknown}};
  return words;
}

namespace {

constexpr std::string_view of_change =
    "From before to after; none: a regression is excluded; unknown: it failed before.";

/// null where there are no paired rounds.
void describe_ratio(Members& m, std::string_view name, const RatioInterval& ratio, std::string_view text) {
  m.derived(name, ratio.round_count > 0 ? std::optional(ratio) : std::nullopt, or_null(text));
}

void describe_disturbed(Members& m, std::string_view name, DisturbedRuns& runs) {
  m.object(
      name,
      [&] {
        m("count", runs.count, at_least(0));
        m("of", runs.of, at_least(0));
      },
      meaning("Runs that other work on the machine disturbed."));
}

void describe_keys(Members& m, std::string_view name, const std::vector<ConfiguredProblem>& asked) {
  std::vector<std::string> keys;
  keys.reserve(asked.size());
  for (const auto& one : asked) keys.push_back(one.key());
  m(name, keys);
}

void describe_pair(Members& m, ComparedConfiguration& pair) {
  m.derived("key", pair.asked.key(), meaning("The unique text of a configuration."));
  m("problem", pair.asked.problem);
  m.derived("grid", pair.asked.arrangement(), meaning("Or the parts of a domain along x, y and z."));
  m("before", pair.before, or_null("null where a run failed."));
  m("after", pair.after, or_null("null where a run failed."));
  describe_ratio(m, "ratio", pair.ratio, "After by before, round by round; null without paired rounds.");
  m("change", pair.change, meaning(of_change));
  m("suggested_rounds", pair.suggested_rounds,
    or_null(at_least(0, "Where undecided, the rounds that should decide, if any would.")));
  m.derived(
      "text", [&] { return verdict_on(pair); }, meaning("For people, as in the table."));
  m.list(
      "figures", pair.figures,
      [&](ComparedFigure& one, std::size_t /*index*/) {
        m.derived("name", [&] { return one.figure->column; });
        m.derived(
            "unit", [&] { return one.figure->unit; }, meaning("B: bytes."));
        m("before", one.before);
        m("after", one.after);
      },
      meaning("Medians of other figures that both have; no verdict depends on them."));
  m.list(
      "differences", pair.differences,
      [&](SetDifference& one, std::size_t /*index*/) {
        m("name", one.name, not_empty());
        m("before", one.before);
        m("after", one.after);
      },
      meaning("Facts in which the runs differ although the same was asked for."));
  describe_disturbed(m, "disturbed_before", pair.disturbed_before);
  describe_disturbed(m, "disturbed_after", pair.disturbed_after);
}

}  // namespace

void describe(Members& m, LeftOutRun& run) {
  m("place", run.place);
  m("key", run.key, not_empty());
  m("reason", run.reason, not_empty());
}

void describe(Members& m, Comparison& comparison) {
  describe_head(m);
  describe_verdict_test(m);
  m.object(
      "labels",
      [&] {
        m("before", comparison.names.before, not_empty());
        m("after", comparison.names.after, not_empty());
      },
      meaning("A and B unless --label names them."));
  m("threshold", comparison.threshold,
    at_least(0, "The increase in time that is a regression: 0.05 is 5 %."));
  m.list(
      "compared", comparison.common,
      [&](ComparedConfiguration& pair, std::size_t /*index*/) { describe_pair(m, pair); },
      meaning("The configurations that both sets have."));
  describe_ratio(m, "overall", comparison.overall, "Of all together.");
  m("overall_change", comparison.overall_change, meaning(of_change));
  describe_keys(m, "only_before", comparison.only_before);
  describe_keys(m, "only_after", comparison.only_after);
  m("left_out", comparison.left_out);
  m.derived("exit_code", static_cast<int>(comparison.exit_code()),
            meaning("0, 1: a regression; 2: undecided."));
}

std::string comparison_json(const Comparison& comparison) { return document_text(comparison); }

}  // namespace cg2d
