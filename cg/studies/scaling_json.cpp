// The comparison of cases for programs.

#include <functional>
#include <optional>

#include "cg/base/json_verdicts.hpp"
#include "cg/machine/environment.hpp"
#include "cg/report/run_record.hpp"
#include "cg/report/session_record.hpp"
#include "cg/studies/scaling_table.hpp"

namespace cg2d {
namespace {

/// A case of the study.
struct SeenCase {
  const ScalingStudy& study;
  const ScalingRow& row;
  [[nodiscard]] bool is_system() const { return !study.problem; }
};

FigureType share_type() { return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}}; }

const Record<ScalingStudy>& options_record() {
  static const Record<ScalingStudy> record{
      {part<ScalingStudy>("problem", problem_record(), &ScalingStudy::problem,
                          "Of the benchmark, on one core.", Presence::if_known),
       {"system", name_type(),
        [](const auto& study) { return study.problem ? absent() : Json(study.system); },
        "Of the user, on one core.", Presence::if_known},
       {"iterations", positive_count_type(),
        [](const auto& study) { return study.problem ? absent() : Json(study.iteration_count); },
        "Of each run of a system.", Presence::if_known},
       {"cores", list_type(positive_count_type(), 1), &ScalingStudy::core_counts},
       {"transports", list_type(name_type(), 1),
        [](const auto& study) { return study.values.at("transport"); }},
       {"cuts", list_type(name_type(), 1), [](const auto& study) { return study.values.at("cut"); },
        "As --cut has them."},
       {"kernel", name_type(), [](const auto& study) { return study.configuration.kernel; },
        "A name, or auto."},
       {"rounds", positive_count_type(), &ScalingStudy::round_count}}};
  return record;
}

template <typename Value>
Figure<ScalingRun> measured(const std::string& name, FigureType type, Value value) {
  return {name, or_null(std::move(type)),
          [value](const auto& run) { return run.succeeded() ? Json(value(run)) : Json(nullptr); }};
}

const Record<ScalingRun>& round_record() {
  static const auto record = [] {
    Record<ScalingRun> made{
        {{"round", positive_count_type(), &ScalingRun::round},
         {"status", text_type(), [](const auto& run) { return status_name(run.code); }},
         {"reason", line_type(), [](const auto& run) { return run.reason; }},
         {"exit_code", count_type(), [](const auto& run) { return static_cast<int>(run.code); }},
         measured("time_s", positive_seconds_type(), [](const auto& run) { return run.time_s; }),
         {"zeta", finite_type(), &ScalingRun::zeta, "null: it failed, or is of a system."},
         measured("moving_share", share_type(), [](const auto& run) { return run.shares.moving; }),
         measured("waiting_share", share_type(), [](const auto& run) { return run.shares.waiting; }),
         {"disturbed", flag_type(), [](const auto& run) { return run.is_disturbed(); },
          "By other work on the machine, as quiet.disturbed of a run."},
         {"disturbance", line_type(), [](const auto& run) { return run.disturbance; },
          "The reason; empty where quiet."}},
        "One run; null stands for what it did not measure, since it failed."};
    made.constraints = {
        {"if", {{"properties", {{"status", constant_type("success")}}}}},
        {"then",
         {{"properties",
           {{"exit_code", constant_type(0)},
            {"reason", constant_type("")},
            {"time_s", {{"type", "number"}}}}}}},
        {"else", {{"properties", {{"reason", {{"minLength", 1}}}, {"time_s", constant_type(nullptr)}}}}}};
    return made;
  }();
  return record;
}

const Record<SeenCase>& figures_record() {
  static const Record<SeenCase> record{
      {{"grid", grid_type(),
        [](const auto& seen) { return seen.is_system() ? absent() : Json(seen.row.median_run.arrangement); },
        "Of the benchmark.", Presence::if_known},
       {"kernel", text_type(), [](const auto& seen) { return seen.row.median_run.kernel; }},
       {"median_s", positive_seconds_type(), [](const auto& seen) { return seen.row.time_s->median; },
        "Of an even number the lower of the middle two."},
       {"minimum_s", positive_seconds_type(), [](const auto& seen) { return seen.row.time_s->minimum; }},
       {"maximum_s", positive_seconds_type(), [](const auto& seen) { return seen.row.time_s->maximum; }},
       {"spread", or_null(seconds_type()), [](const auto& seen) { return seen.row.time_s->spread(); },
        "(maximum - minimum) / median; null for a single round."},
       {"mops_total", positive_seconds_type(),
        [](const auto& seen) { return seen.is_system() ? absent() : Json(seen.row.rate / 1e6); },
        "Of the benchmark, by the official operation count.", Presence::if_known},
       {"iteration_s", positive_seconds_type(),
        [](const auto& seen) {
          return seen.is_system() ? Json(seen.row.time_s->median / seen.study.iteration_count) : absent();
        },
        "Of a system.", Presence::if_known},
       {"speed_up", or_null(positive_seconds_type()), [](const auto& seen) { return seen.row.speed_up; },
        "Mop/s (of a system: rows per second) by those of the same form on one core; null where one core "
        "did "
        "not "
        "succeed."},
       {"efficiency", or_null(positive_seconds_type()), [](const auto& seen) { return seen.row.efficiency; },
        "speed_up by cores."},
       {"moving_share", share_type(), [](const auto& seen) { return seen.row.median_run.shares.moving; },
        "Phases that communicate (collection, summation, shuffle, halo, dot), without waiting; mean over "
        "the "
        "ranks."},
       {"waiting_share", share_type(), [](const auto& seen) { return seen.row.median_run.shares.waiting; },
        "Waiting for other ranks in these."},
       {"ratio_to_best", positive_seconds_type(), [](const auto& seen) { return seen.row.ratio_to_best; },
        "Median ratio of paired rounds to the candidate on as many cores."},
       {"is_candidate", flag_type(), [](const auto& seen) { return seen.row.is_candidate; },
        "The case on as many cores that the others beat least, by the median ratio of paired rounds; "
        "decided "
        "or "
        "not."},
       {"is_best", flag_type(), [](const auto& seen) { return seen.row.is_best(); },
        "The candidate, where is_decided."},
       {"may_be_best", flag_type(), [](const auto& seen) { return seen.row.may_be_best; },
        "The candidate, or a case that is not known to be worse."},
       {"is_decided", flag_type(), [](const auto& seen) { return seen.row.certainty == Certainty::decided; },
        "Whether the candidate is better than all others on as many cores, by the sign test of paired "
        "rounds; "
        "false where it is alone."},
       {"certainty", certainty_type(), [](const auto& seen) { return certainty_name(seen.row.certainty); }}},
      "Of all rounds; kernel and shares of the one with the median time (of an even number the lower of "
      "the "
      "middle two). null where a run failed, or none took place."};
  return record;
}

const Record<SeenCase>& case_record() {
  static const Record<SeenCase> record{
      {{"cores", positive_count_type(), [](const auto& seen) { return seen.row.scaled.core_count(); }},
       {"way",
        word_type({"one core", "ranks only", "shared-memory ranks", "ranks x threads", "threads only"}),
        [](const auto& seen) { return seen.row.scaled.name(); }},
       {"form", word_type({"matrix", "matrix-free"}),
        [](const auto& seen) { return seen.is_system() ? Json(seen.row.scaled.form()) : absent(); },
        "Of a system.", Presence::if_known},
       {"transport", name_type(), [](const auto& seen) { return seen.row.scaled.transport(); },
        "With one rank it moves nothing."},
       {"ranks", positive_count_type(), [](const auto& seen) { return seen.row.scaled.rank_count; }},
       {"threads", positive_count_type(),
        [](const auto& seen) { return seen.row.scaled.asked.configuration.thread_count; }, "Of each rank."},
       {"matrix", name_type(),
        [](const auto& seen) { return seen.is_system() ? Json(seen.row.scaled.matrix) : absent(); },
        "Of a system: the file, or the operator as this number of cores has it.", Presence::if_known},
       {"n", count_type(), [](const auto& seen) { return seen.study.order_of(seen.row.scaled); },
        "Order of the matrix on that many cores; 0: a system that never ran."},
       {"cut", name_type(),
        [](const auto& seen) {
          return seen.row.scaled.cut().empty() ? absent() : Json(seen.row.scaled.cut());
        },
        "As --cut has it, of a matrix on several ranks.", Presence::if_known},
       {"arrangement", pattern_type("^(domain [0-9]+x[0-9]+x[0-9]+|grid [0-9]+x[0-9]+|)$"),
        [](const auto& seen) { return seen.is_system() ? Json(seen.row.median_run.arrangement) : absent(); },
        "Of the ranks, for a system; empty where a run failed.", Presence::if_known},
       part<SeenCase>("figures", figures_record(),
                      [](const SeenCase& seen) { return seen.row.is_sound() ? &seen : nullptr; }),
       list_figure<SeenCase>(
           "rounds", round_record(), [](const auto& seen) -> auto& { return seen.row.runs; })}};
  return record;
}

const Record<ZetaAgreement>& agreement_record() {
  static const Record<ZetaAgreement> record{
      {{"n", positive_count_type(), [](const auto& one) { return one.problem.n; }},
       {"reference_zeta", finite_type(), [](const auto& one) { return one.problem.reference_zeta; }},
       {"runs", positive_count_type(), &ZetaAgreement::run_count},
       {"zeta_minimum", {{"type", "number"}}, &ZetaAgreement::minimum},
       {"zeta_maximum", {{"type", "number"}}, &ZetaAgreement::maximum},
       {"relative_difference", seconds_type(), [](const auto& one) { return one.relative_difference(); }},
       {"agrees", flag_type(), [](const auto& one) { return one.holds(); }, "Within 1e-10."}},
      "",
      {{"if", {{"properties", {{"agrees", constant_type(true)}}}}},
       {"then", {{"properties", {{"relative_difference", {{"maximum", Problem::tolerance}}}}}}}}};
  return record;
}

Json cases_json(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  std::vector<SeenCase> seen;
  seen.reserve(rows.size());
  for (const auto& row : rows) seen.push_back({study, row});
  return json_of_all(case_record(), seen);
}

const Record<ScalingStudy>& scaling_record() {
  static const Record<ScalingStudy> record{
      {{"schema_version", constant_type(1), [](const auto& /*study*/) { return 1; }},
       {"program", type_of(program_record()), [](const auto& /*study*/) { return program_json(); }},
       {"status", text_type(), [](const auto& study) { return status_name(verdict_on(study).code); },
        "success, or that of the first run that failed."},
       {"reason", line_type(), [](const auto& study) { return verdict_on(study).reason; },
        "One line, as on stderr; empty on success."},
       {"exit_code", count_type(),
        [](const auto& study) { return static_cast<int>(verdict_on(study).code); }},
       {"warnings", list_type(name_type()), &ScalingStudy::warnings},
       {"scaling", word_type({"strong", "weak"}),
        [](const auto& study) { return study.weak ? "weak" : "strong"; }},
       part<ScalingStudy>("options", options_record(), std::identity()),
       part<ScalingStudy>("provenance", provenance_record(), &ScalingStudy::provenance),
       part<ScalingStudy>(
           "machine",
           part_of(environment_record(),
                   {"mpi", "blas", "compiler", "flags", "build_type", "nodes", "binding"}),
           [](const ScalingStudy& study) {
             return study.machine ? std::optional(SeenEnvironment{*study.machine}) : std::nullopt;
           },
           "As all ranks started see it."),
       list_figure<ScalingStudy>(
           "verification", agreement_record(), agreements_of,
           "Of all successful runs of a problem of the benchmark, once for each problem."),
       {"ways", list_type(type_of(case_record())), cases_json,
        "In the order of the table: by cores, and with fewer and fewer ranks."}},
      "The comparison of the ways to use a number of cores. Times are seconds; shares are parts of the "
      "timed "
      "region. null stands for what did not come about."};
  return record;
}

std::string write_scaling_json(const ScalingStudy& study) {
  return json_text(json_of(scaling_record(), study), 2) + "\n";
}

}  // namespace

FigureType scaling_type() { return type_of(scaling_record()); }

ScalingFormat json_scaling_format() { return {.name = "json", .write = &write_scaling_json}; }

}  // namespace cg2d
