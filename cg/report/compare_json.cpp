// The comparison of two sets of results for programs.

#include <utility>

#include "cg/base/json_verdicts.hpp"
#include "cg/report/result_compare.hpp"
#include "cg/report/session_record.hpp"

namespace cg2d {
namespace {

constexpr int comparison_schema_version = 1;

const char* name_of(Change change) {
  switch (change) {
    case Change::regression:
      return "regression";
    case Change::faster:
      return "faster";
    case Change::none:
      return "none";
    case Change::undecided:
      return "undecided";
    case Change::unknown:
      break;
  }
  return "unknown";
}

FigureType change_type() {
  return named_type("change",
                    with(word_type({"regression", "faster", "none", "undecided", "unknown"}), "description",
                         "From before to after; none: a regression is excluded; unknown: it failed before."));
}

const RatioInterval* ratio_with_rounds(const RatioInterval& ratio) {
  return ratio.round_count > 0 ? &ratio : nullptr;
}

const Record<ComparedFigure>& compared_figure_record() {
  static const Record<ComparedFigure> record{
      "compared_figure",
      {{"name", name_type(), [](const auto& one) { return one.figure->column; }},
       {"unit", line_type(), [](const auto& one) { return one.figure->unit; }, "B: bytes."},
       {"before", number_type(), &ComparedFigure::before},
       {"after", number_type(), &ComparedFigure::after}}};
  return record;
}

const Record<SetDifference>& difference_record() {
  static const Record<SetDifference> record{"difference",
                                            {{"name", name_type(), &SetDifference::name},
                                             {"before", text_type(), &SetDifference::before},
                                             {"after", text_type(), &SetDifference::after}}};
  return record;
}

const Record<DisturbedRuns>& disturbed_record() {
  static const Record<DisturbedRuns> record{
      "disturbed_runs",
      {{"count", count_type(), &DisturbedRuns::count}, {"of", count_type(), &DisturbedRuns::of}}};
  return record;
}

const Record<SetNames>& names_record() {
  static const Record<SetNames> record{
      "names", {{"before", name_type(), &SetNames::before}, {"after", name_type(), &SetNames::after}}};
  return record;
}

const Record<ComparedConfiguration>& compared_record() {
  using Compared = ComparedConfiguration;
  static const Record<Compared> record{
      "compared",
      {{"key", name_type(), [](const auto& pair) { return pair.asked.key(); },
        "The unique text of a configuration."},
       {"problem", text_type(), [](const auto& pair) { return pair.asked.problem; }},
       {"grid", pattern_type("^[0-9]+x[0-9]+(x[0-9]+)?$"),
        [](const auto& pair) { return pair.asked.arrangement(); },
        "Or the parts of a domain along x, y and z."},
       part<Compared>("before", times_record(), &Compared::before, "null where a run failed."),
       part<Compared>("after", times_record(), &Compared::after, "null where a run failed."),
       part<Compared>(
           "ratio", ratio_record(), [](const Compared& pair) { return ratio_with_rounds(pair.ratio); },
           "After by before, round by round; null without paired rounds."),
       {"change", change_type(), [](const auto& pair) { return name_of(pair.change); }},
       {"suggested_rounds", or_null(count_type()), &Compared::suggested_rounds,
        "Where undecided, the rounds that should decide, if any would."},
       {"text", text_type(), verdict_on, "For people, as in the table."},
       list_figure<Compared>("figures", compared_figure_record(), &Compared::figures,
                             "Medians of other figures that both have; no verdict depends on them."),
       list_figure<Compared>("differences", difference_record(), &Compared::differences,
                             "Facts in which the runs differ although the same was asked for."),
       part<Compared>("disturbed_before", disturbed_record(), &Compared::disturbed_before,
                      "Runs that other work on the machine disturbed."),
       part<Compared>("disturbed_after", disturbed_record(), &Compared::disturbed_after)}};
  return record;
}

const Record<LeftOutRun>& left_out_record() {
  static const Record<LeftOutRun> record{"left_out",
                                         {{"place", text_type(), &LeftOutRun::place},
                                          {"key", name_type(), &LeftOutRun::key},
                                          {"reason", name_type(), &LeftOutRun::reason}}};
  return record;
}

Figure<Comparison> keys_of(std::string name, std::vector<ConfiguredProblem> Comparison::*member) {
  return {std::move(name), list_type(name_type()), [member](const auto& comparison) {
            Json keys = Json::array();
            for (const auto& asked : comparison.*member) keys.push_back(asked.key());
            return keys;
          }};
}

const Record<Comparison>& comparison_record() {
  static const Record<Comparison> record{
      "comparison",
      {{"schema_version", constant_type(comparison_schema_version),
        [](const auto& /*comparison*/) { return comparison_schema_version; }},
       {"program", type_of(program_record()), [](const auto& /*comparison*/) { return program_json(); }},
       {"test", type_of(verdict_test_record()),
        [](const auto& /*comparison*/) { return verdict_test_json(); }},
       part<Comparison>("labels", names_record(), &Comparison::names, "A and B unless --label names them."),
       {"threshold", seconds_type(), &Comparison::threshold,
        "The increase in time that is a regression: 0.05 is 5 %."},
       list_figure<Comparison>("compared", compared_record(), &Comparison::common,
                               "The configurations that both sets have."),
       part<Comparison>(
           "overall", ratio_record(),
           [](const Comparison& comparison) { return ratio_with_rounds(comparison.overall); },
           "Of all together."),
       {"overall_change", change_type(),
        [](const auto& comparison) { return name_of(comparison.overall_change); }},
       keys_of("only_before", &Comparison::only_before),
       keys_of("only_after", &Comparison::only_after),
       list_figure<Comparison>("left_out", left_out_record(), &Comparison::left_out),
       {"exit_code",
        {{"enum", {0, 1, 2}}},
        [](const auto& comparison) { return static_cast<int>(comparison.exit_code()); },
        "1: a regression; 2: undecided."}}};
  return record;
}

}  // namespace

std::string comparison_json(const Comparison& comparison) {
  return json_text(json_of(comparison_record(), comparison), 2) + "\n";
}

FigureType comparison_type() { return type_of(comparison_record()); }

}  // namespace cg2d
