// The result of a run.

#include <cmath>
#include <optional>

#include "cg/base/build_info.hpp"
#include "cg/base/describe_json.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_document.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/feature.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

/// There is something to verify: a reference, and all repetitions.
bool is_judged(const RunReport& report) { return report.problem.reference_zeta && report.unfinished.empty(); }

std::optional<double> relative_error(const RunReport& report, const RepeatReport& repeat) {
  if (!is_judged(report)) return std::nullopt;
  const double reference = *report.problem.reference_zeta;
  return std::abs(repeat.steps.back().zeta - reference) / std::abs(reference);
}

/// Members that the generator knows; none where the matrix was not generated.
void describe_generated(Members& m, RunReport& report) {
  const bool is_generated = report.nonzero_count > 0;
  const auto generated = [&](std::string_view name, auto& value, const Note& note) {
    m.if_given(name, value, is_generated, note);
  };
  auto& facts = report.source_facts;
  generated("nonzero_count", report.nonzero_count, in_column("nonzero_count", at_least(1)));
  generated("final_seed", facts.final_seed, at_least(1));
  generated("draw_pairs_rejected_as_duplicate", facts.duplicate_pairs, at_least(0));
  generated("draw_pairs_rejected_as_out_of_range", facts.out_of_range_pairs, at_least(0));
}

void describe_tuning(Members& m, RunReport& report) {
  auto& kernel = report.kernel_choice;
  auto& profile = report.profile;
  auto path = profile.processor.knows_kernels() ? std::optional(profile.path) : std::nullopt;
  m("kernel_by", kernel.kernel_origin);
  m("settings_by", kernel.tuning_origin, meaning("Settings from the command line override it in any case."));
  m("critical_vector_length", kernel.tuning.critical_vector_length, or_null(at_least(0)));
  m("prefetch_distance", kernel.tuning.prefetch_distance, or_null(at_least(0)));
  m("block_width", kernel.tuning.block_width, or_null(at_least(1)));
  m("profile", path, or_null("The file that knows this processor."));
  m("no_profile_because", profile.absence, meaning("Empty with a profile."));
  if (!m.reads() || !path) return;
  profile.path = *path;
  profile.processor.critical_vector_length.emplace();
}

void describe_setup(Members& m, RunReport& report) {
  m("generation_s", report.generation_s, metric("Generation", "s"));
  m("converted", report.converted, meaning("Whether the kernel stores something else than the CSR."));
  report.is_streamed = !m.if_given(
      "conversion_s", report.conversion_s, !report.is_streamed,
      or_null(metric("Conversion time", "s",
                     "From the CSR to a kernel that is ready, on the slowest rank; null where the matrix is "
                     "streamed: nothing was converted.")));
  m.derived("row_lengths", meaning("Of all ranks' blocks."), [&] { return all_row_lengths(report); });
  m.list("ranks", report.ranks, {.fewest = 1}, [&](RankResult& block, std::size_t rank) {
    m.derived("rank", rank, at_least(0));
    describe_block(m, report, block);
    m("row_lengths", block.row_lengths,
      meaning("Nonzeros per row of the whole block, before a kernel takes it; zeros where there are no "
              "rows."));
    m("resident_bytes", block.resident_bytes, at_least(0, "At the end of the run; 0: not known."));
    m("huge_page_bytes", block.huge_page_bytes, at_least(0, "Of these, in huge pages."));
  });
}

void describe_repeats(Members& m, RunReport& report) {
  const auto times = m.writes() ? repeat_times(report) : Sample{};
  std::vector<double> times_s;
  for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
  m.derived("count", times.count, at_least(1));
  m.derived("minimum_s", times.minimum, positive());
  m.derived("maximum_s", times.maximum, positive());
  m.derived(
      "lower_quartile_s", times.lower_quartile,
      positive("The least time that at least a quarter of the times do not exceed; the upper one: three "
               "quarters. Both are times of repetitions."));
  m.derived("upper_quartile_s", times.upper_quartile, positive());
  m.derived("spread", times.spread(),
            or_null(at_least(0,
                             "(maximum - minimum) / time_s, the median of times_s. null for a single "
                             "time.")));
  m("times_s", times_s, {.least = 0.0, .fewest = 1});
  report.repeats.resize(times_s.size());
  for (std::size_t k = 0; k < times_s.size(); ++k) report.repeats[k].time_s = times_s[k];
}

void describe_result(Members& m, RunReport& report, RepeatReport& repeat) {
  // The work of the timed part, by the official count or by the true number of nonzeros.
  const double work = m.writes() ? official_flop_count(timed_part(report)) / repeat.time_s / 1e6 : 0.0;
  const auto judged = is_judged(report) ? std::optional(report.code == ExitCode::success) : std::nullopt;
  if (repeat.steps.empty()) repeat.steps.emplace_back();
  m("zeta", repeat.steps.back().zeta, in_column("zeta"));
  m("rnorm", repeat.steps.back().residual_norm, in_column("rnorm"));
  m.derived("verified", judged, or_null("null: no reference, or not all repetitions finished."));
  m.derived("relative_error", or_null(at_least(0)), [&] { return relative_error(report, repeat); });
  m("time_s", repeat.time_s,
    in_column("time_s", positive("Of the repetition with the median time, of an even number the lower of the "
                                 "middle two; phases and outer steps are those of that one.")));
  m.derived("mops_total", work, in_column("mops_total", positive("By the official operation count.")));
  m.derived("mops_per_process", work / report.configuration.grid.rank_count(), positive());
  m.derived("true_mflops", in_column("true_mflops", positive("By the true number of nonzeros.")),
            [&] { return true_flop_count(timed_part(report), report.nonzero_count) / repeat.time_s / 1e6; });
  m.object("repeats", [&] { describe_repeats(m, report); });
}

void describe_quiet(Members& m, RunReport& report) {
  m.derived("disturbed", meaning("Whether one of the repetitions was."),
            [&] { return !disturbance(report).empty(); });
  m.derived("reason", meaning("Empty where quiet."), [&] { return disturbance(report); });
  m.list("repeats", report.repeats,
         {.meaning = "One for each of result.repeats.times_s. Shares are of the region's time, of the worst "
                     "rank, processor or node; null: the system does not say.",
          .fewest = 1},
         [&](RepeatReport& repeat, std::size_t /*index*/) { describe(m, repeat.quiet); });
}

/// Those of an earlier run that was saved come first.
std::vector<OuterStep> outer_steps(const RunDocument& document) {
  const auto& report = document.report;
  std::vector<OuterStep> steps;
  const auto& own = document.repeat ? document.repeat->steps : report.unfinished;
  if (report.restart && !own.empty()) steps = report.restart->earlier_steps;
  steps.insert(steps.end(), own.begin(), own.end());
  return steps;
}

void describe_restart(Members& m, RunReport& report) {
  m.object_if(
      report.restart, "restart",
      meaning("Only of a run that went on from a checkpoint: times, rates and phases are those of its own "
              "outer iterations."),
      [&](RestartFacts& restart) {
        describe(m, restart.checkpoint);
        auto earlier = restart.step_count();
        m("earlier_outer_iterations", earlier,
          in_column("restarted_after", at_least(1, "Done before, and not again.")));
        m.derived("timed_outer_iterations", report.problem.niter - restart.step_count(),
                  at_least(1, "The others, which the time and all rates are about."));
        if (m.reads()) restart.earlier_steps.resize(static_cast<std::size_t>(earlier));
      });
}

void describe_prediction(Members& m, RunDocument& document) {
  auto& known = document.report.prediction;
  auto prediction = known.value_or(Prediction{});
  bool is_there = document.repeat && known;
  m.object_if(
      is_there, "prediction",
      meaning("Only with a result, and where cg2d model --calibrate has described this machine: seconds of "
              "the whole timed region."),
      [&] {
        m("machine", prediction.machine, not_empty());
        m.derived("total_s", positive(), [&] { return prediction.total_s(); });
        m.object("phases", [&] {
          for (const auto phase : benchmark_phases)
            m(phase_name(phase), prediction.phases[index_of(phase)], at_least(0));
        });
      });
  if (m.reads() && is_there) known = prediction;
}

}  // namespace

RunDocument run_document(const RunReport& report, const RepeatReport* repeat) {
  RunDocument document{.report = report, .program_version = std::string(build_info::version)};
  if (repeat == nullptr) return document;
  document.repeat = *repeat;
  document.region = findings_of(phases_of(report, *repeat));
  return document;
}

RunDocument run_document(const RunReport& report) {
  return run_document(report, report.repeats.empty() ? nullptr : &median_repeat(report));
}

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
  auto& repeat = document.repeat;
  auto& region = document.region;
  auto& sweep = document.sweep;
  bool is_resolved = report.is_resolved;
  bool is_set_up = !report.ranks.empty();
  bool has_quiet = repeat.has_value();
  auto steps = outer_steps(document);
  describe_head(m, document.program_version);
  describe_end(m, report);
  m.object("problem", [&] {
    describe(m, report.problem);
    describe_generated(m, report);
  });
  describe_origin(m, report);
  m.object_if(is_resolved, "configuration", or_null(), [&] {
    describe_configuration(m, report);
    m.object("tuning",
             meaning("The settings that the kernel worked with (null: it has no such setting), and who "
                     "chose."),
             [&] { describe_tuning(m, report); });
  });
  m.object_if(is_set_up, "setup", or_null(), [&] { describe_setup(m, report); });
  m.object_if(repeat, "result", or_null("Of the repetition with the median time."),
              [&](RepeatReport& shown) { describe_result(m, report, shown); });
  m.object_if(
      has_quiet, "quiet",
      or_null("Of the machine in the timed regions; null without a result, and where it is not known."),
      [&] { describe_quiet(m, report); });
  m.list("outer_steps", steps,
         meaning("Of the repetition that result is about; without one, of the one that did not end. After a "
                 "restart with those before it."),
         [&](OuterStep& step, std::size_t index) {
           m.derived("step", index + 1, at_least(1));
           m("zeta", step.zeta);
           m("rnorm", step.residual_norm);
         });
  RepeatReport none;
  describe_region(m, report, repeat ? *repeat : none, region,
                  m.writes() && repeat ? std::optional(phases_of(report, *repeat)) : std::nullopt);
  describe_restart(m, report);
  describe_features(m, report, WorkKind::outer_iterations);
  describe_prediction(m, document);
  m("sweep", sweep);
  if (!m.reads()) return;
  report.is_resolved = is_resolved;
  report.phases_timed = region.are_timed;
  if (report.restart) {
    const auto earlier = std::min(report.restart->earlier_steps.size(), steps.size());
    std::copy_n(steps.begin(), earlier, report.restart->earlier_steps.begin());
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(earlier));
  }
  (repeat ? repeat->steps : report.unfinished) = std::move(steps);
  if (sweep) sweep->asked.problem = problem_name(report.problem);
}

const std::vector<ShownFigure>& run_figures() {
  static const auto figures = shown_figures(schema_of<RunDocument>());
  return figures;
}

std::string maker_of(const Environment& environment) { return maker_from(build_info::version, environment); }

void describe(Members& m, SweptRun& run) {
  const bool is_of_benchmark = run.asked.form.empty();
  m.derived("key", run.asked.key(), not_empty("The unique text of the configuration."));
  m("round", run.round, at_least(1));
  m("attempt", run.attempt,
    at_least(1, "In the round; a disturbed run is repeated, and the last attempt counts."));
  m("rounds", run.round_count, at_least(1, "As many as were asked for."));
  m("duration_s", run.duration_s, at_least(0, "The whole run, with its set-up."));
  m("session", run.session,
    meaning("The sweep of the file, with all its resumptions: runs of different sessions are not compared."));
  m("sitting", run.sitting,
    at_least(1,
             "The call of cg2d sweep, by number, that made the run: runs of one round and sitting were "
             "made in turns."));
  m.object("configuration",
           meaning("As asked for; the run's own configuration has the values that were chosen."), [&] {
             auto& grid = run.asked.configuration.grid;
             m.if_given("form", run.asked.form, !is_of_benchmark,
                        meaning("Of a system: matrix; without one: domain PXxPYxPZ, or factors."));
             m.if_given("class", run.problem_class, is_of_benchmark,
                        meaning("Of the benchmark. With U, problem has the numbers."));
             m("columns", grid.columns, at_least(1));
             m("rows", grid.rows, at_least(1));
             describe_axes(m, run.asked.configuration, false);
           });
  m.if_given(
      "purpose", run.purpose, run.purpose != RunPurpose::time,
      meaning("Without it: a timed run. Otherwise made after all timed runs, and not compared with them; the "
              "object counters or roofline of this line has what it is for, trace_file names the trace."));
  m.if_given("trace_file", run.trace_file, run.purpose == RunPurpose::trace,
             meaning("Only with purpose trace."));
}

}  // namespace cg2d
