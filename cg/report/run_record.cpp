#include "cg/report/run_record.hpp"

#include <cmath>
#include <optional>

#include "cg/report/phase_record.hpp"
#include "cg/report/report.hpp"
#include "cg/report/session_record.hpp"
#include "cg/report/sweep_record.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/run_report.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {

const Record<Problem>& problem_record() {
  static const Record<Problem> record{
      "problem",
      {
          {"class", column(class_type(), "class"), &Problem::class_name, "U: none of the benchmark's."},
          {"n", column(positive_count_type(), "n"), &Problem::n},
          {"nonzer", column(positive_count_type(), "nonzer"), &Problem::nonzer},
          {"niter", column(positive_count_type(), "niter"), &Problem::niter},
          {"shift", column(number_type(), "shift"), &Problem::shift},
          {"rcond", constant_type(Problem::rcond), [](const auto& /*problem*/) { return Problem::rcond; }},
          {"reference_zeta", finite_type(), &Problem::reference_zeta},
      }};
  return record;
}

namespace {

/// A function from ReportedRun, whose member a pointer cannot name.
const RunReport& report_of(const ReportedRun& run) { return run.report; }

/// A setting of a kernel, of the least value that it may have.
Figure<SessionReport> setting(const std::string& name, int least,
                              std::optional<int> kernels::Tuning::*member) {
  return {name, {{"type", {"integer", "null"}}, {"minimum", least}}, [member](const auto& report) {
            return report.kernel_choice.tuning.*member;
          }};
}

/// A figure of the matrix, where it was generated.
template <typename Member>
Figure<RunReport> generated_figure(const std::string& name, FigureType type, Member member) {
  return {name, std::move(type),
          [member](const auto& report) {
            return report.nonzero_count > 0 ? std::optional(member(report)) : std::nullopt;
          },
          "", Presence::if_known};
}

Record<SeenRank> rank_setup_record() {
  return with(
      rank_block_record(),
      {part<SeenRank>("row_lengths", row_length_record(),
                      [](const SeenRank& seen) -> const RowLengths& { return seen.rank.row_lengths; }),
       {"resident_bytes", count_type(), [](const auto& seen) { return seen.rank.resident_bytes; },
        "At the end of the run; 0: not known."},
       {"huge_page_bytes", count_type(), [](const auto& seen) { return seen.rank.huge_page_bytes; },
        "Of these, in huge pages."}});
}

const Record<RunReport>& repeats_record() {
  const auto times = [](auto member) {
    return [member](const auto& report) { return std::invoke(member, repeat_times(report)); };
  };
  static const Record<RunReport> record{
      "repeats",
      {{"count", positive_count_type(), times(&Sample::count)},
       {"minimum_s", positive_seconds_type(), times(&Sample::minimum)},
       {"maximum_s", positive_seconds_type(), times(&Sample::maximum)},
       {"lower_quartile_s", positive_seconds_type(), times(&Sample::lower_quartile),
        "The least time that at least a quarter of the times do not exceed; the upper one: three quarters. "
        "Both are times of repetitions. Programs until 24 November 2026 took values between two times in "
        "proportion, until 22 November none."},
       {"upper_quartile_s", positive_seconds_type(), times(&Sample::upper_quartile)},
       {"spread", or_null(seconds_type()), times(&Sample::spread),
        "(maximum - minimum) / time_s, the median of times_s (until 24 November 2026 by the mean of the "
        "middle two). null for a single time, for which programs until 22 November 2026 wrote 0."},
       {"times_s", list_type(positive_seconds_type(), 1), [](const auto& report) {
          std::vector<double> times_s;
          for (const auto& repeat : report.repeats) times_s.push_back(repeat.time_s);
          return times_s;
        }}}};
  return record;
}

/// The work of the timed part, by the official count or by the true number of nonzeros.
double official_mops(const ReportedRun& run) {
  return official_flop_count(timed_part(run.report)) / run.repeat->time_s / 1e6;
}
double true_mflops(const ReportedRun& run) {
  return true_flop_count(timed_part(run.report), run.report.nonzero_count) / run.repeat->time_s / 1e6;
}

/// There is something to verify: a reference, and all repetitions.
bool is_judged(const RunReport& report) { return report.problem.reference_zeta && report.unfinished.empty(); }

std::optional<double> relative_error(const ReportedRun& run) {
  if (!is_judged(run.report)) return std::nullopt;
  const double reference = *run.report.problem.reference_zeta;
  return std::abs(run.repeat->steps.back().zeta - reference) / std::abs(reference);
}

std::vector<OuterStep> outer_steps(const ReportedRun& run) {
  std::vector<OuterStep> steps;
  const auto& own = run.repeat == nullptr ? run.report.unfinished : run.repeat->steps;
  if (run.report.restart && !own.empty()) steps = run.report.restart->earlier_steps;
  steps.insert(steps.end(), own.begin(), own.end());
  return steps;
}

/// The ends of a run, with the sections that each has.
Json run_constraints() {
  const Json object{{"type", "object"}};
  const Json null = constant_type(nullptr);
  const Json some_line{{"minLength", 1}};
  const std::vector verdicts{ExitCode::success, ExitCode::verification_failed};
  const std::vector unfinished{ExitCode::interrupted, ExitCode::soft_error, ExitCode::not_finite};
  auto begun = verdicts;
  begun.insert(begun.end(), unfinished.begin(), unfinished.end());
  const auto properties = [](Json members) { return Json{{"properties", std::move(members)}}; };
  const auto finished = [&](std::string_view title, ExitCode code, Json result, const Json& others) {
    auto members = ends_with_one_of("run", {code}).front().at("properties");
    members.update({{"environment", object},
                    {"configuration", object},
                    {"setup", object},
                    {"result", {{"type", "object"}, {"properties", std::move(result)}}},
                    {"outer_steps", {{"minItems", 1}}}});
    members.update(others);
    return Json{{"title", title}, {"properties", std::move(members)}};
  };
  const auto not_finished = [&](std::string_view title, Json members, Json ends) {
    members["reason"] = some_line;
    return Json{{"title", title}, {"properties", std::move(members)}, {"oneOf", std::move(ends)}};
  };
  return {
      {"if", {{"required", Json::array({"out_of_core"})}}},
      {"else",
       properties(
           {{"setup",
             properties({{"conversion_s", number_type()},
                         {"ranks", {{"items", properties({{"csr_bytes", {{"type", "integer"}}}})}}}})}})},
      {"oneOf",
       Json::array(
           {finished("verified, or nothing to verify against", ExitCode::success,
                     {{"zeta", number_type()},
                      {"rnorm", number_type()},
                      {"verified", {{"enum", {true, nullptr}}}}},
                     {{"reason", constant_type("")}}),
            finished("finished, but not with the reference's zeta", ExitCode::verification_failed,
                     {{"verified", constant_type(false)}},
                     {{"reason", some_line}, {"problem", properties({{"reference_zeta", number_type()}})}}),
            not_finished("began, but did not finish; result is there if some repetition did",
                         {{"result", properties({{"verified", null}})}}, ends_with_one_of("run", unfinished)),
            not_finished("could not begin",
                         {{"result", null},
                          {"quiet", null},
                          {"outer_steps", {{"maxItems", 0}}},
                          {"phases", null},
                          {"roofline", null},
                          {"counters", null}},
                         ends_with_one_of("run", begun, false))})}};
}

const Record<RunReport>& run_problem_record() {
  static const auto record = [] {
    Record<RunReport> made{"problem", figures_of_part<RunReport>(problem_record(), &RunReport::problem)};
    made.constraints = {
        {"dependentRequired",
         {{"nonzero_count",
           {"final_seed", "draw_pairs_rejected_as_duplicate", "draw_pairs_rejected_as_out_of_range"}},
          {"final_seed", Json::array({"nonzero_count"})}}}};
    return with(
        made, {generated_figure("nonzero_count", column(positive_count_type(), "nonzero_count"),
                                [](const auto& report) { return report.nonzero_count; }),
               generated_figure("final_seed", positive_count_type(),
                                [](const auto& report) { return report.source_facts.final_seed; }),
               generated_figure("draw_pairs_rejected_as_duplicate", count_type(),
                                [](const auto& report) { return report.source_facts.duplicate_pairs; }),
               generated_figure("draw_pairs_rejected_as_out_of_range", count_type(),
                                [](const auto& report) { return report.source_facts.out_of_range_pairs; })});
  }();
  return record;
}

const Record<SessionReport>& tuning_record() {
  static const Record<SessionReport> record{
      "tuning",
      {{"kernel_by", word_type({"asked for", "profile", "built-in rule"}),
        [](const auto& report) { return choice_origin_name(report.kernel_choice.kernel_origin); }},
       {"settings_by", word_type({"profile", "built-in rule"}),
        [](const auto& report) { return choice_origin_name(report.kernel_choice.tuning_origin); },
        "Settings from the command line override it in any case."},
       setting("critical_vector_length", 0, &kernels::Tuning::critical_vector_length),
       setting("prefetch_distance", 0, &kernels::Tuning::prefetch_distance),
       setting("block_width", 64, &kernels::Tuning::block_width),
       {"profile", or_null(text_type()),
        [](const auto& report) {
          return report.profile.processor ? std::optional(report.profile.path) : std::nullopt;
        },
        "The file that knows this processor."},
       {"no_profile_because", line_type(), [](const auto& report) { return report.profile.absence; },
        "Empty with a profile."}},
      "The settings that the kernel worked with (null: it has no such setting), and who chose."};
  return record;
}

const Record<SessionReport>& run_configuration_record() {
  static const auto record =
      with(configuration_record(), {part<SessionReport>("tuning", tuning_record(), std::identity())});
  return record;
}

const Record<RunReport>& run_setup_record() {
  static const Record<RunReport> record{
      "setup",
      {{"generation_s", metric(seconds_type(), "Generation", "s"), &RunReport::generation_s},
       {"converted", flag_type(), &RunReport::converted,
        "Whether the kernel stores something else than the CSR."},
       {"conversion_s", metric(or_null(seconds_type()), "Conversion time", "s"),
        [](const auto& report) {
          return report.is_streamed ? std::nullopt : std::optional(report.conversion_s);
        },
        "From the CSR to a kernel that is ready, on the slowest rank; null where the matrix is streamed: "
        "nothing was converted."},
       part<RunReport>("row_lengths", row_length_record(), all_row_lengths, "Of all ranks' blocks."),
       numbered_list<RunReport>("ranks", "rank", rank_setup_record(), seen_ranks)}};
  return record;
}

const Record<ReportedRun>& run_result_record() {
  static const Record<ReportedRun> record{
      "result",
      {{"zeta", column(finite_type(), "zeta"), [](const auto& run) { return run.repeat->steps.back().zeta; }},
       {"rnorm", column(finite_type(), "rnorm"),
        [](const auto& run) { return run.repeat->steps.back().residual_norm; }},
       {"verified", or_null(flag_type()),
        [](const auto& run) {
          return is_judged(run.report) ? std::optional(run.report.code == ExitCode::success) : std::nullopt;
        },
        "null: no reference, or not all repetitions finished."},
       {"relative_error", or_null(seconds_type()), relative_error},
       {"time_s", column(positive_seconds_type(), "time_s"),
        [](const auto& run) { return run.repeat->time_s; },
        "Of the repetition with the median time, of an even number the lower of the middle two; phases and "
        "outer steps are those of that one."},
       {"mops_total", column(positive_seconds_type(), "mops_total"), official_mops,
        "By the official operation count."},
       {"mops_per_process", positive_seconds_type(),
        [](const auto& run) { return official_mops(run) / run.report.configuration.grid.rank_count(); }},
       {"true_mflops", column(positive_seconds_type(), "true_mflops"), true_mflops,
        "By the true number of nonzeros."},
       part<ReportedRun>("repeats", repeats_record(), report_of)},
      "Of the repetition with the median time.",
      {{"if", {{"properties", {{"verified", {{"const", true}}}}}}},
       {"then",
        {{"properties", {{"relative_error", {{"type", "number"}, {"maximum", Problem::tolerance}}}}}}}}};
  return record;
}

const Record<RunReport>& run_quiet_record() {
  static const Record<RunReport> record{
      "quiet",
      {{"disturbed", flag_type(), [](const auto& report) { return !disturbance(report).empty(); },
        "Whether one of the repetitions was."},
       {"reason", line_type(), disturbance, "Empty where quiet."},
       list_figure<RunReport>(
           "repeats", quiet_record(),
           [](const RunReport& report) {
             std::vector<QuietResult> quiet;
             for (const auto& repeat : report.repeats) quiet.push_back(repeat.quiet);
             return quiet;
           },
           "One for each of result.repeats.times_s.", 1)},
      "",
      {{"if", {{"properties", {{"disturbed", {{"const", true}}}}}}},
       {"then", {{"properties", {{"reason", {{"minLength", 1}}}}}}},
       {"else", {{"properties", {{"reason", {{"const", ""}}}}}}}}};
  return record;
}

const Record<RunReport>& run_restart_record() {
  static const auto record = with(
      Record<RunReport>{"restart", figures_of_part<RunReport>(
                                       found_checkpoint_record(), [](const RunReport& report) -> const auto& {
                                         return report.restart->checkpoint;
                                       })},
      {{"earlier_outer_iterations", column(positive_count_type(), "restarted_after"),
        [](const auto& report) { return report.restart->step_count(); }, "Done before, and not again."},
       {"timed_outer_iterations", positive_count_type(),
        [](const auto& report) { return report.problem.niter - report.restart->step_count(); },
        "The others, which the time and all rates are about."}});
  return record;
}

const Record<OuterStep>& outer_step_record() {
  static const Record<OuterStep> record{
      "outer_step",
      {{"zeta", finite_type(), &OuterStep::zeta}, {"rnorm", finite_type(), &OuterStep::residual_norm}}};
  return record;
}

const Record<Prediction>& prediction_record() {
  static const Record<Prediction> record{
      "prediction",
      {{"machine", name_type(), &Prediction::machine},
       {"total_s", positive_seconds_type(), &Prediction::total_s},
       {"phases", by_phase_type(seconds_type()), [](const auto& prediction) {
          return json_by_phase([&](auto index) { return prediction.phases[index]; });
        }}}};
  return record;
}

}  // namespace

const Record<ReportedRun>& run_document_record() {
  static const auto record = [] {
    const auto session_of = [](const ReportedRun& run) -> const SessionReport& { return run.report; };
    const auto of_session = [&](std::vector<Figure<SessionReport>> figures) {
      return figures_of_part<ReportedRun>(Record<SessionReport>(std::move(figures)), session_of);
    };
    const auto complete = [](auto member) {  // null without a complete repetition
      return [member](const ReportedRun& run) { return run.repeat == nullptr ? nullptr : member(run); };
    };
    Record<ReportedRun> made{"run_document", of_session(head_figures(result_schema_version, "run"))};
    made.constraints = run_constraints();
    made = with(made, {part<ReportedRun>("problem", run_problem_record(), report_of)});
    made = with(made, of_session(origin_figures()));
    made = with(
        made,
        {part<ReportedRun>("configuration", run_configuration_record(),
                           [](const ReportedRun& run) -> const SessionReport* {
                             return run.report.is_resolved ? &run.report : nullptr;
                           }),
         part<ReportedRun>(
             "setup", run_setup_record(),
             [](const ReportedRun& run) { return run.report.ranks.empty() ? nullptr : &run.report; }),
         part<ReportedRun>("result", run_result_record(),
                           complete([](const ReportedRun& run) { return &run; })),
         part<ReportedRun>("quiet", run_quiet_record(),
                           complete([](const ReportedRun& run) { return &run.report; }),
                           "Of the machine in the timed regions; null without a result, and where it is not "
                           "known."),
         numbered_list<ReportedRun>("outer_steps", "step", outer_step_record(), outer_steps,
                                    "Of the repetition that result is about; without one, of the one that "
                                    "did not end. After a restart with those before it.",
                                    0, 1)});
    made = with(made, phase_sections<ReportedRun>([](const ReportedRun& run) {
                  return run.repeat == nullptr ? std::nullopt
                                               : std::optional(phases_of(run.report, *run.repeat));
                }));
    made = with(made, {part<ReportedRun>(
                          "restart", run_restart_record(),
                          [](const ReportedRun& run) { return run.report.restart ? &run.report : nullptr; },
                          "Only of a run that went on from a checkpoint: times, rates and "
                          "phases are those of its own outer iterations.",
                          Presence::if_known)});
    made = with(made, of_session(feature_figures(WorkKind::outer_iterations)));
    return with(made, {part<ReportedRun>(
                           "prediction", prediction_record(),
                           [](const ReportedRun& run) {
                             return run.repeat == nullptr ? std::nullopt : run.report.prediction;
                           },
                           "Only with a result, and where cg2d model --calibrate has described this "
                           "machine: seconds of the whole timed region.",
                           Presence::if_known),
                       {"sweep", type_of(sweep_record(false)), [](const auto& /*run*/) { return absent(); },
                        "", Presence::if_known}});
  }();
  return record;
}

const std::vector<ShownFigure>& run_figures() {
  static const auto figures = shown_figures(type_of(run_document_record()));
  return figures;
}

}  // namespace cg2d
