// The results of runs and of solves, whole.

#include "cg/base/describe_json.hpp"
#include "cg/report/report.hpp"
#include "cg/run/feature.hpp"
#include "cg/solver/matrix_cut.hpp"

namespace cg2d {

void describe(Members& m, Prediction& prediction) {
  m("machine", prediction.machine, not_empty());
  m.derived("total_s", prediction.total_s(), labelled("Prediction", "s", positive()));
  m.object("phases", [&] {
    for (const auto phase : benchmark_phases)
      m(phase_name(phase), prediction.phases[index_of(phase)], at_least(0));
  });
}

void describe(Members& m, Symmetrization& symmetrization) {
  // From 1, as in the file; without the pair where both triangles were equal.
  const auto index = [&](std::string_view name, int64_t& number) {
    auto from_one = number + 1;
    m.if_given(name, from_one, symmetrization.largest_difference != 0.0, at_least(1));
    number = from_one - 1;
  };
  m("largest_difference", symmetrization.largest_difference, at_least(0));
  index("row", symmetrization.row);
  index("column", symmetrization.column);
}

void describe(Members& m, BlockBalance& balance) {
  m("largest", balance.largest, at_least(0));
  m("mean", balance.mean, at_least(0));
  m.derived("imbalance", balance.imbalance(), meaning("largest / mean - 1"));
}

void describe(Members& m, BindingResult& binding) {
  m("is_bound", binding.is_bound);
  m("why_not", binding.why_not, meaning("Empty where bound."));
}

void describe_head(Members& m, std::string* program_version) {
  std::string own(build_info::version);
  m.constant("schema_version", result_schema_version);
  m.object("program", [&] {
    m.constant("name", std::string("cg2d"));
    m("version", program_version != nullptr ? *program_version : own, labelled("cg2d", {}, not_empty()));
  });
}

void describe_grid(Members& m, comm::ProcessGrid& grid) {
  m.derived("name", grid.name(), meaning("PXxPY"));
  describe_columns(m, grid);
}

void describe_axes(Members& m, Configuration& configuration, bool all) {
  for (const auto& axis : configuration_axes()) {
    if (!all && !axis.is_crossed) continue;
    // As JSON has it: a number, a flag or a text.
    auto text = axis.print(configuration);
    const Note note{.meaning = axis.help, .label = all ? axis.name : "", .column = axis.name};
    if (axis.is_flag()) {
      bool is_on = text == "on";
      m(axis.name, is_on, note);
      text = is_on ? "on" : "off";
    } else if (axis.is_number()) {
      int number = *number_from<int>(text);
      m(axis.name, number, note);
      text = std::to_string(number);
    } else {
      m(axis.name, text, note);
    }
    if (!m.reads()) continue;
    try {
      axis.parse_recorded(configuration, text);
    } catch (const InputError& error) {
      m.complain(error.what());
    }
  }
}

namespace {

// Parts of runs and solves.

/// Status, reason, exit code and warnings.
void describe_end(Members& m, SessionReport& report) {
  m("status", report.code, in_column("status"));
  m("reason", report.reason, meaning("One line, as on stderr; empty on success."));
  auto code = static_cast<int>(report.code);
  m("exit_code", code, at_least(0));
  m("warnings", report.warnings);
  if (code != static_cast<int>(report.code))
    m.complain(fmt::format("its exit_code is {}, and its status {}", code, status_name(report.code)));
}

/// Null where the work ended before they were known.
void describe_origin(Members& m, SessionReport& report) {
  m("provenance", report.provenance, or_null("null where it is not known, or the work ended before."));
  m.object_if(report.environment, "environment", or_null(), [&](Environment& environment) {
    auto threads = report.binding ? report.binding->ranks : std::vector<std::vector<std::string>>();
    describe(m, environment, &threads);
    m.one_of("waiting", report.wait_mode, wait_mode_table(),
             labelled("Waiting", {}, "What a waiting rank does between two polls; block: it does not poll."));
    m("thread_binding", report.binding,
      or_null(labelled("Binding", {},
                       "Of each thread to a core, its own or one that ranks share; null: not tried.")));
    if (m.reads() && report.binding) report.binding->ranks = std::move(threads);
  });
}

void describe_configuration(Members& m, SessionReport& report) {
  auto& configuration = report.configuration;
  m.derived("ranks", configuration.grid.rank_count(), in_column("ranks", at_least(1)));
  m.object("grid", [&] {
    describe_grid(m, configuration.grid);
    m("automatic", report.grid_is_automatic, labelled("Grid chosen", {}, "Whether the program chose it."));
    m("trial", report.grid_trial, meaning("With --grid auto: the grids tried, the most promising first."));
  });
  describe_axes(m, configuration);
  m("symmetric_storage", report.is_symmetric,
    labelled("Symmetric", {}, "One of each mirrored pair is kept."));
  m("instruction_set", report.instruction_set,
    labelled("instruction set", {},
             in_column("instruction_set", meaning("Of the kernel; empty without an assembled matrix."))));
  m("transport_by", report.transport_origin, labelled("Transport by", {}, "By rule: shared on one node."));
  m("transport_trial", report.transport_trial, meaning("With auto: the one taken first, then by time."));
  m("speed_trial", report.speed_trial, meaning("With --cut speed: what was measured, and what follows."));
}

/// The block of a rank, and its memory.
void describe_block(Members& m, const SessionReport& report, RankResult& rank) {
  m("nonzeros", rank.nonzero_count, at_least(0, "Of the whole block, whatever the kernel stores of it."));
  m.if_given("csr_bytes", rank.csr_bytes, !report.is_streamed,
             or_null(labelled("CSR", "B", "The whole block, as made; null where streamed.")));
  m("block_bytes", rank.block_bytes, labelled("Block", "B", "In the format of the kernel."));
  m("peak_bytes", rank.peak_bytes, metric("Peak memory", "B", "Largest resident memory of the process."));
}

// Of a run.

void describe_tuning(Members& m, RunReport& report) {
  auto& kernel = report.kernel_choice;
  auto& profile = report.profile;
  auto path = profile.processor.knows_kernels() ? std::optional(profile.path) : std::nullopt;
  m("kernel_by", kernel.kernel_origin);
  m("settings_by", kernel.tuning_origin, meaning("Settings from the command line override it in any case."));
  m("critical_vector_length", kernel.tuning.critical_vector_length, or_null(labelled("Critical length")));
  m("prefetch_distance", kernel.tuning.prefetch_distance, or_null(labelled("Prefetch")));
  m("block_width", kernel.tuning.block_width, or_null(labelled("Block width", {}, at_least(1))));
  m("profile", path, or_null(labelled("Profile", {}, "The file that knows this processor.")));
  m("no_profile_because", profile.absence, labelled("No profile", {}, "Empty with a profile."));
  if (!m.reads() || !path) return;
  profile.path = *path;
  profile.processor.critical_vector_length.emplace();
}

void describe_setup(Members& m, RunReport& report) {
  m("generation_s", report.generation_s, metric("Generation", "s", "On the slowest rank."));
  m("converted", report.converted, labelled("Converted", {}, "Whether the kernel stores another format."));
  report.is_streamed = !m.if_given(
      "conversion_s", report.conversion_s, !report.is_streamed,
      or_null(metric("Conversion time", "s",
                     "On the slowest rank, from the CSR on; null where the matrix is streamed.")));
  m.derived("row_lengths", labelled("Row lengths", {}, "Of all ranks' blocks."),
            [&] { return all_row_lengths(report); });
  m.list("ranks", report.ranks, {.fewest = 1}, [&](RankResult& block, size_t rank) {
    m.derived("rank", rank, at_least(0));
    describe_block(m, report, block);
    m("row_lengths", block.row_lengths, meaning("Of the whole block, as it was made; zeros without rows."));
    m("resident_bytes", block.resident_bytes, labelled("Resident", "B", "At the end; 0: not known."));
    m("huge_page_bytes", block.huge_page_bytes, labelled("In huge pages", "B", "Of these, in huge pages."));
  });
}

void describe_repeats(Members& m, RunReport& report) {
  const auto times = m.writes() ? repeat_times(report) : Sample{};
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  m.derived("count", times.count, at_least(1));
  m.derived("minimum_s", times.minimum, positive());
  m.derived("maximum_s", times.maximum, positive());
  m.derived("lower_quartile_s", times.lower_quartile,
            positive("The least time that a quarter do not exceed; upper: three quarters."));
  m.derived("upper_quartile_s", times.upper_quartile, positive());
  m.derived("spread", times.spread(),
            or_null(at_least(0, "(maximum - minimum) / time_s; null for one time.")));
  m("times_s", times_s, {.least = 0.0, .fewest = 1});
  report.repeats.resize(times_s.size());
  for (size_t k = 0; k < times_s.size(); ++k) report.repeats[k].time_s = times_s[k];
}

/// repeat: the one that is written, with a step.
void describe_result(Members& m, RunReport& report, const RepeatReport& repeat) {
  const double mops = mops_of(report, repeat);
  const auto error = relative_error(report, repeat);
  const auto is_right = error ? std::optional(report.code == ExitCode::success) : std::nullopt;
  m.derived("zeta", repeat.steps.back().zeta, in_column("zeta"));
  m.derived("rnorm", repeat.steps.back().residual_norm, in_column("rnorm"));
  m.derived("verified", is_right, or_null("null: no reference, or not all repetitions finished."));
  m.derived("relative_error", error, or_null(at_least(0)));
  m.derived("time_s", repeat.time_s,
            labelled("Seconds", "s",
                     in_column("time_s", positive("Of the median repetition (of an even number the lower of "
                                                  "the middle two), as phases and outer_steps."))));
  m.derived("mops_total", mops, in_column("mops_total", positive("By the official operation count.")));
  m.derived("mops_per_process", mops / report.configuration.grid.rank_count(), positive());
  m.derived(
      "true_mflops", true_flop_count(timed_part(report), report.nonzero_count) / repeat.time_s / 1e6,
      labelled("True Mflop/s", {}, in_column("true_mflops", positive("By the true number of nonzeros."))));
  m.object("repeats", labelled("Repetitions"), [&] { describe_repeats(m, report); });
}

/// The steps of the repetition reported, or of the one that did not end.
std::vector<OuterStep>& own_steps(RunReport& report) {
  return report.repeats.empty() ? report.unfinished : median_repeat(report).steps;
}

/// Those of an earlier run that was saved come first.
void describe_outer_steps(Members& m, RunReport& report) {
  auto steps = report.restart ? report.restart->earlier_steps : std::vector<OuterStep>();
  if (own_steps(report).empty()) steps.clear();
  steps.insert(steps.end(), own_steps(report).begin(), own_steps(report).end());
  m.list("outer_steps", steps,
         meaning("Of the repetition of result, or of the one that did not end; after a restart all."),
         [&](OuterStep& step, size_t index) {
           m.derived("step", index + 1, at_least(1));
           m("zeta", step.zeta);
           m("rnorm", step.residual_norm);
         });
  if (m.reads()) own_steps(report) = std::move(steps);
}

void describe_restart(Members& m, RunReport& report) {
  m.object_if(report.restart, "restart",
              meaning("Only after a restart: times, rates and phases are of its own outer iterations."),
              [&](RestartFacts& restart) {
                describe(m, restart.checkpoint);
                auto earlier = restart.step_count();
                m("earlier_outer_iterations", earlier,
                  in_column("restarted_after", at_least(1, "Done before.")));
                m.derived("timed_outer_iterations", report.problem.niter - restart.step_count(),
                          at_least(1, "Those of the time and rates."));
                if (m.reads()) restart.earlier_steps.resize(static_cast<size_t>(earlier));
              });
}

// Of a solve.

void describe_system(Members& m, SolveDocument& document) {
  auto& options = document.options;
  auto matrix = options.matrix_text();
  bool is_assembled = !options.is_matrix_free();
  auto right_hand_side = options.right_hand_side.text;
  auto initial_guess = options.initial_guess.text;
  m("matrix", matrix, meaning("A file, or the text of an operator."));
  m("is_assembled", is_assembled);
  m("right_hand_side", right_hand_side, labelled("Right-hand side", {}, "As --rhs has it."));
  m("initial_guess", initial_guess);
  if (m.reads()) {
    (is_assembled ? options.matrix_path : options.operator_text) = matrix;
    options.right_hand_side = vector_option_from("--rhs", right_hand_side);
    options.initial_guess = vector_option_from("--x0", initial_guess);
  }
  m("relative_tolerance", options.relative_tolerance, at_least(0, "Of right_hand_side_norm."));
  m("absolute_tolerance", options.absolute_tolerance, at_least(0));
  m("most_iterations", options.most_iterations, at_least(1));
  m("preconditioner", options.preconditioner, labelled("Preconditioner", {}, not_empty()));
  m("variant", options.variant, labelled("Form of CG", {}, not_empty("The form of CG.")));
  m("symmetrize", options.symmetrize_tolerance, at_least(0, "Only with --symmetrize: the tolerance."));
  m.if_given("mirrored", options.mirrors, options.mirrors, meaning("Only with --mirror."));
  m("right_hand_side_count", document.report.right_hand_side_count, at_least(1, "Solved together."));
}

void describe_setup(Members& m, SolveReport& report) {
  if (!report.matrix) report.matrix.emplace();
  auto& matrix = *report.matrix;
  const bool cuts_by_nonzeros = report.configuration.cut == nonzeros_cut;
  m("name", matrix.name, labelled("Matrix", {}, not_empty()));
  m("n", matrix.order, labelled("Order", {}, at_least(1)));
  m("nonzero_count", matrix.nonzero_count, labelled("Nonzeros", {}, "0 without a matrix, as the next two."));
  m("read_s", matrix.read_s, metric("Reading", "s", "From the first byte or entry to checked rows."));
  m("distribute_s", matrix.distribute_s, metric("Distribution", "s", "From the rows to blocks."));
  m("preconditioner_s", matrix.preconditioner_s, metric("Precond. set-up", "s", "From the blocks on."));
  m("symmetrization", matrix.symmetrization,
    meaning("Only with --symmetrize: largest |a_ij - a_ji| / sqrt(|a_ii a_jj|), and its first pair from 1; "
            "no pair if equal."));
  report.is_streamed =
      !m.if_given("conversion_s", matrix.conversion_s, !report.is_streamed,
                  or_null(metric("Conversion", "s",
                                 "From the blocks on, or to make the operator; null where it is streamed.")));
  m.list("ranks", report.ranks, {.fewest = 1}, [&](RankResult& block, size_t rank) {
    m.derived("rank", rank, at_least(0));
    describe_block(m, report, block);
  });
  m.if_given("balance", matrix.balance, !report.matrix_free,
             labelled("Balance", {}, "Nonzeros of the ranks' blocks, as the next two."));
  const auto other = [&](std::string_view name, bool is_asked, std::string_view text) {
    auto balance = is_asked && !report.matrix_free ? matrix.other_balance : std::nullopt;
    m(name, balance, labelled("Other cut", {}, text));
    if (m.reads() && balance) matrix.other_balance = balance;
  };
  other("balance_of_even_pieces", cuts_by_nonzeros, "With the cut by nonzeros; not with --out-of-core.");
  other("balance_by_nonzeros", !cuts_by_nonzeros, "With any other cut; not with --out-of-core.");
}

/// label: of the spectrum in the text.
void describe_solution(Members& m, Solution& solution, std::string_view label = {}) {
  auto& result = solution.result;
  bool has_spectrum = solution.spectrum.step_count > 0;
  m("end", result.end);
  m("iterations", result.step_count, at_least(0));
  m("restarts", result.replacement_count, at_least(0, "Times that the recurrence began anew."));
  m("classic_iterations", result.classic_step_count,
    at_least(0, "The last ones, in place of another form; else 0."));
  m("right_hand_side_norm", result.right_hand_side_norm);
  m("target_norm", solution.target_norm);
  m("first_residual_norm", result.first_residual_norm);
  m("recursive_residual_norm", result.residual_norm, meaning("By the recurrence."));
  m("residual_norm", result.true_residual_norm, meaning("Of b - A x, computed anew."));
  m("solution_iteration", result.solution_step,
    at_least(0, "Of this x: the last, or the best kept; 0: the initial guess."));
  m("last_residual_norm", result.last_residual_norm, meaning("Of b - A x for the last x, computed anew."));
  m("preconditioner_remark", solution.preconditioner_remark, meaning("On how it was made; empty: as usual."));
  m.object_if(
      has_spectrum, "spectrum",
      or_null(labelled(label, {}, "Extreme eigenvalues of the preconditioned matrix; null without a step.")),
      [&] {
        m("smallest", solution.spectrum.smallest);
        m("largest", solution.spectrum.largest);
        m.derived("condition_number", solution.spectrum.condition_number(), meaning("At least."));
        m("predicted_iterations", solution.predicted_steps,
          meaning("At most, to the tolerance, if the condition number is no larger."));
      });
  m("history", solution.history, meaning("Residual norms by the recurrence, from before the first step on."));
  if (m.reads()) solution.spectrum.step_count = has_spectrum ? result.step_count : 0;
}

void describe_result(Members& m, SolveReport& report, Solution& worst) {
  describe_solution(m, worst, "Spectrum");
  m("time_s", report.repeat.time_s, labelled("Seconds", "s", "Of the solve alone."));
  m.list_if_any("right_hand_sides", report.solutions,
                {.meaning = "Only with several: one of each, in their order.", .fewest = 2},
                [&](Solution& solution, size_t /*index*/) { describe_solution(m, solution); });
}

void describe_restart(Members& m, SolveReport& report) {
  m.object_if(report.restart, "restart",
              meaning("Only after a restart: time and phases are of the iterations since."),
              [&](auto& restart) {
                describe(m, restart.checkpoint);
                m("earlier_iterations", restart.state.number, at_least(1));
              });
}

}  // namespace

void describe_problem(Members& m, Problem& problem) {
  m("class", problem.class_name, in_column("class", not_empty("U: none of the benchmark's.")));
  m("n", problem.n, in_column("n", at_least(1)));
  m("nonzer", problem.nonzer, in_column("nonzer", at_least(1)));
  m("niter", problem.niter, in_column("niter", at_least(1)));
  m("shift", problem.shift, in_column("shift"));
}

void describe(Members& m, Problem& problem) {
  describe_problem(m, problem);
  m.constant("rcond", Problem::rcond);
  m("reference_zeta", problem.reference_zeta, or_null());
}

void describe(Members& m, RunDocument& document) {
  auto& report = document.report;
  auto& has_result = document.has_result;
  describe_head(m, &document.program_version);
  describe_end(m, report);
  m.object("problem", labelled("Problem"), [&] {
    describe(m, report.problem);
    // The generator knows the rest: there is none where the matrix was not generated.
    const bool is_generated = report.nonzero_count > 0;
    const auto generated = [&](std::string_view name, auto& value, const Note& note) {
      m.if_given(name, value, is_generated, note);
    };
    auto& facts = report.source_facts;
    generated("nonzero_count", report.nonzero_count, in_column("nonzero_count", at_least(1)));
    generated("final_seed", facts.final_seed, at_least(1));
    generated("draw_pairs_rejected_as_duplicate", facts.duplicate_pairs, at_least(0));
    generated("draw_pairs_rejected_as_out_of_range", facts.out_of_range_pairs, at_least(0));
  });
  describe_origin(m, report);
  m.object_if(report.is_resolved, "configuration", or_null(), [&] {
    describe_configuration(m, report);
    m.object("tuning", meaning("Settings of the kernel; null: it has none."),
             [&] { describe_tuning(m, report); });
  });
  m.object_if(!report.ranks.empty(), "setup", or_null(), [&] { describe_setup(m, report); });
  RepeatReport none;
  none.steps.emplace_back();
  const auto reported = [&]() -> RepeatReport& {
    return report.repeats.empty() ? none : median_repeat(report);
  };
  m.object_if(has_result, "result", or_null("Of the repetition with the median time."),
              [&] { describe_result(m, report, reported()); });
  m.object_if(
      bool{has_result}, "quiet",
      or_null("Of the machine in the timed regions; null without a result, and where it is not known."), [&] {
        const auto reason = disturbance(report);
        m.derived("disturbed", !reason.empty(), meaning("Whether one of the repetitions was."));
        m.derived("reason", reason, meaning("Empty where quiet."));
        m.list("repeats", report.repeats,
               {.meaning = "Of each of result.repeats.times_s; shares of its time, of the worst rank, "
                           "processor or node; null: not known.",
                .fewest = 1},
               [&](RepeatReport& repeat, size_t /*index*/) { describe(m, repeat.quiet); });
      });
  describe_outer_steps(m, report);
  DescribedRegion region{report, reported(), document.roofline, phases_of(report, reported())};
  describe_region(m, region);
  describe_restart(m, report);
  describe_features(m, report.features, WorkKind::outer_iterations);
  if (m.writes() && !has_result) report.prediction.reset();
  m("prediction", report.prediction,
    meaning("Only with a result, on a machine that cg2d model --calibrate has described: seconds of the "
            "timed region."));
  m("sweep", document.sweep);
  if (!m.reads()) return;
  report.phases_timed = !reported().ranks.empty();
  if (report.restart) {
    auto& own = own_steps(report);
    auto& earlier = report.restart->earlier_steps;
    const auto count = std::min(std::ssize(earlier), std::ssize(own));
    std::move(own.begin(), own.begin() + count, earlier.begin());
    own.erase(own.begin(), own.begin() + count);
  }
  if (document.sweep) document.sweep->asked.problem = problem_name(report.problem);
}

const std::vector<ShownFigure>& run_figures() {
  static const auto figures = shown_figures(schema_of<RunDocument>());
  return figures;
}

void describe(Members& m, SolveDocument& document) {
  auto& report = document.report;
  describe_head(m, &document.program_version);
  describe_end(m, report);
  m.object("system", meaning("As asked for."), [&] { describe_system(m, document); });
  describe_origin(m, report);
  m.object_if(report.is_resolved, "configuration", or_null(), [&] {
    auto arrangement = report.matrix_free ? std::optional(report.matrix_free->arrangement) : std::nullopt;
    describe_configuration(m, report);
    m("kernel_trial", report.kernel_trial, meaning("With --kernel auto, unless a profile knows it."));
    m("matrix_free_arrangement", arrangement,
      labelled("Arrangement", {}, "Only without a matrix: how the ranks share the operator."));
    if (m.reads() && arrangement) report.matrix_free = MatrixFreeResult{.arrangement = *arrangement};
  });
  m.object_if(!report.ranks.empty(), "setup", or_null(), [&] { describe_setup(m, report); });
  m.object_if(
      report.solution, "result",
      or_null("Of several right-hand sides the top has that with the worst end, the first of equals."),
      [&](Solution& worst) { describe_result(m, report, worst); });
  DescribedRegion region{report, report.repeat, document.roofline, phases_of(report)};
  describe_region(m, region);
  describe_restart(m, report);
  describe_features(m, report.features, WorkKind::solve);
  describe_disturbance(m, report.quiet);
  m("sweep", document.sweep);
  if (!m.reads()) return;
  if (report.matrix_free) report.matrix_free->phases = region.phases;
  if (document.sweep) document.sweep->asked.problem = system_name(document.options);
}

const std::vector<ShownFigure>& solve_figures() {
  static const auto figures = shown_figures(schema_of<SolveDocument>());
  return figures;
}

void describe(Members& m, SweptRun& run) {
  const bool is_of_benchmark = run.asked.form.empty();
  m.derived("key", run.asked.key(), not_empty("The unique text of the configuration."));
  m("round", run.round, at_least(1));
  m("attempt", run.attempt, at_least(1, "In the round; the last attempt counts."));
  m("rounds", run.round_count, at_least(1, "As many as were asked for."));
  m("duration_s", run.duration_s, at_least(0, "The whole run, with its set-up."));
  m("session", run.session, meaning("The file's study, with resumptions; runs of others are not compared."));
  m("sitting", run.sitting,
    at_least(1, "The call, by number, that made the run; runs of one round and sitting were made in turns."));
  m.object(
      "configuration", meaning("As asked for; the run's own configuration has the values that were chosen."),
      [&] {
        auto& grid = run.asked.configuration.grid;
        m.if_given("form", run.asked.form, !is_of_benchmark,
                   meaning("Of a system: matrix, domain PXxPYxPZ or factors."));
        m.if_given("class", run.problem_class, is_of_benchmark,
                   meaning("Of the benchmark; with U, problem has the numbers."));
        m("columns", grid.columns, at_least(1));
        m("rows", grid.rows, at_least(1));
        describe_axes(m, run.asked.configuration, false);
        auto& per_node = run.asked.configuration.ranks_per_node;
        m.if_given("ranks_per_node", per_node, per_node > 0, at_least(1, "Only where nodes are pretended."));
        m.if_given(
            "arrangement_open", run.is_arrangement_open, run.is_arrangement_open,
            meaning("Only of a scaling: columns and rows, or the domain, were not asked for, but chosen."));
      });
  m.if_given("purpose", run.purpose, run.purpose != RunPurpose::time,
             meaning("Only of runs made after all timed ones, and not compared with them."));
}

}  // namespace cg2d
