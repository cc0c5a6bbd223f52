// The comparison of cases for people.

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

std::string transport_cell(const ScalingCase& one) { return one.rank_count > 1 ? one.transport() : "-"; }

bool compares_cuts(const ScalingStudy& study) {
  return std::ranges::any_of(
      study.cases, [&](const auto& one) { return !one.cut().empty() && one.cut() != one.asked.usual_cut(); });
}

std::string seconds_cell(const ScalingRow& row) {
  if (!row.is_sound()) return row.runs.empty() ? "not run" : "failed";
  return fmt::format("{:.6f}", row.time_s->median);
}

/// Marks the best case (*), or those that may be (~), and those with disturbed runs (!).
std::string ratio_cell(const ScalingRow& row) {
  const auto mark = best_mark(row.certainty, row.may_be_best);
  return fmt::format("{:.3f}{}{}", row.ratio_to_best, mark.empty() ? " " : mark,
                     row.disturbed_count() > 0 ? "!" : " ");
}

/// One line. Figures are missing where a run failed, or none was made.
void add_line(const ScalingStudy& study, const ScalingRow& row, Table& table) {
  const bool is_system = !study.problem;
  const auto& run = row.median_run;
  table.line().number("cores", "{}", row.scaled.core_count()).word("configuration", row.scaled.name());
  if (is_system) table.word("form", row.scaled.form());
  table.word("transport", transport_cell(row.scaled)).number("r x t", row.scaled.shape());
  if (compares_cuts(study)) table.word("cut", row.scaled.cut());
  table.word(is_system ? "arrangement" : "grid", run.arrangement).word("kernel", run.kernel);
  const auto figure = [&](std::string_view name, const auto& text_of) {
    table.number(name, row.is_sound() ? text_of() : std::string());
  };
  if (is_system) figure("rows", [&] { return fmt::format("{}", run.n); });
  table.number("seconds", seconds_cell(row));
  figure("spread", [&] { return percent_text(row.time_s->spread(), 0); });
  if (is_system) {
    figure("ms/iteration",
           [&] { return fmt::format("{:.4f}", 1e3 * row.time_s->median / study.iteration_count); });
  } else {
    figure("Mop/s", [&] { return fmt::format("{:.1f}", row.rate / 1e6); });
  }
  table.number("speed-up", row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "");
  table.number("efficiency", percent_text(row.efficiency, 1));
  figure("comm", [&] { return percent_text(run.shares.moving, 1); });
  figure("waiting", [&] { return percent_text(run.shares.waiting, 1); });
  figure("vs best", [&] { return ratio_cell(row); });
}

std::string title_of(const ScalingStudy& study) {
  const bool has_added_rounds =
      std::ranges::any_of(study.runs, [&](const auto& run) { return run.round > study.round_count; });
  const auto subject =
      study.problem ? fmt::format("class {} (n {}{}), kernel {}, grids by rule", problem_name(*study.problem),
                                  study.problem->n, study.weak ? " x cores" : "", study.configuration.kernel)
                    : study.system;
  return fmt::format("{} scaling of {}, medians of {}{}\n\n", study.weak ? "Weak" : "Strong", subject,
                     format_count(study.round_count, "round"), has_added_rounds ? " or more" : "");
}

/// "ranks x threads, shared, 2 x 2", where cuts are compared with ", cut even".
std::string case_name(const ScalingStudy& study, const ScalingCase& one) {
  return fmt::format("{}{}{}, {}, {}{}", one.form(), one.form().empty() ? "" : ", ", one.name(),
                     transport_cell(one), one.shape(),
                     compares_cuts(study) && !one.cut().empty() ? ", cut " + one.cut() : "");
}

/// A line for each number of cores that has several cases.
std::string verdicts_of(const ScalingStudy& study) {
  std::string text;
  for (const auto& ranking : rankings_of(study)) {
    if (ranking.places.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto place : ranking.places) names.push_back(case_name(study, study.cases[place]));
    const auto& verdict = ranking.verdict;
    const auto& first = names[verdict.candidate];
    text += fmt::format("  {}: {} {}\n", format_count(ranking.core_count, "core"),
                        verdict.is_decided() ? first + " is best,"
                                             : fmt::format("no clear winner: {} (median {:.4g} s) was", first,
                                                           ranking.medians_s[verdict.candidate]),
                        verdict_text(verdict, names, "--repeat", ranking.medians_s));
  }
  return text;
}

/// Only where there is one, with the legend of its mark.
std::string disturbances_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto first = std::ranges::find_if(row.runs, &ScalingRun::is_disturbed);
    if (first == row.runs.end()) continue;
    text += fmt::format("  Disturbed (!): {}, {} of {}, in round {}: {}\n", row.scaled.label(),
                        row.disturbed_count(), format_count(std::ssize(row.runs), "run"), first->round,
                        first->disturbance);
  }
  return text;
}

std::string failures_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto failed = std::ranges::find_if_not(row.runs, &ScalingRun::succeeded);
    if (failed == row.runs.end()) continue;
    text += fmt::format("  Failed: {}, round {}: {}: {}\n", row.scaled.label(), failed->round,
                        status_name(failed->code), failed->reason);
  }
  return text;
}

/// The method by which the figures were verified.
std::string verification_of(const ScalingStudy& study) {
  std::string text;
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.problem.reference_zeta) {
      text += fmt::format("  n {}: zeta of {} meets the reference {}\n", agreement.problem.n,
                          format_count(agreement.run_count, "run"), *agreement.problem.reference_zeta);
    } else {
      text += fmt::format("  {}; there is no reference\n", agreement.text());
    }
  }
  return text;
}

std::string legend_of(const ScalingStudy& study) {
  return fmt::format(
      "\nr x t: ranks x threads of each. spread: (maximum - minimum) / median. speed-up: {} on 1 core;\n"
      "efficiency: speed-up / cores. comm: communication, which is {}, without\n"
      "waiting; waiting: in these; shares of the time. vs best: median ratio, round by round, to the "
      "configuration\non as many cores that is best (*) or first of those that may be (~). In parentheses: "
      "the interval of the ratio of\npaired rounds, by the sign test.\n{}",
      study.problem ? "Mop/s by those" : "rows per second by those of the same form",
      study.problem ? "collection, summation, shuffle and dot"
                    : "collection, summation, shuffle, halo and dot",
      study.weak && !study.problem ? "Each core has the box of one core: extents grow by the parts of the "
                                     "cut with the smallest faces.\n"
                                   : "");
}

}  // namespace

std::string scaling_text(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  Table table;
  for (const auto& row : rows) {
    if (&row != rows.data() && row.scaled.core_count() != (&row - 1)->scaled.core_count()) table.gap();
    add_line(study, row, table);
  }
  auto text = title_of(study) + table.text() + "\n" + verdicts_of(study) + failures_of(rows) +
              disturbances_of(rows) + verification_of(study);
  for (const auto& warning : study.warnings) text += fmt::format("  Warning: {}\n", warning);
  return text + legend_of(study);
}

}  // namespace cg2d
