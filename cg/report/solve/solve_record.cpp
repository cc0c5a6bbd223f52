#include "cg/report/solve/solve_record.hpp"

#include <optional>

#include "cg/machine/json_quiet.hpp"
#include "cg/report/phase_record.hpp"
#include "cg/report/report.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/report/session_record.hpp"
#include "cg/report/solve/solve_format.hpp"
#include "cg/report/sweep_record.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {
namespace {

/// A norm, or null where it is not finite.
FigureType norm_type() { return named_type("norm", {{"type", {"number", "null"}}, {"minimum", 0}}); }

Figure<Solution> norm_of_result(const std::string& name, double SystemSolveResult::*member,
                                const std::string& meaning = {}) {
  return {name, norm_type(), [member](const auto& solution) { return solution.result.*member; }, meaning};
}

/// Indices from 1, as in the file; without the pair where both triangles were equal.
Figure<Symmetrization> index_of_pair(const std::string& name, int least,
                                     std::int64_t Symmetrization::*member) {
  return {name, integer_type(least),
          [member](const auto& symmetrization) {
            return symmetrization.largest_difference == 0.0 ? std::nullopt
                                                            : std::optional(symmetrization.*member + 1);
          },
          "", Presence::if_known};
}

const Record<Symmetrization>& symmetrization_record() {
  static const Record<Symmetrization> record{
      "symmetrization",
      {{"largest_difference", with(with(number_type(), "minimum", 0), "exclusiveMaximum", 1),
        &Symmetrization::largest_difference},
       index_of_pair("row", 2, &Symmetrization::row),
       index_of_pair("column", 1, &Symmetrization::column)},
      "",
      {{"dependentRequired", {{"row", Json::array({"column"})}, {"column", Json::array({"row"})}}}}};
  return record;
}

const Record<BlockBalance>& balance_record() {
  static const Record<BlockBalance> record{"balance",
                                           {{"largest", count_type(), &BlockBalance::largest},
                                            {"mean", seconds_type(), &BlockBalance::mean},
                                            {"imbalance", number_type(), &BlockBalance::imbalance}},
                                           "Nonzeros of the ranks' blocks; imbalance is largest / mean - 1."};
  return record;
}

/// The balance of other pieces than those of this cut.
Figure<SolvedSystem> other_balance(std::string name, bool of_even_pieces, std::string meaning) {
  return part<SolvedSystem>(
      std::move(name), balance_record(),
      [of_even_pieces](const SolvedSystem& solved) {
        const bool is_asked = (solved.report.configuration.cut == nonzeros_cut) == of_even_pieces;
        const bool has_matrix = !solved.report.matrix_free;
        return is_asked && has_matrix ? solved.report.matrix->other_balance : std::nullopt;
      },
      std::move(meaning), Presence::if_known);
}

const Record<Solution>& spectrum_record() {
  static const Record<Solution> record{
      "spectrum",
      {{"smallest", norm_type(), [](const auto& solution) { return solution.spectrum.smallest; }},
       {"largest", norm_type(), [](const auto& solution) { return solution.spectrum.largest; }},
       {"condition_number", norm_type(),
        [](const auto& solution) { return solution.spectrum.condition_number(); }, "At least."},
       {"predicted_iterations", norm_type(), &Solution::predicted_steps,
        "At most, to the tolerance, if the condition number is no larger: by the bound on the error of "
        "CG."}}};
  return record;
}

const Record<SystemOptions>& system_record() {
  static const Record<SystemOptions> record{
      "system",
      {{"matrix", text_type(), &SystemOptions::matrix_text, "A file, or the text of an operator."},
       {"is_assembled", flag_type(), [](const auto& options) { return !options.is_matrix_free(); }},
       {"right_hand_side", text_type(),
        [](const auto& options) { return vector_text(options.right_hand_side); },
        "ones, zeros, random:SEED or a file."},
       {"initial_guess", text_type(), [](const auto& options) { return vector_text(options.initial_guess); }},
       {"relative_tolerance", seconds_type(), &SystemOptions::relative_tolerance, "Of right_hand_side_norm."},
       {"absolute_tolerance", seconds_type(), &SystemOptions::absolute_tolerance},
       {"most_iterations", positive_count_type(), &SystemOptions::most_iterations},
       {"preconditioner", name_type(), &SystemOptions::preconditioner},
       {"variant", labelled(name_type(), "Form of CG"), &SystemOptions::variant, "The form of CG."},
       {"symmetrize", with(with(number_type(), "exclusiveMinimum", 0), "exclusiveMaximum", 1),
        &SystemOptions::symmetrize_tolerance, "Only with --symmetrize: the tolerance.", Presence::if_known},
       {"mirrored", constant_type(true),
        [](const auto& options) { return options.mirrors ? std::optional(true) : std::nullopt; },
        "Only with --mirror.", Presence::if_known}},
      "As asked for."};
  return record;
}

const Record<SolvedSystem>& solved_system_record() {
  static const auto record = with(
      Record<SolvedSystem>{
          "system",
          figures_of_part<SolvedSystem>(
              system_record(), [](const SolvedSystem& solved) -> const auto& { return solved.options; }),
          system_record().meaning},
      {{"right_hand_side_count", integer_type(1, 16),
        [](const auto& solved) { return solved.report.right_hand_side_count; },
        "Right-hand sides that are solved together."}});
  return record;
}

const Record<KernelTrial>& kernel_trial_record() {
  static const Record<KernelTrial> record{
      "kernel_trial",
      {list_figure<KernelTrial>("tried", timed_candidate_record<TimedCandidate>("kernel"),
                                &KernelTrial::tried),
       list_figure<KernelTrial>("skipped", skipped_candidate_record<SkippedCandidate>("kernel"),
                                &KernelTrial::skipped, "Kernels whose format would take too long to make."),
       verdict_figure<KernelTrial>(),
       {"duration_s", seconds_type(), &KernelTrial::duration_s,
        "In the runs of a study: of the first one on this grid and cut."},
       {"skipped_because", line_type(), &KernelTrial::skipped_because, "Empty with a trial."}},
      "With --kernel auto, unless a profile knows the kernel: the time of a CG step with each."};
  return record;
}

const Record<SolveReport>& solve_configuration_record() {
  static const auto record =
      with(Record<SolveReport>{"configuration",
                               figures_of_part<SolveReport>(
                                   configuration_record(),
                                   [](const SolveReport& report) -> const SessionReport& { return report; })},
           {part<SolveReport>("kernel_trial", kernel_trial_record(), &SolveReport::kernel_trial, "",
                              Presence::if_known),
            {"matrix_free_arrangement", pattern_type("^(domain [0-9]+x[0-9]+x[0-9]+|grid [0-9]+x[0-9]+)$"),
             [](const auto& report) {
               return report.matrix_free ? std::optional(report.matrix_free->arrangement) : std::nullopt;
             },
             "Only without an assembled matrix: how the ranks share the operator.", Presence::if_known}});
  return record;
}

const Record<MatrixResult>& matrix_record() {
  static const Record<MatrixResult> record{
      {{"name", name_type(), &MatrixResult::name},
       {"n", positive_count_type(), &MatrixResult::order},
       {"nonzero_count", count_type(), &MatrixResult::nonzero_count,
        "0 without an assembled matrix, as the times to read and to distribute."},
       {"read_s", metric(seconds_type(), "Reading", "s"), &MatrixResult::read_s,
        "From the first byte, or the first generated entry, to rows that are checked."},
       {"distribute_s", metric(seconds_type(), "Distribution", "s"), &MatrixResult::distribute_s,
        "From the rows to blocks."},
       {"preconditioner_s", metric(seconds_type(), "Precond. set-up", "s"), &MatrixResult::preconditioner_s,
        "To make the preconditioner, from the blocks on."},
       part<MatrixResult>(
           "symmetrization", symmetrization_record(), &MatrixResult::symmetrization,
           "Only with --symmetrize: the largest |a_ij - a_ji| / sqrt(|a_ii a_jj|) before each pair became "
           "its "
           "mean, and the first pair with it, from 1; no pair where both triangles were equal.",
           Presence::if_known)}};
  return record;
}

const Record<SolvedSystem>& solve_setup_record() {
  static const auto record = with(
      Record<SolvedSystem>{"setup", figures_of_part<SolvedSystem>(
                                        matrix_record(), [](const SolvedSystem& solved) -> const auto& {
                                          return *solved.report.matrix;
                                        })},
      {{"conversion_s", metric(or_null(seconds_type()), "Conversion", "s"),
        [](const auto& solved) {
          return solved.report.is_streamed ? std::nullopt : std::optional(solved.report.matrix->conversion_s);
        },
        "From the blocks to kernels that are ready; without a matrix: to make the operator; null where "
        "the matrix is streamed: nothing was converted."},
       numbered_list<SolvedSystem>("ranks", "rank", rank_block_record(),
                                   [](const SolvedSystem& solved) { return seen_ranks(solved.report); }),
       part<SolvedSystem>(
           "balance", balance_record(),
           [](const SolvedSystem& solved) {
             return solved.report.matrix_free ? nullptr : &solved.report.matrix->balance;
           },
           "Of an assembled matrix, as the next two.", Presence::if_known),
       other_balance("balance_of_even_pieces", true,
                     "With the cut by nonzeros: of the other cut; as the next one not with --out-of-core."),
       other_balance("balance_by_nonzeros", false, "With any other cut.")});
  return record;
}

const Record<Solution>& solution_record() {
  static const Record<Solution> record{
      "solution",
      {{"end",
        word_type({"converged", "zero_right_hand_side", "step_limit", "stagnated", "not_positive_definite",
                   "not_finite", "stopped"}),
        [](const auto& solution) { return name_of(solution.result.end); }},
       {"iterations", count_type(), [](const auto& solution) { return solution.result.step_count; }},
       {"restarts", count_type(), [](const auto& solution) { return solution.result.replacement_count; },
        "Times that the recurrence began anew, since the residual computed anew missed the target."},
       {"classic_iterations", count_type(),
        [](const auto& solution) { return solution.result.classic_step_count; },
        "The last iterations, where the classic form went on in place of another that rounding had spoiled; "
        "else 0."},
       norm_of_result("right_hand_side_norm", &SystemSolveResult::right_hand_side_norm),
       {"target_norm", norm_type(), &Solution::target_norm},
       norm_of_result("first_residual_norm", &SystemSolveResult::first_residual_norm),
       {"recursive_residual_norm", norm_type(), &Solution::recursive_residual_norm,
        "By the recurrence, at the end."},
       norm_of_result("residual_norm", &SystemSolveResult::true_residual_norm, "Of b - A x, computed anew."),
       {"solution_iteration", count_type(),
        [](const auto& solution) { return solution.result.solution_step; },
        "The iteration whose x this is: the last, or of a solve that failed the best that was kept; 0: the "
        "initial guess."},
       {"last_residual_norm", norm_type(),
        [](const auto& solution) { return solution.result.last_residual_norm; },
        "Of b - A x for the x of the last iteration, computed anew."},
       {"preconditioner_remark", text_type(), &Solution::preconditioner_remark,
        "On how it was made; empty: as usual."},
       part<Solution>(
           "spectrum", spectrum_record(),
           [](const Solution& solution) { return solution.spectrum.step_count == 0 ? nullptr : &solution; },
           "Extreme eigenvalues of the preconditioned matrix by the coefficients of CG; null without a "
           "step."),
       {"history", list_type(norm_type()), &Solution::history,
        "Norm of the residual by the recurrence: before the first iteration, and after each."}}};
  return record;
}

/// The end of the worst one of several right-hand sides comes first, as that of a single one.
const Record<SolveReport>& solve_result_record() {
  static const auto record = with(
      Record<SolveReport>{
          "result",
          figures_of_part<SolveReport>(
              solution_record(),
              [](const SolveReport& report) -> const Solution& { return *report.solution; }),
          "Of several right-hand sides the top has that with the worst end, the first of equals."},
      {{"time_s", seconds_type(), [](const auto& report) { return report.repeat.time_s; },
        "Of the solve alone."},
       {"right_hand_sides", list_type(type_of(solution_record()), 2),
        [](const auto& report) {
          return report.solutions.empty() ? Json(nullptr) : json_of_all(solution_record(), report.solutions);
        },
        "Only with several: one of each, in their order.", Presence::if_known}});
  return record;
}

const Record<SolveRestart>& solve_restart_record() {
  static const auto record = with(
      Record<SolveRestart>{
          "restart", figures_of_part<SolveRestart>(found_checkpoint_record(), &SolveRestart::checkpoint)},
      {{"earlier_iterations", positive_count_type(),
        [](const auto& restart) { return restart.state.number; }}});
  return record;
}

/// The ends of a solve, with the sections that each has.
Json solve_constraints() {
  const Json object{{"type", "object"}};
  const auto end = [](std::string_view title, Json status, Json reason, std::vector<std::string> ends) {
    return Json{{"title", title},
                {"properties",
                 {{"status", std::move(status)},
                  {"reason", std::move(reason)},
                  {"result", {{"type", "object"}, {"properties", {{"end", word_type(std::move(ends))}}}}}}}};
  };
  const auto success = [&](std::string_view title, std::vector<std::string> ends) {
    auto made = end(title, constant_type("success"), constant_type(""), std::move(ends));
    made["properties"].update(
        {{"exit_code", constant_type(0)}, {"configuration", object}, {"setup", object}});
    return made;
  };
  const auto measured = [](Json made) {
    return with(std::move(made), "required", Json::array({"quiet", "sweep"}));
  };
  const Json some_line{{"minLength", 1}};
  const Json null = constant_type(nullptr);
  return {{"oneOf",
           Json::array(
               {success("solved", {"converged", "zero_right_hand_side"}),
                end("ended without a solution to the tolerance",
                    word_type({"not-positive-definite", "not-converged", "not-finite", "interrupted"}),
                    some_line, {"step_limit", "stagnated", "not_positive_definite", "not_finite", "stopped"}),
                measured(success("a measurement: all iterations done", {"step_limit"})),
                measured(end("a measurement of a system that is solved before its last iteration",
                             constant_type("usage-error"), some_line,
                             {"converged", "stagnated", "zero_right_hand_side"})),
                {{"title", "could not start"},
                 {"properties",
                  {{"reason", some_line}, {"result", null}, {"setup", null}, {"phases", null}}}}})}};
}

}  // namespace

const Record<SolvedSystem>& solve_document_record() {
  static const auto record = [] {
    const auto report_of = [](const SolvedSystem& solved) -> const SolveReport& { return solved.report; };
    const auto of_session = [&](std::vector<Figure<SessionReport>> figures) {
      return figures_of_part<SolvedSystem>(Record<SessionReport>(std::move(figures)), report_of);
    };
    Record<SolvedSystem> made{
        "solve_document", of_session(head_figures(result_schema_version, "solve")),
        "The result of a solve, converged or not (result.end says which), or why it could not start. Sizes "
        "are "
        "bytes, times are seconds. null stands for what a solve did not come to, and for NaN and infinity.",
        solve_constraints()};
    made = with(made, {part<SolvedSystem>("system", solved_system_record(), std::identity())});
    made = with(made, of_session(origin_figures()));
    made = with(made, {part<SolvedSystem>("configuration", solve_configuration_record(),
                                          [](const SolvedSystem& solved) {
                                            return solved.report.is_resolved ? &solved.report : nullptr;
                                          }),
                       part<SolvedSystem>("setup", solve_setup_record(),
                                          [](const SolvedSystem& solved) {
                                            return solved.report.ranks.empty() ? nullptr : &solved;
                                          }),
                       part<SolvedSystem>("result", solve_result_record(), [](const SolvedSystem& solved) {
                         return solved.report.solution ? &solved.report : nullptr;
                       })});
    made = with(made, phase_sections<SolvedSystem>([](const SolvedSystem& solved) {
                  const auto& report = solved.report;
                  return report.solution && timed_step_count(report) > 0
                             ? std::optional(phase_figures(report))
                             : std::nullopt;
                }));
    made = with(made, {part<SolvedSystem>(
                          "restart", solve_restart_record(),
                          [](const SolvedSystem& solved) -> const auto& { return solved.report.restart; },
                          "Only of a solve that went on from a checkpoint: its time and phases are those of "
                          "the iterations since.",
                          Presence::if_known)});
    made = with(made, of_session(feature_figures(WorkKind::solve)));
    return with(made,
                {part<SolvedSystem>(
                     "quiet", disturbance_record(),
                     [](const SolvedSystem& solved) -> const auto& { return solved.report.quiet; },
                     "Whether other work on the machine disturbed the timed region, and how; of a solve that "
                     "came to its iterations.",
                     Presence::if_known),
                 {"sweep", type_of(sweep_record(true)), [](const auto& /*solved*/) { return absent(); }, "",
                  Presence::if_known}});
  }();
  return record;
}

const std::vector<ShownFigure>& solve_figures() {
  static const auto figures = shown_figures(type_of(solve_document_record()));
  return figures;
}

}  // namespace cg2d
