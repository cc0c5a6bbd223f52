// The comparison of cases for people and for programs.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cg/base/describe.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/session_document.hpp"
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

/// The study, and what follows from its runs.
struct ScalingDocument {
  ScalingStudy study;
  std::vector<ScalingRow> rows;
};

/// A value that only studies of a user's system have, or only those of the benchmark.
template <typename Value>
std::optional<Value> only_if(bool condition, const Value& value) {
  return condition ? std::optional(value) : std::nullopt;
}

void describe_options(Members& m, ScalingStudy& study) {
  const bool is_system = m.writes() && !study.problem;
  m("problem", study.problem, meaning("Of the benchmark, on one core."));
  m.derived("system", only_if(is_system, study.system), meaning("Of the user, on one core."));
  m.derived("iterations", only_if(is_system, study.iteration_count), at_least(1, "Of each run of a system."));
  m("cores", study.core_counts, {.least = 1, .fewest = 1});
  m("transports", study.values["transport"], {.fewest = 1});
  m("cuts", study.values["cut"], {.meaning = "As --cut has them.", .fewest = 1});
  m("kernel", study.configuration.kernel, meaning("A name, or auto."));
  m("rounds", study.round_count, at_least(1));
}

}  // namespace

void describe(Members& m, ScalingRun& run) {
  const bool succeeded = m.writes() && run.succeeded();
  m("round", run.round, at_least(1));
  m("status", run.code);
  m("reason", run.reason);
  m.derived("exit_code", static_cast<int>(run.code), at_least(0));
  m.derived("time_s", only_if(succeeded, run.time_s), or_null(positive()));
  m.derived("zeta", run.zeta, or_null("null: it failed, or is of a system."));
  m.derived("moving_share", only_if(succeeded, run.shares.moving), or_null(at_least(0)));
  m.derived("waiting_share", only_if(succeeded, run.shares.waiting), or_null(at_least(0)));
  m.derived("disturbed", run.is_disturbed(),
            meaning("By other work on the machine, as quiet.disturbed of a run."));
  m("disturbance", run.disturbance, meaning("The reason; empty where quiet."));
}

namespace {

void describe_figures(Members& m, const ScalingStudy& study, const ScalingRow& row) {
  const bool is_system = m.writes() && !study.problem;
  const bool is_benchmark = m.writes() && !is_system;
  const auto times = row.time_s.value_or(Sample{});
  const auto& median = row.median_run;
  m.derived("grid", only_if(is_benchmark, median.arrangement), meaning("Of the benchmark."));
  m.derived("kernel", median.kernel);
  m.derived("median_s", times.median, positive("Of an even number the lower of the middle two."));
  m.derived("minimum_s", times.minimum, positive());
  m.derived("maximum_s", times.maximum, positive());
  m.derived("spread", times.spread(),
            or_null(at_least(0, "(maximum - minimum) / median; null for a single round.")));
  m.derived("mops_total", only_if(is_benchmark, row.rate / 1e6),
            positive("Of the benchmark, by the official operation count."));
  m.derived("iteration_s", only_if(is_system, times.median / std::max(study.iteration_count, 1)),
            positive("Of a system."));
  m.derived("speed_up", row.speed_up,
            or_null(positive("Mop/s (of a system: rows per second) by those of the same form on one core; "
                             "null where one core did not succeed.")));
  m.derived("efficiency", row.efficiency, or_null(positive("speed_up by cores.")));
  m.derived("moving_share", median.shares.moving,
            at_least(0,
                     "Phases that communicate (collection, summation, shuffle, halo, dot), without "
                     "waiting; mean over the ranks."));
  m.derived("waiting_share", median.shares.waiting, at_least(0, "Waiting for other ranks in these."));
  m.derived("ratio_to_best", row.ratio_to_best,
            positive("Median ratio of paired rounds to the candidate on as many cores."));
  m.derived("is_candidate", row.is_candidate,
            meaning("The case on as many cores that the others beat least, by the median ratio of paired "
                    "rounds; decided or not."));
  m.derived("is_best", row.is_best(), meaning("The candidate, where is_decided."));
  m.derived("may_be_best", row.may_be_best,
            meaning("The candidate, or a case that is not known to be worse."));
  m.derived("is_decided", row.certainty == Certainty::decided,
            meaning("Whether the candidate is better than all others on as many cores, by the sign test of "
                    "paired rounds; false where it is alone."));
  m.derived("certainty", row.certainty, meaning(meaning_of_certainty));
}

void describe_case(Members& m, const ScalingStudy& study, ScalingRow& row) {
  const bool is_system = m.writes() && !study.problem;
  const auto& scaled = row.scaled;
  const auto cut = m.writes() ? scaled.cut() : std::string();
  const auto way = m.writes() ? scaled.name() : std::string();
  const auto form = scaled.form();
  const auto order = m.writes() ? study.order_of(scaled) : 0;
  bool is_sound = row.is_sound();
  m.derived("cores", scaled.core_count(), at_least(1));
  m.derived("way", way,
            meaning("one core, ranks only, shared-memory ranks, ranks x threads or threads only"));
  m.derived("form", only_if(is_system, form), meaning("Of a system: matrix or matrix-free."));
  m.derived("transport", scaled.transport(), meaning("With one rank it moves nothing."));
  m.derived("ranks", scaled.rank_count, at_least(1));
  m.derived("threads", scaled.asked.configuration.thread_count, at_least(1, "Of each rank."));
  m.derived("matrix", only_if(is_system, scaled.matrix),
            meaning("Of a system: the file, or the operator as this number of cores has it."));
  m.derived("n", order, at_least(0, "Order of the matrix on that many cores; 0: a system that never ran."));
  m.derived("cut", only_if(!cut.empty(), cut), meaning("As --cut has it, of a matrix on several ranks."));
  const auto failed = std::ranges::find_if_not(row.runs, &ScalingRun::succeeded);
  m.derived(
      "status",
      row.runs.empty() ? "not-run" : status_name(failed == row.runs.end() ? ExitCode::success : failed->code),
      meaning("success, that of its first run that failed, or not-run."));
  m.derived("runs", std::ssize(row.runs), at_least(0));
  m.derived("disturbed_runs", row.disturbed_count(), at_least(0));
  m.derived("arrangement", only_if(is_system, row.median_run.arrangement),
            meaning("Of the ranks, for a system; empty where a run failed."));
  m.object_if(
      is_sound, "figures",
      or_null("Of all rounds; kernel and shares of the one with the median time (of an even number the "
              "lower of the middle two). null where a run failed, or none took place."),
      [&] { describe_figures(m, study, row); });
  m("rounds", row.runs, meaning("null stands for what a run did not measure, since it failed."));
}

void describe_agreement(Members& m, ZetaAgreement& one) {
  m("n", one.problem.n, at_least(1));
  m("reference_zeta", one.problem.reference_zeta, or_null());
  m("runs", one.run_count, at_least(1));
  m("zeta_minimum", one.minimum);
  m("zeta_maximum", one.maximum);
  m.derived("relative_difference", one.relative_difference(), at_least(0));
  m.derived("agrees", one.holds(), meaning("Within 1e-10."));
}

void describe_machine(Members& m, Environment& environment) {
  m("mpi", environment.mpi_version);
  m("blas", environment.blas);
  m("compiler", environment.build.compiler);
  m("flags", environment.build.flags);
  m("build_type", environment.build.build_type);
  m("nodes", environment.nodes, {.fewest = 1});
  describe_binding(m, environment);
}

void describe(Members& m, ScalingDocument& document) {
  auto& [study, rows] = document;
  const auto verdict = m.writes() ? verdict_on(study) : ScalingVerdict{};
  describe_head(m);
  m.derived("status", verdict.code, meaning("success, or that of the first run that failed."));
  m.derived("reason", verdict.reason, meaning("One line, as on stderr; empty on success."));
  m.derived("exit_code", static_cast<int>(verdict.code), at_least(0));
  m("warnings", study.warnings);
  m.derived("scaling", study.weak ? "weak" : "strong");
  m.object("options", [&, &study = study] { describe_options(m, study); });
  m("provenance", study.provenance, or_null());
  m.object_if(study.machine, "machine", or_null("As all ranks started see it."),
              [&](Environment& machine) { describe_machine(m, machine); });
  m.list("verification", m.writes() ? agreements_of(study) : std::vector<ZetaAgreement>(),
         meaning("Of all successful runs of a problem of the benchmark, once for each problem."),
         [&](ZetaAgreement& one, std::size_t /*index*/) { describe_agreement(m, one); });
  m.list("ways", rows,
         {.meaning = "In the order of the table: by cores, and with fewer and fewer ranks.", .fewest = 1},
         [&, &study = study](ScalingRow& row, std::size_t /*index*/) { describe_case(m, study, row); });
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

void visit_scaling(Members& m) { visit_new<ScalingDocument>(m); }

std::string write_scaling(const ScalingStudy& study, std::string_view format) {
  if (format == "text") return scaling_text(study);
  const ScalingDocument document{study, rows_of(study)};
  return format == "json" ? document_text(document) : csv_of_lists(document, {{"ways"}});
}

}  // namespace cg2d
