// The report of a solve for people.

#include <fmt/format.h>

#include <cmath>

#include "cg/base/describe_json.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/session_document.hpp"
#include "cg/report/summary.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {
namespace {

/// A norm that is NaN or infinite is no figure of the solve.
std::string norm_text(double norm, int digits) {
  return std::isfinite(norm) ? fmt::format("{:.{}e}", norm, digits) : "not finite";
}

/// Where x is an earlier iterate than the last, whose residual by the recurrence comes next.
std::string kept_words(const SystemSolveResult& result) {
  return result.has_kept() ? fmt::format(", x is {}", kept_place_of(result, "iteration")) : std::string();
}

std::string solution_lines(const SystemOptions& options, const Solution& solution) {
  LabelledLines line;
  const auto& result = solution.result;
  const auto reason = reason_of(solution);
  line("Ended", !reason.empty()                                ? std::string(reason)
                : result.end == SolveEnd::zero_right_hand_side ? "right-hand side of zeros: x = 0"
                                                               : std::string(name_of(result.end)));
  line("Iterations",
       fmt::format("{}{}{}", result.step_count,
                   result.replacement_count > 0
                       ? fmt::format(", with {}", format_count(result.replacement_count, "restart"))
                       : "",
                   result.classic_step_count > 0
                       ? fmt::format(", the last {} in the classic form: rounding had spoiled the other",
                                     result.classic_step_count)
                       : ""));
  line("Residual",
       fmt::format("{} = || b - A x ||, recomputed{}; {} by the recurrence; target {}",
                   norm_text(result.true_residual_norm, 6), kept_words(result),
                   norm_text(solution.recursive_residual_norm(), 6), norm_text(solution.target_norm, 6)));
  line("|| b ||", fmt::format("{}; first residual {}", norm_text(result.right_hand_side_norm, 6),
                              norm_text(result.first_residual_norm, 6)));
  line("Right-hand side", options.right_hand_side.text);
  const auto& remark = solution.preconditioner_remark;
  line("Preconditioner", options.preconditioner + (remark.empty() ? "" : ": " + remark));
  return line.text;
}

std::string table_of_several(const SystemOptions& options, const SolveReport& report) {
  LabelledLines line;
  line("Ended", report.reason.empty() ? "converged" : report.reason);
  line("Iterations", fmt::format("{}, all right-hand sides together", step_count_of(report)));
  line("Right-hand sides", fmt::format("{}, {}", report.solutions.size(), options.right_hand_side.text));
  Table table;
  for (const auto& solution : report.solutions) {
    const auto& result = solution.result;
    table.line().number("#", "{}", &solution - report.solutions.data() + 1).word("end", name_of(result.end));
    table.number("iterations", "{}", result.step_count);
    table.number("residual", norm_text(result.true_residual_norm, 6));
    table.number("recurrence", norm_text(solution.recursive_residual_norm(), 6));
    table.number("target", norm_text(solution.target_norm, 6));
    table.number("|| b ||", norm_text(result.right_hand_side_norm, 6));
  }
  line.text += "\n" + table.text();
  line.text += '\n';
  const auto& remark = report.solution->preconditioner_remark;
  line("Preconditioner", options.preconditioner + (remark.empty() ? "" : ": " + remark));
  return line.text;
}

std::string matrix_lines(const SolveReport& report) {
  const auto& matrix = *report.matrix;
  LabelledLines line;
  if (report.matrix_free) {
    line("Operator", fmt::format("{}, n {}, without a matrix", matrix.name, matrix.order));
    line("Arrangement", report.matrix_free->arrangement);
    return line.text;
  }
  line("Matrix", fmt::format("{}, n {}, {} nonzeros", matrix.name, matrix.order, matrix.nonzero_count));
  const auto other =
      matrix.other_balance
          ? fmt::format(" (cut {}: {:.1f} %)", report.configuration.cut == nonzeros_cut ? "even" : "nonzeros",
                        100.0 * matrix.other_balance->imbalance())
          : std::string();
  line("Cut",
       fmt::format("{}; nonzeros of the blocks: largest {}, imbalance {:.1f} %{}", report.configuration.cut,
                   matrix.balance.largest, 100.0 * matrix.balance.imbalance(), other));
  return line.text;
}

/// How the iteration ended, and after how many iterations.
std::string end_words(const SolveReport& report) {
  const int count = step_count_of(report);
  const auto iterations = format_count(count, "iteration");
  switch (report.solution->result.end) {
    case SolveEnd::converged:
      return "converged after " + iterations;
    case SolveEnd::zero_right_hand_side:
      return "x = 0 for a right-hand side of zeros";
    case SolveEnd::step_limit:
      return report.code == ExitCode::success ? iterations + " done"
                                              : fmt::format("NOT CONVERGED: iteration limit ({})", count);
    case SolveEnd::stagnated:
      return "NOT CONVERGED: stagnated after " + iterations;
    case SolveEnd::stopped:
      return "NOT CONVERGED: interrupted after " + iterations;
    case SolveEnd::not_positive_definite:
      return "NOT SOLVED: the matrix is not positive definite, seen in iteration " + std::to_string(count);
    case SolveEnd::not_finite:
      return "NOT SOLVED: NaN or infinity in iteration " + std::to_string(count);
  }
  return {};
}

/// "5.30e-03 to 7.98e+00, ...": empty where nothing is known.
std::string spectrum_text(const Solution& solution) {
  const auto& spectrum = solution.spectrum;
  if (spectrum.step_count == 0) return {};
  return fmt::format(
      "{:.3e} to {:.3e}, condition number at least {:.3e}: if no more, at most {:.0f} iterations to "
      "tolerance {:.2e}",
      spectrum.smallest, spectrum.largest, spectrum.condition_number(), solution.predicted_steps,
      solution.target_norm / solution.result.right_hand_side_norm);
}

std::string result_summary(const SolveReport& report) {
  const auto& solution = *report.solution;
  const auto& result = solution.result;
  const auto of_several =
      report.solutions.empty() ? std::string() : fmt::format(", the worst of {}", report.solutions.size());
  const double b_norm = result.right_hand_side_norm;
  // A right-hand side of zeros has no relative residual.
  const auto residual =
      b_norm > 0.0 ? fmt::format("relative residual {} (true{}), {} (recurrence); tolerance {}",
                                 norm_text(result.true_residual_norm / b_norm, 2), kept_words(result),
                                 norm_text(solution.recursive_residual_norm() / b_norm, 2),
                                 norm_text(solution.target_norm / b_norm, 2))
                   : fmt::format("residual {} (true); tolerance {}", norm_text(result.true_residual_norm, 2),
                                 norm_text(solution.target_norm, 2));
  return fmt::format("{}{}: {}", end_words(report), of_several, residual);
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

std::string grid_line(const SolveReport& report) {
  const auto& configuration = report.configuration;
  if (!report.matrix_free) return grid_summary(configuration, report.grid_is_automatic, report.grid_trial);
  return fmt::format("{}; {}, {} per rank", report.matrix_free->arrangement, transport_words(configuration),
                     format_count(configuration.thread_count, "thread"));
}

std::string kernel_line(const SystemOptions& options, const SolveReport& report) {
  const auto kernel =
      report.matrix_free
          ? report.configuration.kernel
          : kernel_summary(report.configuration, report.instruction_set, report.kernel_choice.kernel_origin,
                           report.kernel_trial ? &report.kernel_trial->verdict : nullptr);
  return fmt::format("{}; {} CG, preconditioner {}", kernel, options.variant, options.preconditioner);
}

std::string quiet_line(const SolveReport& report) {
  return report.quiet ? report.quiet->text() : "not known";
}

std::string summary_lines(const SystemOptions& options, const SolveReport& report) {
  return summary_text(
      {.result = result_summary(report),
       .time = time_summary(report),
       .grid = grid_line(report),
       .kernel = kernel_line(options, report),
       .limit = timed_step_count(report) > 0 ? limit_summary(phases_of(report)) : "nothing was multiplied",
       .quiet = quiet_line(report)});
}

/// All that is known beside the summary.
std::string own_lines(const SystemOptions& options, const SolveReport& report) {
  std::string text = report.solutions.empty() ? solution_lines(options, *report.solution) : std::string();
  text += labelled_line("Seconds", fmt::format("{:.6f}", report.repeat.time_s));
  text += matrix_lines(report) + choice_lines(report, report.repeat, !report.matrix_free);
  if (report.kernel_trial) text += labelled_line("Kernel trial", describe_trial(*report.kernel_trial));
  return text + command_lines(report) +
         labelled_lines(solve_figures(), json_of(solve_document(options, report)));
}

std::string text_of(const SystemOptions& options, const SolveReport& report) {
  std::string text = "\n cg2d - conjugate gradients on a virtual grid of ranks\n\n";
  text += summary_lines(options, report);
  if (const auto spectrum = spectrum_text(*report.solution); !spectrum.empty() && report.solutions.empty())
    text += fmt::format(" Spectrum {}\n", spectrum);
  if (report.matrix->symmetrization)
    text += fmt::format(" Symmetrized: {}\n", report.matrix->symmetrization->text());
  if (report.restart)
    text += fmt::format(" Restart from {} after iteration {}: the time is that of the iterations since\n",
                        report.restart->checkpoint.folder, report.restart->state.number);
  text += feature_lines(&FeatureRow::summary_lines, report);
  if (!report.solutions.empty()) text += '\n' + table_of_several(options, report);
  if (options.detail.is_verbose) text += '\n' + own_lines(options, report);
  if (timed_step_count(report) > 0) text += figures_text(phases_of(report), options.detail);
  text += closing_lines(report);
  return text;
}

}  // namespace

std::string write_report(const SystemOptions& options, const SolveReport& report, std::string_view format) {
  return format == "json" ? document_text(solve_document(options, report)) : text_of(options, report);
}

}  // namespace cg2d
