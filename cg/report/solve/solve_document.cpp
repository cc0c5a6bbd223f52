// The result of a solve, converged or not, or why it could not start.

#include <optional>

#include "cg/base/build_info.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {
namespace {

void describe_symmetrization(Members& m, Symmetrization& symmetrization) {
  // From 1, as in the file; without the pair where both triangles were equal.
  const auto index = [&](std::string_view name, std::int64_t& number) {
    auto known =
        m.writes() && symmetrization.largest_difference == 0.0 ? std::nullopt : std::optional(number + 1);
    m(name, known, at_least(1));
    number = known.value_or(1) - 1;
  };
  m("largest_difference", symmetrization.largest_difference, at_least(0));
  index("row", symmetrization.row);
  index("column", symmetrization.column);
}

void describe_balance(Members& m, BlockBalance& balance) {
  m("largest", balance.largest, at_least(0));
  m("mean", balance.mean, at_least(0));
  m.derived("imbalance", balance.imbalance(), meaning("largest / mean - 1"));
}

void describe_system(Members& m, SolveDocument& document) {
  auto& options = document.options;
  auto matrix = options.matrix_text();
  bool is_assembled = !options.is_matrix_free();
  auto right_hand_side = options.right_hand_side.text;
  auto initial_guess = options.initial_guess.text;
  m("matrix", matrix, meaning("A file, or the text of an operator."));
  m("is_assembled", is_assembled);
  m("right_hand_side", right_hand_side, meaning("ones, zeros, random:SEED or a file."));
  m("initial_guess", initial_guess);
  if (m.reads()) {
    (is_assembled ? options.matrix_path : options.operator_text) = matrix;
    options.right_hand_side = vector_option_from("--rhs", right_hand_side);
    options.initial_guess = vector_option_from("--x0", initial_guess);
  }
  m("relative_tolerance", options.relative_tolerance, at_least(0, "Of right_hand_side_norm."));
  m("absolute_tolerance", options.absolute_tolerance, at_least(0));
  m("most_iterations", options.most_iterations, at_least(1));
  m("preconditioner", options.preconditioner, not_empty());
  m("variant", options.variant, {.meaning = "The form of CG.", .label = "Form of CG", .fewest = 1});
  m("symmetrize", options.symmetrize_tolerance, positive("Only with --symmetrize: the tolerance."));
  m.if_given("mirrored", options.mirrors, options.mirrors, meaning("Only with --mirror."));
  m("right_hand_side_count", document.report.right_hand_side_count,
    at_least(1, "Right-hand sides that are solved together."));
}

void describe_setup(Members& m, SolveReport& report) {
  if (!report.matrix) report.matrix.emplace();
  auto& matrix = *report.matrix;
  const bool cuts_by_nonzeros = report.configuration.cut == nonzeros_cut;
  m("name", matrix.name, not_empty());
  m("n", matrix.order, at_least(1));
  m("nonzero_count", matrix.nonzero_count,
    at_least(0, "0 without an assembled matrix, as the times to read and to distribute."));
  m("read_s", matrix.read_s,
    metric("Reading", "s", "From the first byte, or the first generated entry, to rows that are checked."));
  m("distribute_s", matrix.distribute_s, metric("Distribution", "s", "From the rows to blocks."));
  m("preconditioner_s", matrix.preconditioner_s,
    metric("Precond. set-up", "s", "To make the preconditioner, from the blocks on."));
  m.object_if(
      matrix.symmetrization, "symmetrization",
      meaning("Only with --symmetrize: the largest |a_ij - a_ji| / sqrt(|a_ii a_jj|) before each pair became "
              "its mean, and the first pair with it, from 1; no pair where both triangles were equal."),
      [&](auto& symmetrization) { describe_symmetrization(m, symmetrization); });
  report.is_streamed = !m.if_given(
      "conversion_s", matrix.conversion_s, !report.is_streamed,
      or_null(metric("Conversion", "s",
                     "From the blocks to kernels that are ready; without a matrix: to make the operator; "
                     "null where the matrix is streamed: nothing was converted.")));
  m.list("ranks", report.ranks, {.fewest = 1}, [&](RankResult& block, std::size_t rank) {
    m.derived("rank", rank, at_least(0));
    describe_block(m, report, block);
  });
  bool has_balance = !report.matrix_free;
  m.object_if(has_balance, "balance",
              meaning("Nonzeros of the ranks' blocks of an assembled matrix, as the next two."),
              [&] { describe_balance(m, matrix.balance); });
  const auto other = [&](std::string_view name, bool is_asked, std::string_view text) {
    bool is_there = is_asked && has_balance && matrix.other_balance;
    m.object_if(is_there, name, meaning(text), [&] {
      if (!matrix.other_balance) matrix.other_balance.emplace();
      describe_balance(m, *matrix.other_balance);
    });
  };
  other("balance_of_even_pieces", cuts_by_nonzeros,
        "With the cut by nonzeros: of the other cut; as the next one not with --out-of-core.");
  other("balance_by_nonzeros", !cuts_by_nonzeros, "With any other cut.");
}

void describe_spectrum(Members& m, Solution& solution) {
  m("smallest", solution.spectrum.smallest);
  m("largest", solution.spectrum.largest);
  m.derived("condition_number", solution.spectrum.condition_number(), meaning("At least."));
  m("predicted_iterations", solution.predicted_steps,
    meaning("At most, to the tolerance, if the condition number is no larger: by the bound on the error of "
            "CG."));
}

void describe_solution(Members& m, Solution& solution) {
  auto& result = solution.result;
  bool has_spectrum = solution.spectrum.step_count > 0;
  m("end", result.end);
  m("iterations", result.step_count, at_least(0));
  m("restarts", result.replacement_count,
    at_least(0, "Times that the recurrence began anew, since the residual computed anew missed the target."));
  m("classic_iterations", result.classic_step_count,
    at_least(0,
             "The last iterations, where the classic form went on in place of another that rounding had "
             "spoiled; else 0."));
  m("right_hand_side_norm", result.right_hand_side_norm);
  m("target_norm", solution.target_norm);
  m("first_residual_norm", result.first_residual_norm);
  m.derived("recursive_residual_norm", solution.recursive_residual_norm(),
            meaning("By the recurrence, at the end."));
  m("residual_norm", result.true_residual_norm, meaning("Of b - A x, computed anew."));
  m("solution_iteration", result.solution_step,
    at_least(0,
             "The iteration whose x this is: the last, or of a solve that failed the best that was kept; "
             "0: the initial guess."));
  m("last_residual_norm", result.last_residual_norm,
    meaning("Of b - A x for the x of the last iteration, computed anew."));
  m("preconditioner_remark", solution.preconditioner_remark, meaning("On how it was made; empty: as usual."));
  m.object_if(
      has_spectrum, "spectrum",
      or_null("Extreme eigenvalues of the preconditioned matrix by the coefficients of CG; null without a "
              "step."),
      [&] { describe_spectrum(m, solution); });
  m("history", solution.history,
    meaning("Norm of the residual by the recurrence: before the first iteration, and after each."));
  if (m.reads()) solution.spectrum.step_count = has_spectrum ? result.step_count : 0;
}

void describe_result(Members& m, SolveReport& report, Solution& worst) {
  describe_solution(m, worst);
  m("time_s", report.repeat.time_s, at_least(0, "Of the solve alone."));
  m.list_if_any("right_hand_sides", report.solutions,
                {.meaning = "Only with several: one of each, in their order.", .fewest = 2},
                [&](Solution& solution, std::size_t /*index*/) { describe_solution(m, solution); });
}

void describe_restart(Members& m, SolveReport& report) {
  m.object_if(report.restart, "restart",
              meaning("Only of a solve that went on from a checkpoint: its time and phases are those of the "
                      "iterations since."),
              [&](auto& restart) {
                describe(m, restart.checkpoint);
                m("earlier_iterations", restart.state.number, at_least(1));
              });
}

}  // namespace

void describe(Members& m, SolveDocument& document) {
  auto& report = document.report;
  bool is_resolved = report.is_resolved;
  bool is_set_up = !report.ranks.empty();
  const bool has_region = m.writes() && report.solution && timed_step_count(report) > 0;
  describe_head(m, document.program_version);
  describe_end(m, report);
  m.object("system", meaning("As asked for."), [&] { describe_system(m, document); });
  describe_origin(m, report);
  m.object_if(is_resolved, "configuration", or_null(), [&] {
    auto arrangement = report.matrix_free ? std::optional(report.matrix_free->arrangement) : std::nullopt;
    describe_configuration(m, report);
    m("kernel_trial", report.kernel_trial,
      meaning("With --kernel auto, unless a profile knows the kernel: the time of a CG step with each."));
    m("matrix_free_arrangement", arrangement,
      meaning("Only without an assembled matrix: how the ranks share the operator."));
    if (m.reads() && arrangement) report.matrix_free = MatrixFreeResult{.arrangement = *arrangement};
  });
  m.object_if(is_set_up, "setup", or_null(), [&] { describe_setup(m, report); });
  m.object_if(
      report.solution, "result",
      or_null("Of several right-hand sides the top has that with the worst end, the first of equals."),
      [&](Solution& worst) { describe_result(m, report, worst); });
  describe_region(m, report, report.repeat, document.region,
                  has_region ? std::optional(phases_of(report)) : std::nullopt);
  describe_restart(m, report);
  describe_features(m, report, WorkKind::solve);
  describe_disturbance(m, report.quiet);
  m("sweep", document.sweep);
  if (!m.reads()) return;
  report.is_resolved = is_resolved;
  if (report.matrix_free) report.matrix_free->phases = document.region.phases;
  if (document.sweep) document.sweep->asked.problem = system_name(document.options);
}

SolveDocument solve_document(const SystemOptions& options, const SolveReport& report) {
  SolveDocument document{
      .options = options, .report = report, .program_version = std::string(build_info::version)};
  if (report.solution && timed_step_count(report) > 0) document.region = findings_of(phases_of(report));
  return document;
}

const std::vector<ShownFigure>& solve_figures() {
  static const auto figures = shown_figures(schema_of<SolveDocument>());
  return figures;
}

}  // namespace cg2d
