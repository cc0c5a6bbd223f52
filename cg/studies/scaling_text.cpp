// The comparison of ways for people, and for spreadsheets.

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/values.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

constexpr std::string_view line_format =
    "{:>5}  {:<19} {:<9} {:>7}  {:<6} {:<9} {:>10} {:>6} {:>9} {:>8} {:>10} {:>7} {:>7} {:>7}";

std::string without_trailing_blanks(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

bool has_added_rounds(const ScalingStudy& study) {
  return std::ranges::any_of(study.runs, [&](const auto& run) { return run.round > study.round_count; });
}

std::string title_of(const ScalingStudy& study) {
  return fmt::format(
      "{} scaling of class {} ({}), kernel {}, grids by rule, medians of {}{}\n\n",
      study.weak ? "Weak" : "Strong", problem_name(study.problem),
      study.weak ? fmt::format("n {} x cores", study.problem.n) : fmt::format("n {}", study.problem.n),
      study.configuration.kernel, format_count(study.round_count, "round"),
      has_added_rounds(study) ? " or more" : "");
}

std::string head() {
  return without_trailing_blanks(fmt::format(line_format, "cores", "configuration", "transport", "r x t",
                                             "grid", "kernel", "seconds", "spread", "Mop/s", "speed-up",
                                             "efficiency", "comm", "waiting", "vs best"));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string transport_cell(const ScalingWay& way) {
  return way.rank_count > 1 ? way.configuration.transport : "-";
}

std::string spread_text(const Sample& sample) {
  const auto spread = sample.spread();
  return spread ? fmt::format("{:.0f} %", 100.0 * *spread) : "";
}

/// Marks the best way (*), or those that may be (~).
std::string_view mark_of(const ScalingRow& row) {
  const auto mark = best_mark(row.certainty, row.may_be_best);
  return mark.empty() ? " " : mark;
}

/// "ranks x threads, shared, 2 x 2"
std::string way_name(const ScalingWay& way) {
  return fmt::format("{}, {}, {}", way.name(), transport_cell(way), way.shape());
}

std::string line_of(const ScalingRow& row) {
  const auto& way = row.way;
  const auto begin = [&](std::string_view grid, std::string_view kernel, const auto&... cells) {
    return without_trailing_blanks(fmt::format(line_format, way.core_count(), way.name(), transport_cell(way),
                                               way.shape(), grid, kernel, cells...));
  };
  if (!row.is_sound())
    return begin("", "", row.runs.empty() ? "not run" : "failed", "", "", "", "", "", "", "");
  const auto& run = row.median_run;
  const auto* const disturbed = row.disturbed_count() > 0 ? "!" : " ";
  return begin(
      run.configuration->grid.name(), run.configuration->kernel, fmt::format("{:.6f}", row.time_s->median),
      spread_text(*row.time_s), fmt::format("{:.1f}", row.mops_total),
      row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "-",
      row.efficiency ? percent(*row.efficiency) : "-", percent(run.shares.moving),
      percent(run.shares.waiting), fmt::format("{:.3f}{}{}", row.ratio_to_best, mark_of(row), disturbed));
}

/// A line for each number of cores that has several ways.
std::string verdicts_of(const ScalingStudy& study) {
  std::string text;
  for (const auto& ranking : rankings_of(study)) {
    if (ranking.ways.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto& way : ranking.ways) names.push_back(way_name(way));
    const auto reason = verdict_text(ranking.verdict, names, "--repeat");
    text += fmt::format("  {}: {} {} {}\n", format_count(ranking.core_count, "core"),
                        names[ranking.verdict.candidate], ranking.verdict.is_decided() ? "is best," : "is",
                        reason);
  }
  return text;
}

/// Only where there is one, with the legend of its mark.
std::string disturbances_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto first = std::ranges::find_if(row.runs, &ScalingRun::is_disturbed);
    if (first == row.runs.end()) continue;
    text += fmt::format("  Disturbed (!): {}, {} of {}, in round {}: {}\n", row.way.label(),
                        row.disturbed_count(), format_count(std::ssize(row.runs), "run"), first->round,
                        first->disturbance);
  }
  return text;
}

std::string failures_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto failed = std::ranges::find_if(row.runs, [](const auto& run) { return !run.succeeded(); });
    if (failed == row.runs.end()) continue;
    text += fmt::format("  Failed: {}, round {}: {}: {}\n", row.way.label(), failed->round,
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

std::string write_text(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  std::string text = title_of(study) + head();
  int core_count = rows.empty() ? 0 : rows.front().way.core_count();
  for (const auto& row : rows) {
    if (row.way.core_count() != core_count) text += "\n";
    core_count = row.way.core_count();
    text += line_of(row);
  }
  text += "\n";
  text += verdicts_of(study);
  text += failures_of(rows);
  text += disturbances_of(rows);
  text += verification_of(study);
  for (const auto& warning : study.warnings) text += fmt::format("  Warning: {}\n", warning);
  return text +
         "\nr x t: ranks x threads of each. spread: (maximum - minimum) / median. speed-up: Mop/s by those "
         "on "
         "1 core;\nefficiency: speed-up / cores. comm: communication, which is collection, summation, "
         "shuffle and dot, without\nwaiting; waiting: in these; shares of the time. vs best: median ratio, "
         "round by round, to the configuration\non as many cores that is best (*) or first of those that "
         "may be (~). In parentheses: the interval of the ratio of\npaired rounds, by the sign test.\n";
}

std::string write_csv(const ScalingStudy& study) {
  std::string text =
      "scaling,class,n,cores,way,transport,ranks,threads,grid,kernel,status,runs,median_s,minimum_s,maximum_"
      "s,"
      "mops_total,speed_up,efficiency,moving_share,waiting_share,ratio_to_best,disturbed_runs\n";
  for (const auto& row : rows_of(study)) {
    const auto& way = row.way;
    const auto problem = scaled_problem(study.problem, way.core_count(), study.weak);
    text += fmt::format("{},{},{},{},{},{},{},{},", study.weak ? "weak" : "strong", problem.class_name,
                        problem.n, way.core_count(), way.name(), way.configuration.transport, way.rank_count,
                        way.configuration.thread_count);
    if (!row.is_sound()) {
      const auto failed = std::ranges::find_if(row.runs, [](const auto& run) { return !run.succeeded(); });
      text += fmt::format(",,{},{},,,,,,,,,,{}\n",
                          failed == row.runs.end() ? "not-run" : status_name(failed->code), row.runs.size(),
                          row.disturbed_count());
      continue;
    }
    const auto optional_cell = [](const std::optional<double>& value) {
      return value ? fmt::format("{:.6f}", *value) : std::string();
    };
    const auto& run = row.median_run;
    text +=
        fmt::format("{},{},{},{},{:.9f},{:.9f},{:.9f},{:.6f},{},{},{:.6f},{:.6f},{:.6f},{}\n",
                    run.configuration->grid.name(), run.configuration->kernel, status_name(ExitCode::success),
                    row.runs.size(), row.time_s->median, row.time_s->minimum, row.time_s->maximum,
                    row.mops_total, optional_cell(row.speed_up), optional_cell(row.efficiency),
                    run.shares.moving, run.shares.waiting, row.ratio_to_best, row.disturbed_count());
  }
  return text;
}

}  // namespace

ScalingFormat text_scaling_format() { return {.name = "text", .write = &write_text}; }
ScalingFormat csv_scaling_format() { return {.name = "csv", .write = &write_csv}; }

}  // namespace cg2d
