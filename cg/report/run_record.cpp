#include "cg/report/run_record.hpp"

#include <cmath>
#include <optional>

#include "cg/report/report_counters.hpp"
#include "cg/report/session_record.hpp"
#include "cg/run/checkpoint/checkpoint_feature.hpp"
#include "cg/run/run_report.hpp"
#include "cg/run/streaming/streaming_feature.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

/// A setting of a kernel, of the least value that it may have.
FigureType setting_type(int least) {
  return {{"type", Json::array({"integer", "null"})}, {"minimum", least}};
}

Figure<SessionReport> setting(const std::string& name, int least,
                              std::optional<int> kernels::Tuning::*member) {
  return {name, setting_type(least),
          [member](const auto& report) { return value_or_null(report.kernel_choice.tuning.*member); }};
}

/// A figure of the matrix, where it was generated.
template <typename Member>
Figure<RunReport> generated_figure(const std::string& name, FigureType type, Member member) {
  return {name, std::move(type),
          [member](const auto& report) {
            return report.nonzero_count > 0 ? Json(member(report)) : Json(nullptr);
          },
          "", Presence::if_known};
}

Record<RankResult> rank_setup_record(bool is_streamed) {
  auto record = rank_block_record(is_streamed);
  record.figures.push_back({"row_lengths", defined("row_lengths"),
                            [](const auto& rank) { return json_of(row_length_record(), rank.row_lengths); }});
  record.figures.push_back(
      {"resident_bytes", count_type(), &RankResult::resident_bytes, "At the end of the run; 0: not known."});
  record.figures.push_back(
      {"huge_page_bytes", count_type(), &RankResult::huge_page_bytes, "Of these, in huge pages."});
  return record;
}

/// All repetitions, with their times in order.
struct SeenRepeats {
  const RunReport& report;
  Sample times;
};

const Record<SeenRepeats>& repeats_record() {
  static const Record<SeenRepeats> record{{
      {"count", positive_count_type(), [](const auto& seen) { return seen.times.count; }},
      {"minimum_s", positive_seconds_type(), [](const auto& seen) { return seen.times.minimum; }},
      {"maximum_s", positive_seconds_type(), [](const auto& seen) { return seen.times.maximum; }},
      {"lower_quartile_s", positive_seconds_type(),
       [](const auto& seen) { return seen.times.lower_quartile; },
       "The least time that at least a quarter of the times do not exceed; the upper one: three quarters. "
       "Both are times of repetitions. Programs until 24 November 2026 took values between two times in "
       "proportion, until 22 November none.",
       Presence::always_now},
      {"upper_quartile_s", positive_seconds_type(),
       [](const auto& seen) { return seen.times.upper_quartile; }, "", Presence::always_now},
      {"spread", or_null(seconds_type()), [](const auto& seen) { return value_or_null(seen.times.spread()); },
       "(maximum - minimum) / time_s, the median of times_s (until 24 November 2026 by the mean of the "
       "middle two). null for a single time, for which programs until 22 November 2026 wrote 0."},
      {"times_s", list_type(positive_seconds_type(), 1),
       [](const auto& seen) {
         Json times = Json::array();
         for (const auto& repeat : seen.report.repeats) times.push_back(repeat.time_s);
         return times;
       }},
  }};
  return record;
}

/// The work of the timed part, by the official count or by the true number of nonzeros.
double official_mops(const RunReport& report) {
  return official_flop_count(timed_part(report)) / median_repeat(report).time_s / 1e6;
}
double true_mflops(const RunReport& report) {
  return true_flop_count(timed_part(report), report.nonzero_count) / median_repeat(report).time_s / 1e6;
}

/// There is something to verify: a reference, and all repetitions.
bool is_judged(const RunReport& report) { return report.problem.reference_zeta && report.unfinished.empty(); }

Json relative_error(const RunReport& report) {
  const double reference = *report.problem.reference_zeta;
  return number_or_null(std::abs(final_step(report).zeta - reference) / std::abs(reference));
}

}  // namespace

const Record<Problem>& problem_record() {
  static const Record<Problem> record{{
      {"class", defined("class"), &Problem::class_name, "U: none of the benchmark's."},
      {"n", positive_count_type(), &Problem::n},
      {"nonzer", positive_count_type(), &Problem::nonzer},
      {"niter", positive_count_type(), &Problem::niter},
      {"shift", {{"type", "number"}}, &Problem::shift},
      {"rcond", {{"const", Problem::rcond}}, [](const auto& /*problem*/) { return Problem::rcond; }},
      {"reference_zeta", defined("finite_or_null"),
       [](const auto& problem) { return value_or_null(problem.reference_zeta); }},
  }};
  return record;
}

const Record<RunReport>& run_problem_record() {
  static const auto record = [] {
    Record<RunReport> made{figures_of_part<RunReport>(
        problem_record(), [](const RunReport& report) -> const Problem& { return report.problem; })};
    made.figures.push_back(generated_figure("nonzero_count", positive_count_type(),
                                            [](const auto& report) { return report.nonzero_count; }));
    made.figures.push_back(generated_figure("final_seed", positive_count_type(), [](const auto& report) {
      return report.source_facts.final_seed;
    }));
    made.figures.push_back(
        generated_figure("draw_pairs_rejected_as_duplicate", count_type(),
                         [](const auto& report) { return report.source_facts.duplicate_pairs; }));
    made.figures.push_back(
        generated_figure("draw_pairs_rejected_as_out_of_range", count_type(),
                         [](const auto& report) { return report.source_facts.out_of_range_pairs; }));
    made.constraints = {
        {"dependentRequired",
         {{"nonzero_count",
           {"final_seed", "draw_pairs_rejected_as_duplicate", "draw_pairs_rejected_as_out_of_range"}},
          {"final_seed", Json::array({"nonzero_count"})}}}};
    return made;
  }();
  return record;
}

const Record<SessionReport>& tuning_record() {
  static const Record<SessionReport> record{
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
          return report.profile.processor ? Json(report.profile.path) : Json(nullptr);
        },
        "The file that knows this processor."},
       {"no_profile_because", line_type(), [](const auto& report) { return report.profile.absence; },
        "Empty with a profile."}},
      "The settings that the kernel worked with (null: it has no such setting), and who chose."};
  return record;
}

const Record<RunReport>& run_setup_record() {
  static const Record<RunReport> record{{
      {"generation_s", seconds_type(), &RunReport::generation_s},
      {"converted", flag_type(), &RunReport::converted,
       "Whether the kernel stores something else than the CSR."},
      {"conversion_s", or_null(seconds_type()),
       [](const auto& report) { return is_streamed(report) ? Json(nullptr) : Json(report.conversion_s); },
       "From the CSR to a kernel that is ready, on the slowest rank; null where the matrix is streamed: "
       "nothing was converted."},
      {"row_lengths", defined("row_lengths"),
       [](const auto& report) { return json_of(row_length_record(), all_row_lengths(report)); },
       "Of all ranks' blocks."},
      {"ranks", list_type(numbered_schema_of("rank", rank_setup_record(false)), 1),
       [](const auto& report) {
         return numbered_json_of_all("rank", rank_setup_record(is_streamed(report)), report.ranks);
       }},
  }};
  return record;
}

const Record<RunReport>& run_result_record() {
  static const Record<RunReport> record{
      {{"zeta", defined("finite_or_null"),
        [](const auto& report) { return number_or_null(final_step(report).zeta); }},
       {"rnorm", defined("finite_or_null"),
        [](const auto& report) { return number_or_null(final_step(report).residual_norm); }},
       {"verified", or_null(flag_type()),
        [](const auto& report) {
          return is_judged(report) ? Json(report.code == ExitCode::success) : Json(nullptr);
        },
        "null: no reference, or not all repetitions finished."},
       {"relative_error", or_null(seconds_type()),
        [](const auto& report) { return is_judged(report) ? relative_error(report) : Json(nullptr); }},
       {"time_s", positive_seconds_type(), [](const auto& report) { return median_repeat(report).time_s; },
        "Of the repetition with the median time, of an even number the lower of the middle two; phases and "
        "outer steps are those of that one."},
       {"mops_total", positive_seconds_type(), official_mops, "By the official operation count."},
       {"mops_per_process", positive_seconds_type(),
        [](const auto& report) { return official_mops(report) / report.configuration.grid.rank_count(); }},
       {"true_mflops", positive_seconds_type(), true_mflops, "By the true number of nonzeros."},
       {"repeats", schema_of(repeats_record()),
        [](const auto& report) {
          return json_of(repeats_record(), SeenRepeats{report, repeat_times(report)});
        }}},
      "Of the repetition with the median time.",
      {{"if", {{"properties", {{"verified", {{"const", true}}}}}}},
       {"then",
        {{"properties", {{"relative_error", {{"type", "number"}, {"maximum", Problem::tolerance}}}}}}}}};
  return record;
}

const Record<RunReport>& run_quiet_record() {
  static const Record<RunReport> record{
      {{"disturbed", flag_type(), [](const auto& report) { return !disturbance(report).empty(); },
        "Whether one of the repetitions was."},
       {"reason", line_type(), disturbance, "Empty where quiet."},
       {"repeats", list_type(defined("quiet_repeat"), 1),
        [](const auto& report) {
          Json repeats = Json::array();
          for (const auto& repeat : report.repeats) repeats.push_back(json_of(quiet_record(), repeat.quiet));
          return repeats;
        },
        "One for each of result.repeats.times_s."}},
      "",
      {{"if", {{"properties", {{"disturbed", {{"const", true}}}}}}},
       {"then", {{"properties", {{"reason", {{"minLength", 1}}}}}}},
       {"else", {{"properties", {{"reason", {{"const", ""}}}}}}}}};
  return record;
}

const Record<RunReport>& run_restart_record() {
  static const auto record = [] {
    Record<RunReport> made{figures_of_part<RunReport>(
        found_checkpoint_record(),
        [](const RunReport& report) -> const FoundCheckpoint& { return report.restart->checkpoint; })};
    made.figures.push_back({"earlier_outer_iterations", positive_count_type(),
                            [](const auto& report) { return report.restart->step_count(); },
                            "Done before, and not again."});
    made.figures.push_back(
        {"timed_outer_iterations", positive_count_type(),
         [](const auto& report) { return report.problem.niter - report.restart->step_count(); },
         "The others, which the time and all rates are about."});
    return made;
  }();
  return record;
}

const Record<OuterStep>& outer_step_record() {
  static const Record<OuterStep> record{{
      {"zeta", defined("finite_or_null"), [](const auto& step) { return number_or_null(step.zeta); }},
      {"rnorm", defined("finite_or_null"),
       [](const auto& step) { return number_or_null(step.residual_norm); }},
  }};
  return record;
}

const Record<Prediction>& prediction_record() {
  static const Record<Prediction> record{{
      {"machine", name_type(), &Prediction::machine},
      {"total_s", positive_seconds_type(), &Prediction::total_s},
      {"phases",
       {{"$ref", "#/$defs/by_phase"}, {"additionalProperties", seconds_type()}},
       [](const auto& prediction) {
         return json_by_phase([&](auto index) { return prediction.phases[index]; });
       }},
  }};
  return record;
}

}  // namespace cg2d
