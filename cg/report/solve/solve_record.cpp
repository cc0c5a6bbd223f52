#include "cg/report/solve/solve_record.hpp"

#include <optional>

#include "cg/report/session_record.hpp"
#include "cg/report/solve/solve_format.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/streaming/streaming_feature.hpp"

namespace cg2d {
namespace {

/// A norm, or null where it is not finite.
FigureType norm_type() { return defined("norm"); }

Figure<Solution> norm_of_result(const std::string& name, double SystemSolveResult::*member,
                                const std::string& meaning = {}) {
  return {name, norm_type(),
          [member](const auto& solution) { return number_or_null(solution.result.*member); }, meaning};
}

/// Indices from 1, as in the file; without the pair where both triangles were equal.
Figure<Symmetrization> index_of_pair(const std::string& name, int least,
                                     std::int64_t Symmetrization::*member) {
  return {name,
          {{"type", "integer"}, {"minimum", least}},
          [member](const auto& symmetrization) {
            return symmetrization.largest_difference == 0.0 ? Json(nullptr)
                                                            : Json(symmetrization.*member + 1);
          },
          "",
          Presence::if_known};
}

const Record<Symmetrization>& symmetrization_record() {
  static const Record<Symmetrization> record{
      {{"largest_difference",
        {{"type", "number"}, {"minimum", 0}, {"exclusiveMaximum", 1}},
        &Symmetrization::largest_difference},
       index_of_pair("row", 2, &Symmetrization::row),
       index_of_pair("column", 1, &Symmetrization::column)},
      "",
      {{"dependentRequired", {{"row", Json::array({"column"})}, {"column", Json::array({"row"})}}}}};
  return record;
}

/// A figure of the matrix that was read or made.
template <typename Member>
Figure<SolvedSystem> matrix_figure(const std::string& name, FigureType type, Member member,
                                   const std::string& meaning = {}, Presence presence = Presence::always) {
  return {name, std::move(type),
          [member](const auto& solved) -> Json { return member(solved, *solved.report.matrix); }, meaning,
          presence};
}

/// The balance of other pieces than those of this cut.
Figure<SolvedSystem> other_balance(const std::string& name, bool of_even_pieces, const std::string& meaning) {
  return matrix_figure(
      name, defined("balance"),
      [of_even_pieces](const auto& solved, const auto& matrix) {
        const bool is_asked = (solved.options.cut == MatrixCut::nonzeros) == of_even_pieces;
        const bool is_known = !solved.report.matrix_free && matrix.other_balance;
        return is_asked && is_known ? json_of(balance_record(), *matrix.other_balance) : Json(nullptr);
      },
      meaning, Presence::if_known);
}

const Record<Solution>& spectrum_record() {
  static const Record<Solution> record{{
      {"smallest", norm_type(),
       [](const auto& solution) { return number_or_null(solution.spectrum.smallest); }},
      {"largest", norm_type(),
       [](const auto& solution) { return number_or_null(solution.spectrum.largest); }},
      {"condition_number", norm_type(),
       [](const auto& solution) { return number_or_null(solution.spectrum.condition_number()); },
       "At least."},
      {"predicted_iterations", norm_type(),
       [](const auto& solution) { return number_or_null(solution.predicted_steps); },
       "By the bound on the error of CG."},
  }};
  return record;
}

Json history_json(const Solution& solution) {
  Json history = Json::array();
  for (const double norm : solution.history) history.push_back(number_or_null(norm));
  return history;
}

}  // namespace

const Record<SolvedSystem>& system_record() {
  static const Record<SolvedSystem> record{
      {{"matrix", text_type(), [](const auto& solved) { return solved.options.matrix_text(); },
        "A file, or the text of an operator."},
       {"is_assembled", flag_type(), [](const auto& solved) { return !solved.options.is_matrix_free(); }},
       {"right_hand_side", text_type(),
        [](const auto& solved) { return vector_text(solved.options.right_hand_side); },
        "ones, zeros, random:SEED or a file."},
       {"right_hand_side_count",
        {{"type", "integer"}, {"minimum", 1}, {"maximum", 16}},
        [](const auto& solved) { return solved.report.right_hand_side_count; },
        "Right-hand sides that are solved together.",
        Presence::always_now},
       {"first_guess", text_type(),
        [](const auto& solved) { return vector_text(solved.options.first_guess); }},
       {"relative_tolerance", seconds_type(),
        [](const auto& solved) { return solved.options.relative_tolerance; }, "Of right_hand_side_norm."},
       {"absolute_tolerance", seconds_type(),
        [](const auto& solved) { return solved.options.absolute_tolerance; }},
       {"most_iterations", positive_count_type(),
        [](const auto& solved) { return solved.options.most_iterations; }},
       {"preconditioner", name_type(), [](const auto& solved) { return solved.options.preconditioner; }},
       {"variant", name_type(), [](const auto& solved) { return solved.options.variant; }, "The form of CG."},
       {"cut",
        {{"type", "string"}, {"pattern", "^(nonzeros|even|random:[0-9]+)$"}},
        [](const auto& solved) { return cut_text(solved.options); }},
       {"symmetrize",
        {{"type", "number"}, {"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}},
        [](const auto& solved) { return value_or_null(solved.options.symmetrize_tolerance); },
        "Only with --symmetrize: the tolerance.",
        Presence::if_known}},
      "As asked for."};
  return record;
}

const Record<KernelTrial>& kernel_trial_record() {
  static const auto timed_kernel = timed_candidate_record<TimedCandidate>("kernel");
  static const auto skipped_kernel = skipped_candidate_record<SkippedCandidate>("kernel");
  static const Record<KernelTrial> record{
      {{"tried", list_type(schema_of(timed_kernel)),
        [](const auto& trial) { return json_of_all(timed_kernel, trial.tried); }},
       {"skipped", list_type(schema_of(skipped_kernel)),
        [](const auto& trial) { return json_of_all(skipped_kernel, trial.skipped); },
        "Kernels whose format would take too long to make.", Presence::always_now},
       verdict_figure<KernelTrial>(),
       {"duration_s", seconds_type(), &KernelTrial::duration_s,
        "In the runs of a study: of the first one on this grid and cut."},
       {"skipped_because", line_type(), &KernelTrial::skipped_because, "Empty with a trial."}},
      "With --kernel auto, unless a profile knows the kernel: the time of a CG step with each."};
  return record;
}

const Record<BlockBalance>& balance_record() {
  static const Record<BlockBalance> record{{{"largest", count_type(), &BlockBalance::largest},
                                            {"mean", seconds_type(), &BlockBalance::mean},
                                            {"imbalance", {{"type", "number"}}, &BlockBalance::imbalance}},
                                           "Nonzeros of the ranks' blocks; imbalance is largest / mean - 1."};
  return record;
}

const Record<SolvedSystem>& solve_setup_record() {
  static const Record<SolvedSystem> record{{
      matrix_figure("name", name_type(), [](const auto&, const auto& matrix) { return matrix.name; }),
      matrix_figure("n", positive_count_type(), [](const auto&, const auto& matrix) { return matrix.order; }),
      matrix_figure(
          "nonzero_count", count_type(), [](const auto&, const auto& matrix) { return matrix.nonzero_count; },
          "0 without an assembled matrix, as the times to read and to distribute."),
      matrix_figure(
          "read_s", seconds_type(), [](const auto&, const auto& matrix) { return matrix.read_s; },
          "From the first byte, or the first generated entry, to rows that are checked."),
      matrix_figure(
          "distribute_s", seconds_type(), [](const auto&, const auto& matrix) { return matrix.distribute_s; },
          "From the rows to blocks."),
      matrix_figure(
          "conversion_s", or_null(seconds_type()),
          [](const auto& solved, const auto& matrix) {
            return is_streamed(solved.report) ? Json(nullptr) : Json(matrix.conversion_s);
          },
          "From the blocks to kernels that are ready; without a matrix: to make the operator; null where "
          "the matrix is streamed: nothing was converted."),
      matrix_figure(
          "preconditioner_s", seconds_type(),
          [](const auto&, const auto& matrix) { return matrix.preconditioner_s; },
          "To make the preconditioner, from the blocks on."),
      {"ranks", list_type(numbered_schema_of("rank", rank_block_record(false)), 1),
       [](const auto& solved) {
         return numbered_json_of_all("rank", rank_block_record(is_streamed(solved.report)),
                                     solved.report.ranks);
       }},
      matrix_figure(
          "symmetrization", schema_of(symmetrization_record()),
          [](const auto&, const auto& matrix) {
            return matrix.symmetrization ? json_of(symmetrization_record(), *matrix.symmetrization)
                                         : Json(nullptr);
          },
          "Only with --symmetrize: the largest |a_ij - a_ji| / sqrt(|a_ii a_jj|) before each pair became its "
          "mean, and the first pair with it, from 1; no pair where both triangles were equal.",
          Presence::if_known),
      matrix_figure(
          "balance", defined("balance"),
          [](const auto& solved, const auto& matrix) {
            return solved.report.matrix_free ? Json(nullptr) : json_of(balance_record(), matrix.balance);
          },
          "Of an assembled matrix, as the next two.", Presence::if_known),
      other_balance("balance_of_even_pieces", true,
                    "With the cut by nonzeros: of the other cut; as the next one not with --out-of-core."),
      other_balance("balance_by_nonzeros", false, "With any other cut."),
  }};
  return record;
}

const Record<Solution>& solution_record() {
  static const Record<Solution> record{{
      {"end",
       word_type({"converged", "zero_right_hand_side", "step_limit", "stagnated", "not_positive_definite",
                  "not_finite", "stopped"}),
       [](const auto& solution) { return name_of(solution.result.end); }},
      {"iterations", count_type(), [](const auto& solution) { return solution.result.step_count; }},
      {"restarts", count_type(), [](const auto& solution) { return solution.result.replacement_count; },
       "Times that the recurrence began anew, since the residual computed anew missed the target."},
      {"classic_iterations", count_type(),
       [](const auto& solution) { return solution.result.classic_step_count; },
       "The last iterations, where the classic form went on in place of another that rounding had spoiled; "
       "else "
       "0."},
      norm_of_result("right_hand_side_norm", &SystemSolveResult::right_hand_side_norm),
      {"target_norm", norm_type(), [](const auto& solution) { return number_or_null(solution.target_norm); }},
      norm_of_result("first_residual_norm", &SystemSolveResult::first_residual_norm),
      {"recursive_residual_norm", norm_type(),
       [](const auto& solution) { return number_or_null(solution.recursive_residual_norm()); },
       "By the recurrence, at the end."},
      norm_of_result("residual_norm", &SystemSolveResult::true_residual_norm, "Of b - A x, computed anew."),
      {"preconditioner_remark", text_type(), &Solution::preconditioner_remark,
       "On how it was made; empty: as usual."},
      {"spectrum", or_null(schema_of(spectrum_record())),
       [](const auto& solution) {
         return solution.spectrum.step_count == 0 ? Json(nullptr) : json_of(spectrum_record(), solution);
       },
       "Extreme eigenvalues of the preconditioned matrix by the coefficients of CG; null without a step."},
      {"history", list_type(norm_type()), history_json,
       "Norm of the residual by the recurrence: before the first iteration, and after each."},
  }};
  return record;
}

/// The end of the worst one of several right-hand sides comes first, as that of a single one.
const Record<SolveReport>& solve_result_record() {
  static const auto record = [] {
    Record<SolveReport> made{
        figures_of_part<SolveReport>(
            solution_record(), [](const SolveReport& report) -> const Solution& { return *report.solution; }),
        "Of several right-hand sides the top has that with the worst end, the first of equals."};
    made.figures.push_back({"time_s", seconds_type(), [](const auto& report) { return report.repeat.time_s; },
                            "Of the solve alone."});
    made.figures.push_back({"right_hand_sides", list_type(defined("solution"), 2),
                            [](const auto& report) {
                              return report.solutions.empty()
                                         ? Json(nullptr)
                                         : json_of_all(solution_record(), report.solutions);
                            },
                            "Only with several: one of each, in their order.", Presence::if_known});
    return made;
  }();
  return record;
}

const Record<SolveReport>& solve_restart_record() {
  static const auto record = [] {
    Record<SolveReport> made{figures_of_part<SolveReport>(
        found_checkpoint_record(),
        [](const SolveReport& report) -> const FoundCheckpoint& { return report.restart->checkpoint; })};
    made.figures.push_back({"earlier_iterations", positive_count_type(),
                            [](const auto& report) { return report.restart->state.number; }});
    return made;
  }();
  return record;
}

}  // namespace cg2d
