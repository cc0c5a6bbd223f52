#include "cg/report/report.hpp"

#include <fmt/ranges.h>

#include <cmath>

#include "cg/base/describe_json.hpp"
#include "cg/base/table.hpp"
#include "cg/run/feature.hpp"
#include "cg/tuning/run_plan.hpp"

namespace cg2d {

// Runs and solves for people: six lines of summary, the official closing block of a run, our lines, the phase table.
namespace {

// Parts of both.

/// The six lines in which stands what matters, as many as one looks at.
std::string summary_lines(const std::array<std::string, 6>& texts) {
  constexpr std::array labels{"Result", "Time", "Grid", "Kernel", "Limit", "Quiet"};
  std::string lines;
  for (size_t k = 0; k < texts.size(); ++k) lines += fmt::format(" {:<8}{}\n", labels[k], texts[k]);
  return lines;
}

/// Why this grid, where nobody asked for it.
std::string reason_of_grid(const std::optional<GridTrial>& trial) {
  if (!trial) return "chosen by the rule";
  if (trial->tried.size() < 2)
    return fmt::format("chosen by the {}{}", trial->shortlist.made_by,
                       trial->skipped_because.empty() ? "" : ", not tried: " + trial->skipped_because);
  const auto& verdict = trial->verdict;
  const auto count = trial->tried.size();
  if (verdict.certainty == Certainty::alone)
    return fmt::format("of {} tried; the others soon fell behind", count);
  return fmt::format("{} of {} tried: {}",
                     verdict.certainty == Certainty::decided ? "best" : "no clear winner", count,
                     verdict.reason);
}

/// "two-sided messages, 2 threads per rank".
std::string rank_words(const Configuration& configuration) {
  const auto* const row = comm::find_transport(configuration.transport);
  const bool copies_nothing = row != nullptr && row->reads_in_place;
  return fmt::format("{} {}, {} per rank", configuration.transport, copies_nothing ? "memory" : "messages",
                     format_count(configuration.thread_count, "thread"));
}

/// The share of the limits that all phases and the product reach, where they were measured; the rates of the product in any case.
std::string limit_summary(const PhaseFigures& figures) {
  if (!figures.is_known())
    return figures.are_timed ? "nothing was multiplied" : "not known without phases (--no-phases)";
  const auto shares = phase_shares(figures);
  // The phase that does most of the product, with a matrix or without one.
  const auto phase = *std::ranges::max_element(figures.phases, {}, [&](Phase one) {
    const auto work = phase_row(one).work;
    const bool multiplies = work == LocalWork::product || work == LocalWork::stencil;
    return multiplies ? shares[index_of(one)].byte_count : -1.0;
  });
  const auto& product = shares[index_of(phase)];
  constexpr double billion = 1e9;
  const auto rate = [&](double amount) {
    return product.rate_of(amount, static_cast<double>(figures.report.ranks.size())) / billion;
  };
  const auto rates =
      fmt::format("{:.1f} GB/s, {:.2f} Gflop/s", rate(product.byte_count), rate(product.flop_count));
  if (!figures.report.ranks.front().limits.are_known())
    return fmt::format("not measured (--roofline does); {}: {}", phase_name(phase), rates);
  PhaseShare all;
  for (const auto one : figures.phases) all += shares[index_of(one)];
  // Beyond 1 where vectors lie in a faster cache than the limits were measured with.
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100.0 * std::min(share, 1.0)); };
  return fmt::format("{} of the machine's limit; {} {}: {}", percent(all.shortest_s / all.measured_s),
                     phase_name(phase), percent(product.share()), rates);
}

/// The labelled figures of the document.
std::string own_lines(const SessionReport& report, const std::vector<ShownFigure>& figures,
                      const Json& document) {
  return "\n" + labelled_line("Command", command_text(report.provenance->command)) +
         labelled_lines(figures, document);
}

/// The lines of a guard, and the warnings.
std::string closing_lines(const SessionReport& report) {
  auto text = text_of(report.features.guard);
  for (const auto& warning : report.warnings) text += fmt::format(" Warning: {}\n", warning);
  return text;
}

// Of a run.

std::string verification_lines(const RunReport& report) {
  constexpr int digits = 13;
  const auto zeta = format_fortran(final_step(report).zeta, digits);
  const auto& reference = report.problem.reference_zeta;
  if (!reference)
    return fmt::format(" NO VERIFICATION PERFORMED\n not verified: no reference\n Zeta is    {:>20}\n", zeta);
  if (report.code == ExitCode::success)
    return fmt::format(" VERIFICATION SUCCESSFUL \n Zeta is    {:>20}\n Error is   {:>20}\n", zeta,
                       format_fortran(*relative_error(report, median_repeat(report)), digits));
  return fmt::format(" VERIFICATION FAILED\n Zeta                {:>20}\n The correct zeta is {:>20}\n", zeta,
                     format_fortran(*reference, digits));
}

/// The official lines: site scripts look for these labels and columns. After a restart without time and rates, which those of the
/// whole benchmark would be taken for.
std::string official_block(const RunReport& report) {
  const auto& problem = report.problem;
  const int rank_count = report.configuration.grid.rank_count();
  std::string time;
  std::string rates;
  if (!report.restart) {
    const double mops = mops_of(report, median_repeat(report));
    time = fmt::format(" Time in seconds = {:>24.2f}\n", median_repeat(report).time_s);
    rates =
        fmt::format(" Mop/s total     = {:>24.2f}\n Mop/s/process   = {:>24.2f}\n", mops, mops / rank_count);
  }
  return fmt::format(
      "{}\n\n CG Benchmark Completed.\n"
      " Class           = {:>24}\n"
      " Size            = {:>24}\n"
      " Iterations      = {:>24}\n{}"
      " Total processes = {:>24}\n"
      " Active procs    = {:>24}\n{}"
      " Operation type  =           floating point\n"
      " Verification    = {:>24}\n",
      verification_lines(report), problem.class_name, problem.n, problem.niter, time, rank_count, rank_count,
      rates,
      !problem.reference_zeta            ? "NOT PERFORMED"
      : report.code == ExitCode::success ? "SUCCESSFUL"
                                         : "UNSUCCESSFUL");
}

std::string result_summary(const RunReport& report) {
  const auto& problem = report.problem;
  const double zeta = final_step(report).zeta;
  if (!report.unfinished.empty()) return "not completed: " + report.reason;
  if (!problem.reference_zeta)
    return fmt::format("zeta {:.13f}, not verified: no reference for n {}, niter {}", zeta, problem.n,
                       problem.niter);
  if (report.code == ExitCode::success)
    return fmt::format("class {} verified: zeta {:.13f}, relative error {:.1e}", problem.class_name, zeta,
                       *relative_error(report, median_repeat(report)));
  return fmt::format("class {} WRONG: zeta {:.13f}, not {:.13f}", problem.class_name, zeta,
                     *problem.reference_zeta);
}

std::string time_summary(const RunReport& report) {
  const auto times = repeat_times(report);
  const double time_s = median_repeat(report).time_s;
  const auto median = times.count == 1 ? ","
                                       : fmt::format(", median of {} (quartiles {:.4g} and {:.4g});",
                                                     times.count, times.lower_quartile, times.upper_quartile);
  return fmt::format("{:.4g} s{} {:.0f} Mop/s, {:.2f} us per CG step", time_s, median,
                     mops_of(report, median_repeat(report)), 1e6 * time_s / cg_step_count(report));
}

/// A header, and one line per repetition: of the document of a run of it alone; its number and its own quiet stand behind.
std::string csv_of(const RunReport& report) {
  std::string text = csv_header(run_figures()) + ",repeat,disturbed\n";
  auto one_of_them = report;
  for (size_t k = 0; k < report.repeats.size(); ++k) {
    const auto& repeat = report.repeats[k];
    one_of_them.repeats.assign(1, repeat);
    text += csv_cells(run_figures(), json_of(RunDocument{.report = one_of_them}));
    text += "," + std::to_string(k + 1) + (repeat.quiet.is_disturbed() ? ",yes\n" : ",no\n");
  }
  return text;
}

std::string text_of(const RunReport& report) {
  std::string text = "\n\n cg2d - NAS Parallel Benchmark CG on a virtual grid of ranks\n\n";
  if (!report.unfinished.empty()) text += fmt::format(" NOT COMPLETED: {}\n", report.reason);
  if (!report.repeats.empty()) {
    text += summary_lines(
        {result_summary(report), time_summary(report),
         grid_summary(report.configuration, report.grid_is_automatic, report.grid_trial),
         kernel_summary(report.configuration, report.instruction_set, report.kernel_choice.kernel_origin),
         limit_summary(phases_of(report)),
         disturbance(report).empty()
             ? median_repeat(report).quiet.text()
             : "no: timing unreliable: the machine was busy (see the warning below)"});
    if (report.restart)
      text += fmt::format(
          " Restart from {} after outer iteration {} of {}: time and Mop/s are those of the last {} only\n",
          report.restart->checkpoint.folder, report.restart->step_count(), report.problem.niter,
          format_count(timed_part(report).niter, "outer iteration"));
    text += feature_lines(report.features) + '\n';
    // The closing block gives a verdict, which only a complete run has.
    if (report.unfinished.empty()) text += official_block(report);
    if (report.is_verbose) text += own_lines(report, run_figures(), json_of(RunDocument{.report = report}));
    text += figures_text(phases_of(report));
  }
  if (const auto reason = disturbance(report); !reason.empty())
    text += fmt::format(" Warning: disturbed, so repeat it on a quiet machine: {}\n", reason);
  text += closing_lines(report);
  return text;
}

// Of a solve.

/// A norm that is NaN or infinite is no figure of the solve.
std::string norm_text(double norm, int digits) {
  return std::isfinite(norm) ? fmt::format("{:.{}e}", norm, digits) : "not finite";
}

/// How each of several solutions ended.
std::string solution_table(const std::vector<Solution>& solutions) {
  Table table;
  for (const auto& solution : solutions) {
    const auto& result = solution.result;
    table.line().number("#", "{}", &solution - solutions.data() + 1).word("end", name_of(result.end));
    table.number("iterations", "{}", result.step_count);
    table.number("residual", norm_text(result.true_residual_norm, 6));
    table.number("target", norm_text(solution.target_norm, 6));
    table.number("|| b ||", norm_text(result.right_hand_side_norm, 6));
  }
  return "\n" + table.text();
}

std::string result_summary(const SolveReport& report) {
  const auto& solution = *report.solution;
  const auto& result = solution.result;
  std::string end(name_of(result.end));
  std::ranges::replace(end, '_', ' ');
  const auto of_several =
      report.solutions.empty() ? std::string() : fmt::format(", the worst of {}", report.solutions.size());
  const double b_norm = result.right_hand_side_norm;
  // Where x is an earlier iterate than the last, whose residual by the recurrence comes next.
  const auto kept = result.has_kept() ? ", x is " + kept_place_of(result, "iteration") : "";
  // A right-hand side of zeros has no relative residual.
  const auto residual =
      b_norm > 0.0 ? fmt::format("relative residual {} (true{}), {} (recurrence); tolerance {}",
                                 norm_text(result.true_residual_norm / b_norm, 2), kept,
                                 norm_text(result.residual_norm / b_norm, 2),
                                 norm_text(solution.target_norm / b_norm, 2))
                   : fmt::format("residual {} (true); tolerance {}", norm_text(result.true_residual_norm, 2),
                                 norm_text(solution.target_norm, 2));
  return fmt::format("{}{} after {}{}: {}", report.code == ExitCode::success ? "" : "NOT CONVERGED: ", end,
                     format_count(step_count_of(report), "iteration"), of_several, residual);
}

std::string time_summary(const SolveReport& report) {
  const int step_count = timed_step_count(report);
  const double time_s = report.repeat.time_s;
  const auto per_step =
      step_count > 0 ? fmt::format(", {:.2f} us per iteration", 1e6 * time_s / step_count) : std::string();
  const auto& matrix = *report.matrix;
  return fmt::format("{:.4g} s{}; set-up {:.4g} s before", time_s, per_step,
                     matrix.read_s + matrix.distribute_s + matrix.conversion_s + matrix.preconditioner_s);
}

std::string text_of(const SystemOptions& options, const SolveReport& report) {
  std::string text = "\n cg2d - conjugate gradients on a virtual grid of ranks\n\n";
  const auto& configuration = report.configuration;
  const auto kernel =
      report.matrix_free
          ? configuration.kernel
          : kernel_summary(configuration, report.instruction_set, report.kernel_choice.kernel_origin,
                           report.kernel_trial ? &report.kernel_trial->verdict : nullptr);
  text += summary_lines(
      {result_summary(report), time_summary(report),
       report.matrix_free ? fmt::format("{}; {}", report.matrix_free->arrangement, rank_words(configuration))
                          : grid_summary(configuration, report.grid_is_automatic, report.grid_trial),
       fmt::format("{}; {} CG, preconditioner {}", kernel, options.variant, options.preconditioner),
       limit_summary(phases_of(report)), report.quiet ? report.quiet->text() : "not known"});
  if (report.matrix->symmetrization)
    text += fmt::format(" Symmetrized: {}\n", report.matrix->symmetrization->text());
  if (report.restart)
    text += fmt::format(" Restart from {} after iteration {}: the time is that of the iterations since\n",
                        report.restart->checkpoint.folder, report.restart->state.number);
  text += feature_lines(report.features);
  if (!report.solutions.empty()) text += solution_table(report.solutions);
  if (options.is_verbose)
    text += own_lines(report, solve_figures(), json_of(SolveDocument{.options = options, .report = report}));
  text += figures_text(phases_of(report));
  text += closing_lines(report);
  return text;
}

}  // namespace

std::string grid_summary(const Configuration& configuration, bool is_automatic,
                         const std::optional<GridTrial>& trial) {
  const auto reason = configuration.grid.rank_count() == 1 ? " (the only grid of 1 rank)"
                      : is_automatic                       ? ", " + reason_of_grid(trial)
                                                           : " (requested)";
  return fmt::format("{}{}; {}", configuration.grid.name(), reason, rank_words(configuration));
}

std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial) {
  // The usual kernel stays where another one is not clearly faster.
  const bool is_fastest =
      trial != nullptr && trial->certainty == Certainty::decided && trial->candidate == configuration.kernel;
  const auto* const reason = origin == ChoiceOrigin::asked_for       ? " (requested)"
                             : origin == ChoiceOrigin::profile       ? " (from the profile of this machine)"
                             : origin == ChoiceOrigin::built_in_rule ? " (default; cg2d tune measures)"
                             : is_fastest                            ? ", the fastest of those tried"
                                                                     : ", by a trial";
  return fmt::format("{}, {}{}", configuration.kernel, instruction_set, reason);
}

std::string write_report(const RunReport& report, std::string_view format) {
  if (format == "json") return document_text(RunDocument{.report = report});
  return format == "csv" ? csv_of(report) : text_of(report);
}

std::string write_report(const SystemOptions& options, const SolveReport& report, std::string_view format) {
  return format == "json" ? document_text(SolveDocument{.options = options, .report = report})
                          : text_of(options, report);
}

}  // namespace cg2d
