// The comparison of cases for people, and for spreadsheets.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cg/base/values.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string transport_cell(const ScalingCase& one) { return one.rank_count > 1 ? one.transport() : "-"; }

bool compares_cuts(const ScalingStudy& study) {
  return std::ranges::any_of(
      study.cases, [&](const auto& one) { return !one.cut().empty() && one.cut() != one.asked.usual_cut(); });
}

std::string cut_cell(const ScalingCase& one) { return one.cut().empty() ? "-" : one.cut(); }

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

/// A column of the table.
struct Column {
  std::string_view head;
  int width = 0;  ///< negative: aligned left
  std::function<std::string(const ScalingRow&)> cell;
  bool needs_times = true;  ///< empty where a run failed, or none was made
};

std::vector<Column> columns_of(const ScalingStudy& study) {
  const bool is_system = !study.problem;
  std::vector<Column> columns{
      {"cores", 5, [](const auto& row) { return fmt::format("{}", row.scaled.core_count()); }, false},
      {" configuration", -20, [](const auto& row) { return " " + row.scaled.name(); }, false}};
  if (is_system) columns.push_back({"form", -11, [](const auto& row) { return row.scaled.form(); }, false});
  columns.push_back({"transport", -9, [](const auto& row) { return transport_cell(row.scaled); }, false});
  columns.push_back({"r x t", 7, [](const auto& row) { return row.scaled.shape(); }, false});
  if (compares_cuts(study))
    columns.push_back({" cut", -9, [](const auto& row) { return " " + cut_cell(row.scaled); }, false});
  columns.push_back({is_system ? " arrangement" : " grid", is_system ? -14 : -7,
                     [](const auto& row) { return " " + row.median_run.arrangement; }});
  columns.push_back({"kernel", -9, [](const auto& row) { return row.median_run.kernel; }});
  if (is_system) {
    columns.push_back({"rows", 11, [](const auto& row) { return fmt::format("{}", row.median_run.n); }});
  }
  columns.push_back({"seconds", 10, seconds_cell, false});
  columns.push_back({"spread", 6, [](const auto& row) {
                       const auto spread = row.time_s->spread();
                       return spread ? fmt::format("{:.0f} %", 100.0 * *spread) : "";
                     }});
  if (is_system) {
    columns.push_back({"ms/iteration", 12, [count = study.iteration_count](const auto& row) {
                         return fmt::format("{:.4f}", 1e3 * row.time_s->median / count);
                       }});
  } else {
    columns.push_back({"Mop/s", 9, [](const auto& row) { return fmt::format("{:.1f}", row.rate / 1e6); }});
  }
  columns.push_back({"speed-up", 8, [](const auto& row) {
                       return row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "-";
                     }});
  columns.push_back(
      {"efficiency", 10, [](const auto& row) { return row.efficiency ? percent(*row.efficiency) : "-"; }});
  columns.push_back({"comm", 7, [](const auto& row) { return percent(row.median_run.shares.moving); }});
  columns.push_back({"waiting", 7, [](const auto& row) { return percent(row.median_run.shares.waiting); }});
  columns.push_back({"vs best", 7, ratio_cell});
  return columns;
}

/// row: nullptr for the heads.
std::string line_of(const std::vector<Column>& columns, const ScalingRow* row) {
  std::string line;
  for (const auto& column : columns) {
    if (!line.empty()) line += ' ';
    auto cell = std::string(row == nullptr ? column.head : "");
    if (row != nullptr && (row->is_sound() || !column.needs_times)) cell = column.cell(*row);
    line += column.width < 0 ? fmt::format("{:<{}}", cell, -column.width)
                             : fmt::format("{:>{}}", cell, column.width);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
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
    if (ranking.cases.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto& one : ranking.cases) names.push_back(case_name(study, one));
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

std::string write_text(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  const auto columns = columns_of(study);
  std::string text = title_of(study) + line_of(columns, nullptr);
  int core_count = rows.empty() ? 0 : rows.front().scaled.core_count();
  for (const auto& row : rows) {
    if (row.scaled.core_count() != core_count) text += "\n";
    core_count = row.scaled.core_count();
    text += line_of(columns, &row);
  }
  text += "\n" + verdicts_of(study) + failures_of(rows) + disturbances_of(rows) + verification_of(study);
  for (const auto& warning : study.warnings) text += fmt::format("  Warning: {}\n", warning);
  return text + legend_of(study);
}

/// Columns that do not apply to the work or to a line are empty.
std::string write_csv(const ScalingStudy& study) {
  std::string text =
      "scaling,class,n,cores,way,form,transport,ranks,threads,cut,grid,kernel,status,runs,median_s,minimum_s,"
      "maximum_s,mops_total,speed_up,efficiency,moving_share,waiting_share,ratio_to_best,disturbed_runs\n";
  for (const auto& row : rows_of(study)) {
    const auto& one = row.scaled;
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},", study.weak ? "weak" : "strong",
        study.problem ? scaled_problem(*study.problem, one.core_count(), study.weak).class_name : "",
        study.order_of(one), one.core_count(), one.name(), one.form(), one.transport(), one.rank_count,
        one.asked.configuration.thread_count, one.cut());
    if (!row.is_sound()) {
      const auto failed = std::ranges::find_if_not(row.runs, &ScalingRun::succeeded);
      text += fmt::format(",,{},{},,,,,,,,,,{}\n",
                          failed == row.runs.end() ? "not-run" : status_name(failed->code), row.runs.size(),
                          row.disturbed_count());
      continue;
    }
    const auto optional_cell = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.6f}", *value) : std::string();
    };
    const auto& run = row.median_run;
    text += fmt::format("{},{},{},{},{:.9f},{:.9f},{:.9f},{},{},{},{:.6f},{:.6f},{:.6f},{}\n",
                        run.arrangement, run.kernel, status_name(ExitCode::success), row.runs.size(),
                        row.time_s->median, row.time_s->minimum, row.time_s->maximum,
                        study.problem ? fmt::format("{:.6f}", row.rate / 1e6) : "",
                        optional_cell(row.speed_up), optional_cell(row.efficiency), run.shares.moving,
                        run.shares.waiting, row.ratio_to_best, row.disturbed_count());
  }
  return text;
}

}  // namespace

ScalingFormat text_scaling_format() { return {.name = "text", .write = &write_text}; }
ScalingFormat csv_scaling_format() { return {.name = "csv", .write = &write_csv}; }

}  // namespace cg2d
