#include "cg/studies/scaling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/paired_comparison.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/report/report.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/studies/sweep_plan.hpp"
#include "comm/communicator.hpp"
#include "comm/domain_layout.hpp"

namespace cg2d {

std::string ScalingCase::name() const {
  if (core_count() == 1) return "one core";
  if (rank_count == 1) return "threads only";
  if (asked.configuration.thread_count > 1) return "ranks x threads";
  const auto* const row = comm::find_transport(transport());
  return row != nullptr && row->reads_in_place ? "shared-memory ranks" : "ranks only";
}

std::string ScalingCase::cut() const {
  return rank_count == 1 || asked.is_matrix_free() ? std::string() : asked.configuration.cut;
}

std::string ScalingCase::shape() const {
  return fmt::format("{} x {}", rank_count, asked.configuration.thread_count);
}

std::string ScalingCase::form() const {
  if (!asked.is_system()) return {};
  return asked.is_matrix_free() ? "matrix-free" : "matrix";
}

std::string ScalingCase::label() const {
  const bool has_usual_cut = cut().empty() || cut() == asked.usual_cut();
  return fmt::format("{}, {}{}{}{}, {}{}", format_count(core_count(), "core"), form(),
                     asked.is_system() ? ", " : "", name(), rank_count > 1 ? ", " + transport() : "", shape(),
                     has_usual_cut ? "" : ", cut " + cut());
}

std::vector<int> usual_core_counts(int rank_count) {
  std::vector<int> counts;
  for (int count = 1; count < rank_count; count *= 2) counts.push_back(count);
  counts.push_back(rank_count);
  return counts;
}

std::vector<ScalingCase> cases_of(const std::vector<int>& core_counts, const AxisValues& values,
                                  const ConfiguredProblem& common) {
  std::vector<ScalingCase> cases;
  for (const int core_count : core_counts) {
    for (int rank_count = core_count; rank_count >= 1; --rank_count) {
      if (core_count % rank_count != 0 || core_count / rank_count > most_threads) continue;
      ScalingCase one{.rank_count = rank_count, .asked = common};
      auto several_ranks = common.configuration;
      several_ranks.thread_count = core_count / rank_count;
      for (const auto& configuration : crossed(several_ranks, values)) {
        one.asked.configuration = configuration;
        if (rank_count == 1) {
          one.asked.configuration.transport = comm::default_transport().name;
          one.asked.configuration.cut = automatic_choice;
        }
        one.asked.configuration = with_cut(one.asked.configuration, common.usual_cut());
        if (std::ranges::find(cases, one) == cases.end()) cases.push_back(one);
      }
    }
  }
  return cases;
}

int rounds_for_verdicts(const std::vector<ScalingCase>& cases) {
  std::map<int, std::size_t> case_counts;
  for (const auto& one : cases) ++case_counts[one.core_count()];
  int rounds = rounds_for_verdict(1);
  for (const auto& [core_count, count] : case_counts) rounds = std::max(rounds, rounds_for_verdict(count));
  return rounds;
}

Problem scaled_problem(const Problem& problem, int core_count, bool weak) {
  if (!weak || core_count == 1) return problem;
  Problem scaled = problem;
  scaled.class_name = "U";
  scaled.reference_zeta.reset();
  scaled.n *= core_count;
  try {
    check_problem(scaled);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--weak on {}: {}; take fewer cores or a smaller class",
                                 format_count(core_count, "core"), error.what()));
  }
  return scaled;
}

std::string scaled_operator(const std::string& text, int core_count, bool weak) {
  if (!weak) return text;
  auto stencil = stencil_from(text);
  // Cubes, so that the number of faces alone counts; a dimension of one point stays one.
  comm::Extents cubes{};
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    cubes[dimension] = stencil.extents[dimension] > 1 ? std::int64_t{1} << 20 : 1;
  const auto grid = comm::best_domain_grid(cubes, core_count);
  for (std::size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    stencil.extents[dimension] *= grid.parts[dimension];
  auto grown = stencil.name();
  static_cast<void>(stencil_from(grown));  // throws where it becomes too large
  return grown;
}

Room room_for(const ScalingCase& one, const Environment& all, const Environment& of_case) {
  auto room = Room::enough;
  int all_cores = 0;
  for (const auto& node : all.nodes) all_cores += node.core_count;
  for (const auto& node : of_case.nodes) {
    const int needed = node.rank_count * one.asked.configuration.thread_count;
    if (needed <= node.core_count) continue;
    // Ranks of one thread run in any case: the benchmark then reports that they share cores.
    if (one.asked.configuration.thread_count > 1) {
      const auto same = std::ranges::find(all.nodes, node.host, &NodeInfo::host);
      if (same != all.nodes.end() && needed <= same->core_count) return Room::bound;
      if (one.core_count() <= all_cores) return Room::no_node;
    }
    room = Room::shared;
  }
  return room;
}

namespace {

Problem problem_on(const ScalingStudy& study, int core_count) {
  return scaled_problem(*study.problem, core_count, study.weak);
}

/// The figures of one case that need no other one.
ScalingRow row_of(const ScalingStudy& study, const ScalingCase& one) {
  ScalingRow row;
  row.scaled = one;
  for (const auto& run : study.runs) {
    if (run.scaled == one) row.runs.push_back(run);
  }
  if (row.runs.empty() || !std::ranges::all_of(row.runs, &ScalingRun::succeeded)) return row;
  std::vector<double> times_s;
  for (const auto& run : row.runs) times_s.push_back(run.time_s);
  row.time_s = sample_of(times_s);
  row.median_run = median_run_of(row.runs, &ScalingRun::time_s);
  const double work = study.problem ? official_flop_count(problem_on(study, one.core_count()))
                                    : static_cast<double>(row.median_run.n);
  row.rate = work / row.time_s->median;
  return row;
}

/// The cases on one number of cores whose runs succeeded, by their times in the same rounds.
struct CaseRanking {
  std::vector<std::size_t> places{};  ///< of these cases in the plan
  std::vector<double> medians_s{};
  BestVerdict verdict{};  ///< its indices are those of `places`
};

/// Ranks the rows of each number of cores, and notes in them how they compare.
std::map<int, CaseRanking> rank(std::vector<ScalingRow>& rows) {
  std::map<int, CaseRanking> rankings;
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const auto& row = rows[place];
    if (!row.is_sound()) continue;
    auto& ranking = rankings[row.scaled.core_count()];
    ranking.places.push_back(place);
    ranking.medians_s.push_back(row.time_s->median);
  }
  for (auto& [core_count, ranking] : rankings) {
    auto& verdict = ranking.verdict;
    std::vector<RoundTimes> rounds;
    std::int64_t disturbed_count = 0;
    std::int64_t run_count = 0;
    for (const auto place : ranking.places) {
      auto& seconds = rounds.emplace_back();
      for (const auto& run : rows[place].runs) seconds.emplace(run.round, run.time_s);
      disturbed_count += rows[place].disturbed_count();
      run_count += std::ssize(rows[place].runs);
    }
    verdict = find_best(rounds);
    note_disturbed_runs(disturbed_count, run_count, verdict);
    for (std::size_t k = 0; k < ranking.places.size(); ++k) {
      auto& row = rows[ranking.places[k]];
      row.is_candidate = k == verdict.candidate;
      row.may_be_best = !verdict.is_better_than(k);
      row.certainty = verdict.certainty();
      row.ratio_to_best = row.is_candidate ? 1.0 : verdict.against[k].median;
    }
  }
  return rankings;
}

/// One for each number of cores that has a case.
std::map<int, CaseRanking> rankings_of(const ScalingStudy& study) {
  auto rows = rows_of(study);
  return rank(rows);
}

std::string transport_cell(const ScalingCase& one) { return one.rank_count > 1 ? one.transport() : "-"; }

bool compares_cuts(const ScalingStudy& study) {
  return std::ranges::any_of(
      study.cases, [&](const auto& one) { return !one.cut().empty() && one.cut() != one.asked.usual_cut(); });
}

std::string seconds_cell(const ScalingRow& row) {
  if (!row.is_sound()) return row.runs.empty() ? "not run" : "failed";
  return fmt::format("{:.6f}", row.time_s->median);
}

/// Marks the best case (*), or those that may be (~), and those with disturbed runs (!).
std::string ratio_cell(const ScalingRow& row) {
  const auto mark = best_mark(row.certainty, row.may_be_best);
  return fmt::format("{:.3f}{}{}", row.ratio_to_best, mark.empty() ? " " : mark,
                     row.disturbed_count() > 0 ? "!" : " ");
}

/// One line. Figures are missing where a run failed, or none was made.
void add_line(const ScalingStudy& study, const ScalingRow& row, Table& table) {
  const bool is_system = !study.problem;
  const auto& run = row.median_run;
  table.line().number("cores", "{}", row.scaled.core_count()).word("configuration", row.scaled.name());
  if (is_system) table.word("form", row.scaled.form());
  table.word("transport", transport_cell(row.scaled)).number("r x t", row.scaled.shape());
  if (compares_cuts(study)) table.word("cut", row.scaled.cut());
  table.word(is_system ? "arrangement" : "grid", run.arrangement).word("kernel", run.kernel);
  const auto figure = [&](std::string_view name, const auto& text_of) {
    table.number(name, row.is_sound() ? text_of() : std::string());
  };
  if (is_system) figure("rows", [&] { return fmt::format("{}", run.n); });
  table.number("seconds", seconds_cell(row));
  figure("spread", [&] { return percent_text(row.time_s->spread(), 0); });
  if (is_system) {
    figure("ms/iteration",
           [&] { return fmt::format("{:.4f}", 1e3 * row.time_s->median / study.iteration_count); });
  } else {
    figure("Mop/s", [&] { return fmt::format("{:.1f}", row.rate / 1e6); });
  }
  table.number("speed-up", row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "");
  table.number("efficiency", percent_text(row.efficiency, 1));
  figure("comm", [&] { return percent_text(run.shares.moving, 1); });
  figure("waiting", [&] { return percent_text(run.shares.waiting, 1); });
  figure("vs best", [&] { return ratio_cell(row); });
}

std::string title_of(const ScalingStudy& study) {
  const bool has_added_rounds =
      std::ranges::any_of(study.runs, [&](const auto& run) { return run.round > study.round_count; });
  const auto subject =
      study.problem ? fmt::format("class {} (n {}{}), kernel {}, grids by rule", problem_name(*study.problem),
                                  study.problem->n, study.weak ? " x cores" : "", study.configuration.kernel)
                    : study.system;
  return fmt::format("{} scaling of {}, medians of {}{}\n\n", study.weak ? "Weak" : "Strong", subject,
                     format_count(study.round_count, "round"), has_added_rounds ? " or more" : "");
}

/// "ranks x threads, shared, 2 x 2", where cuts are compared with ", cut even".
std::string case_name(const ScalingStudy& study, const ScalingCase& one) {
  return fmt::format("{}{}{}, {}, {}{}", one.form(), one.form().empty() ? "" : ", ", one.name(),
                     transport_cell(one), one.shape(),
                     compares_cuts(study) && !one.cut().empty() ? ", cut " + one.cut() : "");
}

/// A line for each number of cores that has several cases.
std::string verdicts_of(const ScalingStudy& study) {
  std::string text;
  for (const auto& [core_count, ranking] : rankings_of(study)) {
    if (ranking.places.size() < 2) continue;
    std::vector<std::string> names;
    for (const auto place : ranking.places) names.push_back(case_name(study, study.cases[place]));
    const auto& verdict = ranking.verdict;
    const auto& first = names[verdict.candidate];
    text += fmt::format("  {}: {} {}\n", format_count(core_count, "core"),
                        verdict.is_decided() ? first + " is best,"
                                             : fmt::format("no clear winner: {} (median {:.4g} s) was", first,
                                                           ranking.medians_s[verdict.candidate]),
                        verdict_text(verdict, names, "--repeat", ranking.medians_s));
  }
  return text;
}

/// Only where there is one, with the legend of its mark.
std::string disturbances_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto first = std::ranges::find_if(row.runs, &ScalingRun::is_disturbed);
    if (first == row.runs.end()) continue;
    text += fmt::format("  Disturbed (!): {}, {} of {}, in round {}: {}\n", row.scaled.label(),
                        row.disturbed_count(), format_count(std::ssize(row.runs), "run"), first->round,
                        first->disturbance);
  }
  return text;
}

std::string failures_of(const std::vector<ScalingRow>& rows) {
  std::string text;
  for (const auto& row : rows) {
    const auto failed = std::ranges::find_if_not(row.runs, &ScalingRun::succeeded);
    if (failed == row.runs.end()) continue;
    text += fmt::format("  Failed: {}, round {}: {}: {}\n", row.scaled.label(), failed->round,
                        status_name(failed->code), failed->reason);
  }
  return text;
}

/// The method by which the figures were verified.
std::string verification_of(const ScalingStudy& study) {
  std::string text;
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.problem.reference_zeta) {
      text += fmt::format("  n {}: zeta of {} meets the reference {}\n", agreement.problem.n,
                          format_count(agreement.run_count, "run"), *agreement.problem.reference_zeta);
    } else {
      text += fmt::format("  {}; there is no reference\n", agreement.text());
    }
  }
  return text;
}

std::string legend_of(const ScalingStudy& study) {
  return fmt::format(
      "\nr x t: ranks x threads of each. spread: (maximum - minimum) / median. speed-up: {} on 1 core;\n"
      "efficiency: speed-up / cores. comm: communication, which is {}, without\n"
      "waiting; waiting: in these; shares of the time. vs best: median ratio, round by round, to the "
      "configuration\non as many cores that is best (*) or first of those that may be (~). In parentheses: "
      "the interval of the ratio of\npaired rounds, by the sign test.\n{}",
      study.problem ? "Mop/s by those" : "rows per second by those of the same form",
      study.problem ? "collection, summation, shuffle and dot"
                    : "collection, summation, shuffle, halo and dot",
      study.weak && !study.problem ? "Each core has the box of one core: extents grow by the parts of the "
                                     "cut with the smallest faces.\n"
                                   : "");
}

/// The study, and what follows from its runs.
struct ScalingDocument {
  ScalingStudy study;
  std::vector<ScalingRow> rows;
};

/// A value that only studies of a user's system have, or only those of the benchmark.
template <typename Value>
std::optional<Value> only_if(bool condition, const Value& value) {
  return condition ? std::optional(value) : std::nullopt;
}

void describe_options(Members& m, ScalingStudy& study) {
  const bool is_system = m.writes() && !study.problem;
  m("problem", study.problem, meaning("Of the benchmark, on one core."));
  m.derived("system", only_if(is_system, study.system), meaning("Of the user, on one core."));
  m.derived("iterations", only_if(is_system, study.iteration_count), at_least(1, "Of each run of a system."));
  m("cores", study.core_counts, {.least = 1, .fewest = 1});
  m("transports", study.values["transport"], {.fewest = 1});
  m("cuts", study.values["cut"], {.meaning = "As --cut has them.", .fewest = 1});
  m("kernel", study.configuration.kernel, meaning("A name, or auto."));
  m("rounds", study.round_count, at_least(1));
}

}  // namespace

void describe(Members& m, ScalingRun& run) {
  const bool succeeded = m.writes() && run.succeeded();
  m("round", run.round, at_least(1));
  m("status", run.code);
  m("reason", run.reason);
  m.derived("exit_code", static_cast<int>(run.code), at_least(0));
  m.derived("time_s", only_if(succeeded, run.time_s), or_null(positive()));
  m.derived("zeta", run.zeta, or_null("null: it failed, or is of a system."));
  m.derived("moving_share", only_if(succeeded, run.shares.moving), or_null(at_least(0)));
  m.derived("waiting_share", only_if(succeeded, run.shares.waiting), or_null(at_least(0)));
  m.derived("disturbed", run.is_disturbed(),
            meaning("By other work on the machine, as quiet.disturbed of a run."));
  m("disturbance", run.disturbance, meaning("The reason; empty where quiet."));
}

namespace {

void describe_figures(Members& m, const ScalingStudy& study, const ScalingRow& row) {
  const bool is_system = m.writes() && !study.problem;
  const bool is_benchmark = m.writes() && !is_system;
  const auto times = row.time_s.value_or(Sample{});
  const auto& median = row.median_run;
  m.derived("grid", only_if(is_benchmark, median.arrangement), meaning("Of the benchmark."));
  m.derived("kernel", median.kernel);
  m.derived("median_s", times.median, positive("Of an even number the lower of the middle two."));
  m.derived("minimum_s", times.minimum, positive());
  m.derived("maximum_s", times.maximum, positive());
  m.derived("spread", times.spread(),
            or_null(at_least(0, "(maximum - minimum) / median; null for a single round.")));
  m.derived("mops_total", only_if(is_benchmark, row.rate / 1e6),
            positive("Of the benchmark, by the official operation count."));
  m.derived("iteration_s", only_if(is_system, times.median / std::max(study.iteration_count, 1)),
            positive("Of a system."));
  m.derived("speed_up", row.speed_up,
            or_null(positive("Mop/s (of a system: rows per second) by those of the same form on one core; "
                             "null where one core did not succeed.")));
  m.derived("efficiency", row.efficiency, or_null(positive("speed_up by cores.")));
  m.derived("moving_share", median.shares.moving,
            at_least(0,
                     "Phases that communicate (collection, summation, shuffle, halo, dot), without "
                     "waiting; mean over the ranks."));
  m.derived("waiting_share", median.shares.waiting, at_least(0, "Waiting for other ranks in these."));
  m.derived("ratio_to_best", row.ratio_to_best,
            positive("Median ratio of paired rounds to the candidate on as many cores."));
  m.derived("is_candidate", row.is_candidate,
            meaning("The case on as many cores that the others beat least, by the median ratio of paired "
                    "rounds; decided or not."));
  m.derived("is_best", row.is_best(), meaning("The candidate, where is_decided."));
  m.derived("may_be_best", row.may_be_best,
            meaning("The candidate, or a case that is not known to be worse."));
  m.derived("is_decided", row.certainty == Certainty::decided,
            meaning("Whether the candidate is better than all others on as many cores, by the sign test of "
                    "paired rounds; false where it is alone."));
  m.derived("certainty", row.certainty, meaning(meaning_of_certainty));
}

void describe_case(Members& m, const ScalingStudy& study, ScalingRow& row) {
  const bool is_system = m.writes() && !study.problem;
  const auto& scaled = row.scaled;
  const auto cut = m.writes() ? scaled.cut() : std::string();
  const auto way = m.writes() ? scaled.name() : std::string();
  const auto form = scaled.form();
  const auto order = m.writes() ? study.order_of(scaled) : 0;
  bool is_sound = row.is_sound();
  m.derived("cores", scaled.core_count(), at_least(1));
  m.derived("way", way,
            meaning("one core, ranks only, shared-memory ranks, ranks x threads or threads only"));
  m.derived("form", only_if(is_system, form), meaning("Of a system: matrix or matrix-free."));
  m.derived("transport", scaled.transport(), meaning("With one rank it moves nothing."));
  m.derived("ranks", scaled.rank_count, at_least(1));
  m.derived("threads", scaled.asked.configuration.thread_count, at_least(1, "Of each rank."));
  m.derived("matrix", only_if(is_system, scaled.matrix),
            meaning("Of a system: the file, or the operator as this number of cores has it."));
  m.derived("n", order, at_least(0, "Order of the matrix on that many cores; 0: a system that never ran."));
  m.derived("cut", only_if(!cut.empty(), cut), meaning("As --cut has it, of a matrix on several ranks."));
  const auto failed = std::ranges::find_if_not(row.runs, &ScalingRun::succeeded);
  m.derived(
      "status",
      row.runs.empty() ? "not-run" : status_name(failed == row.runs.end() ? ExitCode::success : failed->code),
      meaning("success, that of its first run that failed, or not-run."));
  m.derived("runs", std::ssize(row.runs), at_least(0));
  m.derived("disturbed_runs", row.disturbed_count(), at_least(0));
  m.derived("arrangement", only_if(is_system, row.median_run.arrangement),
            meaning("Of the ranks, for a system; empty where a run failed."));
  m.object_if(
      is_sound, "figures",
      or_null("Of all rounds; kernel and shares of the one with the median time (of an even number the "
              "lower of the middle two). null where a run failed, or none took place."),
      [&] { describe_figures(m, study, row); });
  m("rounds", row.runs, meaning("null stands for what a run did not measure, since it failed."));
}

void describe_agreement(Members& m, ZetaAgreement& one) {
  m("n", one.problem.n, at_least(1));
  m("reference_zeta", one.problem.reference_zeta, or_null());
  m("runs", one.run_count, at_least(1));
  m("zeta_minimum", one.minimum);
  m("zeta_maximum", one.maximum);
  m.derived("relative_difference", one.relative_difference(), at_least(0));
  m.derived("agrees", one.holds(), meaning("Within 1e-10."));
}

void describe_machine(Members& m, Environment& environment) {
  m("mpi", environment.mpi_version);
  m("blas", environment.blas);
  m("compiler", environment.build.compiler);
  m("flags", environment.build.flags);
  m("build_type", environment.build.build_type);
  m("nodes", environment.nodes, {.fewest = 1});
  describe_binding(m, environment);
}

void describe(Members& m, ScalingDocument& document) {
  auto& [study, rows] = document;
  const auto verdict = m.writes() ? verdict_on(study) : ScalingVerdict{};
  describe_head(m);
  m.derived("status", verdict.code, meaning("success, or that of the first run that failed."));
  m.derived("reason", verdict.reason, meaning("One line, as on stderr; empty on success."));
  m.derived("exit_code", static_cast<int>(verdict.code), at_least(0));
  m("warnings", study.warnings);
  m.derived("scaling", study.weak ? "weak" : "strong");
  m.object("options", [&, &study = study] { describe_options(m, study); });
  m("provenance", study.provenance, or_null());
  m.object_if(study.machine, "machine", or_null("As all ranks started see it."),
              [&](Environment& machine) { describe_machine(m, machine); });
  m.list("verification", m.writes() ? agreements_of(study) : std::vector<ZetaAgreement>(),
         meaning("Of all successful runs of a problem of the benchmark, once for each problem."),
         [&](ZetaAgreement& one, std::size_t /*index*/) { describe_agreement(m, one); });
  m.list("ways", rows,
         {.meaning = "In the order of the table: by cores, and with fewer and fewer ranks.", .fewest = 1},
         [&, &study = study](ScalingRow& row, std::size_t /*index*/) { describe_case(m, study, row); });
}

std::string scaling_text(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  Table table;
  for (const auto& row : rows) {
    if (&row != rows.data() && row.scaled.core_count() != (&row - 1)->scaled.core_count()) table.gap();
    add_line(study, row, table);
  }
  auto text = title_of(study) + table.text() + "\n" + verdicts_of(study) + failures_of(rows) +
              disturbances_of(rows) + verification_of(study);
  for (const auto& warning : study.warnings) text += fmt::format("  Warning: {}\n", warning);
  return text + legend_of(study);
}

class Scaling final : public Study {
 public:
  Scaling(const ScalingOptions& options, comm::RankGroup& group) : Study(options, group), options_(options) {
    study_.weak = options.weak;
    study_.values = options.values;
    study_.configuration = options_.session().configuration;
    if (options.system) {
      study_.system = system_name(*options.system);
      study_.iteration_count = options.system->most_iterations;
    } else {
      study_.problem = options.problem;
    }
  }

  ExitCode execute() {
    plan();
    const auto output = open_output(options_.output, group_);
    study_.is_interrupted = !perform_rounds(steps_of_rounds(study_.round_count));
    write_output(output.get(), group_, [&] { return write_scaling(study_, options_.format); });
    return conclude();
  }

 private:
  /// Every other run would fail in the same way.
  void check(const StudiedRun& run) const override {
    if (run.code == ExitCode::usage || run.code == ExitCode::unavailable)
      throw RunError(run.code, run.reason);
  }

  bool keep(const StudyStep& step, StudiedResult result, double /*duration_s*/) override {
    for (const auto& warning : result.run.warnings) warn(warning);
    study_.runs.push_back({{std::move(result.run)}, study_.cases[step.number], step.round});
    return false;
  }

  [[nodiscard]] std::vector<std::size_t> open_cases(double precision) const override {
    std::vector<std::size_t> numbers;
    for (const auto& [core_count, ranking] : rankings_of(study_)) {
      for (const auto index : open_alternatives(ranking.verdict, precision))
        numbers.push_back(ranking.places[index]);
    }
    std::ranges::sort(numbers);
    return numbers;
  }

  void plan() {
    study_.core_counts = options_.core_counts;
    if (study_.core_counts.empty()) study_.core_counts = usual_core_counts(group_.size());
    study_.core_counts.push_back(1);  // speed-up and efficiency refer to it
    std::ranges::sort(study_.core_counts);
    study_.core_counts.erase(std::unique(study_.core_counts.begin(), study_.core_counts.end()),
                             study_.core_counts.end());
    require_started("--cores", study_.core_counts.back(), group_.size());
    if (!names("transport")) study_.values["transport"] = {"two-sided", "shared"};
    if (!names("cut")) study_.values["cut"] = {std::string(automatic_choice)};
    if (options_.system) {
      plan_system();
    } else {
      plan_benchmark();
    }
    study_.machine = inspect_environment(group_, 1);
    if (options_.session().names_hosts) name_by_host(*study_.machine);
    if (group_.rank() == 0)
      study_.provenance = inspect_provenance(*study_.machine, options_.session().names_hosts);
    leave_out_unavailable_transports();
    leave_out_cuts_for_other_ranks();
    leave_out_cases_without_room();
    study_.round_count = options_.round_count.value_or(rounds_for_verdicts(study_.cases));
    for (const auto& one : study_.cases)
      cases_.push_back({.name = one.label(),
                        .kind = fmt::format("{} cores", one.core_count()),
                        .rank_count = one.rank_count,
                        .asked = one.asked});
    prepare(*study_.machine);
  }

  void plan_benchmark() {
    std::vector<Problem> problems;
    for (const int core_count : study_.core_counts) {
      problems.push_back(scaled_problem(options_.problem, core_count, study_.weak));
      add_cases(core_count, study_.values,
                {.problem = problem_name(problems.back()), .configuration = study_.configuration});
    }
    work_ = benchmark_work(std::move(problems), options_.common);
  }

  void plan_system() {
    std::vector<SystemOptions> systems;
    for (const int core_count : study_.core_counts) {
      auto& system = systems.emplace_back(*options_.system);
      auto& text = system.operator_text;
      if (!text.empty()) text = scaled_operator(text, core_count, study_.weak);
      for (auto& asked : forms_of(system)) {
        auto values = study_.values;
        if (asked.is_matrix_free()) {
          values.erase("cut");
          asked.configuration.kernel = automatic_choice;  // which is the matrix's
        }
        add_cases(core_count, values, asked, system.matrix_text());
      }
    }
    work_ = system_work(std::move(systems));
  }

  /// Whether the command line has values for this axis.
  [[nodiscard]] bool names(std::string_view axis) const {
    const auto values = options_.values.find(axis);
    return values != options_.values.end() && !values->second.empty();
  }

  void add_cases(int core_count, const AxisValues& values, const ConfiguredProblem& common,
                 const std::string& matrix = {}) {
    for (auto& one : cases_of({core_count}, values, common)) {
      one.matrix = matrix;
      study_.cases.push_back(std::move(one));
    }
  }

  void warn(const std::string& text) {
    if (std::ranges::find(study_.warnings, text) == study_.warnings.end()) study_.warnings.push_back(text);
  }

  /// A transport that was named must be available; of the usual ones the available ones run.
  void leave_out_unavailable_transports() {
    std::erase_if(study_.cases, [&](const ScalingCase& one) {
      const auto reason = why_unavailable(one);
      if (reason.empty()) return false;
      const auto text = fmt::format("transport {} cannot serve {}: {}", one.transport(),
                                    format_count(one.rank_count, "rank"), reason);
      if (names("transport")) throw RunError(ExitCode::unavailable, "--transport: " + text);
      warn(text + "; its cases are left out");
      return true;
    });
  }

  /// Why the transport of a case is unavailable; the same text on every rank. Collective.
  std::string why_unavailable(const ScalingCase& one) {
    const auto* const transport = comm::find_transport(one.transport());
    if (transport == nullptr || one.rank_count == 1) return {};
    std::string reason;
    if (auto* const group = first_ranks_.of(one.rank_count)) reason = transport->why_unavailable(*group);
    return group_.broadcast(std::move(reason));
  }

  /// A file of shares is for one number of ranks. Throws InputError where no case has as many.
  void leave_out_cuts_for_other_ranks() {
    for (const auto& text : study_.values["cut"]) {
      const auto rank_count = rank_count_for(matrix_cut_from(text), group_);
      if (!rank_count) continue;
      const auto left_out = std::erase_if(study_.cases, [&](const ScalingCase& one) {
        return one.cut() == text && one.rank_count != *rank_count;
      });
      if (std::ranges::find(study_.cases, text, &ScalingCase::cut) == study_.cases.end())
        throw InputError(
            fmt::format("--cut {}: has a share for each of {}, and no case has as many; see --cores", text,
                        format_count(*rank_count, "rank")));
      if (left_out > 0)
        warn(fmt::format("cut {}: only with {}, since it has as many shares", text,
                         format_count(*rank_count, "rank")));
    }
  }

  /// Rank 0 takes part in every case, so it sees what the others see.
  void leave_out_cases_without_room() {
    std::vector<std::size_t> without;
    std::vector<std::string> bound;
    for (std::size_t place = 0; place < study_.cases.size(); ++place) {
      const auto& one = study_.cases[place];
      auto* const group = first_ranks_.of(one.rank_count);
      const auto seen = group != nullptr ? inspect_environment(*group, one.asked.configuration.thread_count)
                                         : Environment{};
      if (group_.rank() != 0) continue;
      const auto room = room_for(one, *study_.machine, seen);
      if (room == Room::bound || room == Room::no_node) without.push_back(place);
      if (room == Room::bound) bound.push_back(one.label());
      if (room == Room::no_node)
        warn(one.label() + ": left out, since no node has a core for each of its threads");
      if (room == Room::shared)
        warn(fmt::format("{}: there are fewer here; ranks and threads share them",
                         format_count(one.core_count(), "core")));
    }
    if (!bound.empty()) {
      warn(fmt::format(
          "left out, since the launcher binds their ranks to fewer cores than they have threads: {}; start "
          "the ranks unbound (mpiexec -bind-to none)",
          fmt::join(bound, "; ")));
    }
    without = group_.gather_all(std::span<const std::size_t>(without)).front();
    std::ranges::reverse(without);
    for (const auto place : without)
      study_.cases.erase(study_.cases.begin() + static_cast<std::ptrdiff_t>(place));
  }

  /// From the runs, which rank 0 has.
  ExitCode conclude() {
    std::int64_t code = 0;
    if (group_.rank() == 0) {
      const auto verdict = verdict_on(study_);
      code = static_cast<std::int64_t>(verdict.code);
      if (verdict.code != ExitCode::success) say_on_stderr(verdict.reason);
    }
    return static_cast<ExitCode>(group_.maximum(code));
  }

  const ScalingOptions& options_;
  ScalingStudy study_;  // its runs and warnings on rank 0
};

}  // namespace

std::int64_t ScalingStudy::order_of(const ScalingCase& one) const {
  if (problem) return problem_on(*this, one.core_count()).n;
  std::int64_t order = 0;
  for (const auto& run : runs) {
    if (run.scaled == one) order = std::max(order, run.n);
  }
  return order;
}

std::vector<ScalingRow> rows_of(const ScalingStudy& study) {
  std::vector<ScalingRow> rows;
  for (const auto& one : study.cases) rows.push_back(row_of(study, one));
  static_cast<void>(rank(rows));
  for (auto& row : rows) {
    if (!row.is_sound()) continue;
    const auto base = std::ranges::find_if(rows, [&](const auto& other) {
      return other.scaled.core_count() == 1 && other.scaled.form() == row.scaled.form() && other.is_sound();
    });
    if (base == rows.end()) continue;
    row.speed_up = row.rate / base->rate;
    row.efficiency = *row.speed_up / row.scaled.core_count();
  }
  return rows;
}

double ZetaAgreement::relative_difference() const {
  const double largest = std::max(std::abs(minimum), std::abs(maximum));
  return largest > 0.0 ? (maximum - minimum) / largest : 0.0;
}

std::string ZetaAgreement::text() const {
  return fmt::format("n {}: zeta of {} {} within {:.1e} ({:g} allowed)", problem.n,
                     format_count(run_count, "run"), holds() ? "agrees" : "agrees only",
                     relative_difference(), Problem::tolerance);
}

std::vector<ZetaAgreement> agreements_of(const ScalingStudy& study) {
  std::vector<ZetaAgreement> agreements;
  for (const auto& run : study.runs) {
    if (!run.succeeded() || !run.zeta) continue;
    const auto problem = problem_on(study, run.scaled.core_count());
    auto known = std::ranges::find_if(agreements, [&](const auto& one) {
      return problem_name(one.problem) == problem_name(problem) &&
             one.problem.reference_zeta == problem.reference_zeta;
    });
    if (known == agreements.end()) {
      agreements.push_back({.problem = problem, .run_count = 0, .minimum = *run.zeta, .maximum = *run.zeta});
      known = agreements.end() - 1;
    }
    ++known->run_count;
    known->minimum = std::min(known->minimum, *run.zeta);
    known->maximum = std::max(known->maximum, *run.zeta);
  }
  return agreements;
}

ScalingVerdict verdict_on(const ScalingStudy& study) {
  const auto failed = std::ranges::find_if_not(study.runs, &ScalingRun::succeeded);
  if (failed != study.runs.end()) {
    // Each case needs a memory of its own: the limit that would do for the first one may be too small for another.
    const auto others = std::ranges::any_of(failed, study.runs.end(), [&](const auto& run) {
      return !run.succeeded() && run.reason != failed->reason;
    });
    return {.code = failed->code,
            .reason = fmt::format("{}: {}{}", failed->scaled.label(), failed->reason,
                                  others ? "; other runs failed, too: the table says which" : "")};
  }
  if (study.is_interrupted) {
    const auto planned = study.cases.size() * static_cast<std::size_t>(study.round_count);
    return {.code = ExitCode::interrupted,
            .reason = fmt::format("interrupted by a signal after {} of {} runs", study.runs.size(),
                                  std::max(planned, study.runs.size()))};
  }
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.problem.reference_zeta || agreement.holds()) continue;
    return {.code = ExitCode::verification_failed, .reason = agreement.text()};
  }
  return {};
}

void visit_scaling(Members& m) { visit_new<ScalingDocument>(m); }

std::string write_scaling(const ScalingStudy& study, std::string_view format) {
  if (format == "text") return scaling_text(study);
  const ScalingDocument document{study, rows_of(study)};
  return format == "json" ? document_text(document) : csv_of_lists(document, {{"ways"}});
}

ExitCode compare_cases(const ScalingOptions& options, comm::RankGroup& group) {
  return Scaling(options, group).execute();
}

}  // namespace cg2d
