#include "cg/studies/scaling.hpp"

#include <cmath>
#include <iterator>

#include "cg/base/output_file.hpp"
#include "cg/base/table.hpp"
#include "cg/matrix/stencil.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/studies/sweep.hpp"

namespace cg2d {
namespace {

int rank_count_of(const ConfiguredProblem& one) { return one.configuration.grid.rank_count(); }

/// As --cut has it; empty where there are no pieces of a matrix: with one rank, or without a matrix.
std::string cut_of(const ConfiguredProblem& one) {
  return rank_count_of(one) == 1 || one.is_matrix_free() ? std::string() : one.configuration.cut;
}

/// "one core", "ranks only", "shared-memory ranks", "ranks x threads" or "threads only".
std::string way_of(const ConfiguredProblem& one) {
  if (core_count_of(one) == 1) return "one core";
  if (rank_count_of(one) == 1) return "threads only";
  if (one.configuration.thread_count > 1) return "ranks x threads";
  const auto* const row = comm::find_transport(one.configuration.transport);
  return row != nullptr && row->reads_in_place ? "shared-memory ranks" : "ranks only";
}

/// Its label among those on as many cores: "ranks x threads, shared, 2 x 2, cut speed".
std::string choices_of(const ConfiguredProblem& one) {
  const auto cut = cut_of(one);
  return fmt::format("{}{}{}{}, {} x {}{}", form_of(one), one.is_system() ? ", " : "", way_of(one),
                     rank_count_of(one) > 1 ? ", " + one.configuration.transport : "", rank_count_of(one),
                     one.configuration.thread_count,
                     cut.empty() || cut == one.usual_cut() ? "" : ", cut " + cut);
}

/// The problem for a number of cores. Strong scaling: the problem as it is. Weak: n grows with the cores, and
/// on more than one core there is no reference. Throws InputError when n becomes too large.
Problem problem_on(const ScalingStudy& study, int core_count) {
  auto problem = study.options.common.problem;
  if (!study.options.weak || core_count == 1) return problem;
  problem.class_name = "U";
  problem.reference_zeta.reset();
  problem.n *= core_count;
  try {
    check_problem(problem);
  } catch (const InputError& error) {
    throw InputError("--weak on {}: {}; take fewer cores or a smaller class",
                     format_count(core_count, "core"), error.what());
  }
  return problem;
}

bool is_system(const ScalingStudy& study) { return study.options.system.has_value(); }

SystemOptions system_on(const ScalingStudy& study, int core_count) {
  auto system = *study.options.system;
  auto& text = system.operator_text;
  if (!text.empty()) text = scaled_operator(text, core_count, study.options.weak);
  return system;
}

/// The rankings of the cases on each number of cores that ran.
std::map<int, Ranking> rankings_of(const std::vector<ResultRecord>& runs) {
  std::map<int, std::vector<ResultRecord>> by_cores;
  for (const auto& run : runs) by_cores[core_count_of(run.asked)].push_back(run);
  std::map<int, Ranking> rankings;
  for (const auto& [core_count, records] : by_cores)
    rankings[core_count] = rank_by_time(measured_configurations(records));
  return rankings;
}

/// One line. Figures are missing where a run failed, or none was made.
void add_line(const ScalingStudy& study, const ScalingRow& row, Table& table) {
  const auto& asked = row.asked;
  const auto run = row.median_run();
  const auto& system = study.options.system;
  table.line().number("cores", "{}", core_count_of(asked)).word("configuration", choices_of(asked));
  table.word("grid", run.arrangement).word("kernel", run.kernel_used);
  if (system) table.number("rows", row.is_sound() ? std::to_string(run.n) : "");
  if (!row.is_sound()) {
    table.number("seconds", std::string(row.runs.empty() ? "not run" : "failed"));
    return;
  }
  const auto time_s = row.time_s();
  table.number("seconds", "{:.6f}", time_s.median).number("spread", percent_text(time_s.spread(), 0));
  if (system) {
    table.number("ms/iteration", "{:.4f}", 1e3 * (time_s.median / system->most_iterations));
  } else {
    table.number("Mop/s", "{:.1f}", row.rate / 1e6);
  }
  table.number("speed-up", row.speed_up ? fmt::format("{:.2f}", *row.speed_up) : "");
  table.number("efficiency", percent_text(row.efficiency, 1));
  table.number("comm", percent_text(run.shares.moving, 1));
  table.number("waiting", percent_text(run.shares.waiting, 1));
  // Marks the best case (*), or those that may be (~), and those with disturbed runs (!).
  const auto mark = best_mark(row.certainty, row.may_be_best);
  table.number("vs best", "{:.3f}{}{}", row.ratio_to_best, mark.empty() ? " " : mark,
               row.measured.disturbed_count > 0 ? "!" : " ");
}

std::string title_of(const ScalingStudy& study) {
  const auto& options = study.options;
  const auto subject = options.system
                           ? system_name(*options.system)
                           : fmt::format("class {} (n {}{}), kernel {}, grids by rule",
                                         problem_name(options.common.problem), options.common.problem.n,
                                         options.weak ? " x cores" : "", options.common.configuration.kernel);
  int round_count = options.round_count.value_or(0);
  for (const auto& run : study.runs) round_count = std::max(round_count, run.round);
  return fmt::format("{} scaling of {}, medians of {}{}\n\n", options.weak ? "Weak" : "Strong", subject,
                     format_count(round_count, "round"), options.until_sure ? " or more" : "");
}

constexpr std::string_view scaling_legend =
    "\n2 x 1: ranks x threads of each. spread: (maximum - minimum) / median. speed-up: by the rate of the\n"
    "same form on 1 core. comm: communication without waiting, waiting: in it; shares of the time. vs best:\n"
    "median ratio of paired rounds to the configuration on as many cores that is best (*) or first of those\n"
    "that may be (~). In parentheses: the interval of such a ratio, by the sign test.\n";

void describe_options(Members& m, ScalingOptions& options) {
  const bool has_system = options.system.has_value();
  auto system = options.system.value_or(SystemOptions());
  m.if_given("problem", options.common.problem, !has_system, meaning("Of the benchmark, on one core."));
  m.if_given("system", system_name(system), has_system, meaning("Of the user, on one core."));
  m.if_given("iterations", system.most_iterations, has_system, at_least(1, "Of each run of a system."));
  m("cores", options.core_counts, {.least = 1, .fewest = 1});
  m("transports", options.values["transport"], {.fewest = 1});
  m("cuts", options.values["cut"], {.meaning = "As --cut has them.", .fewest = 1});
  m.derived("kernel", options.session().configuration.kernel, meaning("A name, or auto."));
  m.derived("rounds", options.round_count.value_or(0), at_least(1));
}

void describe_run(Members& m, ResultRecord& run) {
  const bool succeeded = run.succeeded();
  m("round", run.round, at_least(1));
  m.derived("status", static_cast<ExitCode>(run.exit_code));
  m("reason", run.reason);
  m.derived("exit_code", run.exit_code, at_least(0));
  m.if_given("time_s", run.time_s, succeeded, or_null(positive()));
  m("zeta", run.zeta, or_null("null: it failed, or is of a system."));
  m.if_given("moving_share", run.shares.moving, succeeded, or_null(at_least(0)));
  m.if_given("waiting_share", run.shares.waiting, succeeded, or_null(at_least(0)));
  m.derived("disturbed", run.is_disturbed(), meaning("By other work on the machine."));
  m("disturbance", run.disturbance, meaning("The reason; empty where quiet."));
}

void describe_figures(Members& m, const ScalingStudy& study, ScalingRow& row) {
  const auto& system = study.options.system;
  auto times = row.time_s();
  auto median = row.median_run();
  m.if_given("grid", median.arrangement, !system, meaning("Of the benchmark."));
  m("kernel", median.kernel_used);
  describe(m, times);
  m.if_given("mops_total", row.rate / 1e6, !system, positive("By the official operation count."));
  m.if_given("iteration_s", times.median / (system ? system->most_iterations : 1), system.has_value(),
             positive("Of a system."));
  m("speed_up", row.speed_up,
    or_null(positive(
        "By the rate (Mop/s, or rows per second) of the same form on one core; null where that failed.")));
  m("efficiency", row.efficiency, or_null(positive("speed_up by cores.")));
  m("moving_share", median.shares.moving,
    at_least(0,
             "Phases that communicate (collection, summation, shuffle, halo, dot), without waiting; mean "
             "over the ranks."));
  m("waiting_share", median.shares.waiting, at_least(0, "Waiting for other ranks in these."));
  m("ratio_to_best", row.ratio_to_best,
    positive(
        "Median ratio of paired rounds to the candidate on as many cores; without any that of the medians."));
  m("is_candidate", row.is_candidate,
    meaning("That the others on as many cores beat least; decided or not."));
  m.derived("is_best", row.is_best(), meaning("The candidate, where is_decided."));
  m("may_be_best", row.may_be_best, meaning("The candidate, or a case that is not known to be worse."));
  m.derived("is_decided", row.certainty == Certainty::decided,
            meaning("Whether it is better than all others; false where it is alone."));
  m("certainty", row.certainty, meaning(meaning_of_certainty));
}

void describe_case(Members& m, const ScalingStudy& study, ScalingRow& row) {
  const bool is_of_system = is_system(study);
  auto& asked = row.asked;
  const int core_count = core_count_of(asked);
  int64_t order = is_of_system ? 0 : problem_on(study, core_count).n;
  for (const auto& run : row.runs) order = std::max(order, run.n);
  m.derived("cores", core_count, at_least(1));
  m.derived("way", way_of(asked),
            meaning("one core, ranks only, shared-memory ranks, ranks x threads or threads only"));
  m.if_given("form", form_of(asked), is_of_system, meaning("Of a system: matrix or matrix-free."));
  m("transport", asked.configuration.transport, meaning("With one rank it moves nothing."));
  m.derived("ranks", rank_count_of(asked), at_least(1));
  m("threads", asked.configuration.thread_count, at_least(1, "Of each rank."));
  std::string matrix;
  if (is_of_system) matrix = system_on(study, core_count).matrix_text();
  m.if_given("matrix", matrix, is_of_system, meaning("Of a system: file, or operator as scaled."));
  m("n", order, at_least(0, "Order of the matrix on that many cores; 0: a system that never ran."));
  auto cut = cut_of(asked);
  m.if_given("cut", cut, !cut.empty(), meaning("As --cut has it, of a matrix on several ranks."));
  const auto& statuses = row.measured.statuses;
  m.derived("status",
            row.runs.empty()   ? "not-run"
            : statuses.empty() ? "success"
                               : statuses.front(),
            meaning("success, that of its first run that failed, or not-run."));
  m.derived("runs", std::ssize(row.runs), at_least(0));
  m("disturbed_runs", row.measured.disturbed_count, at_least(0));
  m.if_given("arrangement", row.median_run().arrangement, is_of_system,
             meaning("Of a system; empty where a run failed."));
  m.object_if(row.is_sound(), "figures",
              or_null("Of all rounds; kernel and shares of the one with the median time. null where a run "
                      "failed, or none took place."),
              [&] { describe_figures(m, study, row); });
  m.list("rounds", row.runs, meaning("null stands for what a run did not measure, since it failed."),
         [&](ResultRecord& run, size_t /*index*/) { describe_run(m, run); });
}

std::string scaling_text(const ScalingStudy& study) {
  const auto rows = rows_of(study);
  Table table;
  for (const auto& row : rows) {
    if (&row != rows.data() && core_count_of(row.asked) != core_count_of((&row - 1)->asked)) table.gap();
    add_line(study, row, table);
  }
  auto text = title_of(study) + table.text() + "\n";
  for (const auto& [core_count, ranking] : rankings_of(study.runs)) {
    if (ranking.alternatives.size() > 1)
      text += fmt::format("  {}: {}\n", format_count(core_count, "core"), ranking_text(ranking, &choices_of));
  }
  for (const auto& row : rows) text += troubles_text(row.measured, label_of(row.asked));
  for (const auto& agreement : agreements_of(study))
    text += fmt::format("  {}{}\n", agreement.text(),
                        agreement.problem.reference_zeta ? "" : "; there is no reference");
  for (const auto& warning : study.warnings) text += fmt::format("  Warning: {}\n", warning);
  return text.append(scaling_legend);
}

/// Empty where it can, or where there is nothing to serve. Collective over the case's ranks.
std::string why_transport_cannot_serve(const ConfiguredProblem& one, comm::RankGroup& ranks) {
  const auto* const transport = comm::find_transport(one.configuration.transport);
  if (transport == nullptr || ranks.size() == 1) return {};
  const auto reason = transport->why_unavailable(ranks);
  if (reason.empty()) return {};
  return fmt::format("transport {} cannot serve {}: {}", transport->name, format_count(ranks.size(), "rank"),
                     reason);
}

class Scaling final : public Study {
 public:
  Scaling(const ScalingOptions& options, comm::RankGroup& group) : Study(options, group) {
    study_.options = options;
    ends_when_refused_ = true;  // every other run would fail in the same way
    leaves_arrangement_open_ = true;
  }

 private:
  std::string view() const override { return write_scaling(study_, study_.options.format); }

  ExitCode conclude(bool is_complete) override {
    study_.is_interrupted = !is_complete;
    if (group_.rank() == 0) study_.runs = records_of_plan();
    for (const auto& run : study_.runs) {
      for (const auto& text : run.warnings) warn(text);
    }
    write_output(output_.get(), group_, [&] { return view(); });
    const auto verdict = verdict_on(study_);
    return ended(verdict.code, verdict.reason);
  }

  std::vector<ConfiguredProblem> undecided(double precision) const override {
    std::vector<ConfiguredProblem> open;
    for (const auto& [core_count, ranking] : rankings_of(records_of_plan()))
      add_open(ranking, precision, open);
    return open;
  }

  void plan(const Environment& environment) override {
    auto& options = study_.options;
    const bool names_transports = !options.values["transport"].empty();
    plan_cases();
    auto& machine = study_.machine.emplace(environment);
    if (options.session().names_hosts) name_by_host(machine);
    if (group_.rank() == 0) study_.provenance = inspect_provenance(machine, options.session().names_hosts);
    leave_out_cuts_for_other_ranks();
    // Rank 0 takes part in every case, so it sees what the others see.
    std::erase_if(study_.cases, [&](const ConfiguredProblem& one) {
      std::string reason;
      bool lacks_transport = false;
      if (auto* const ranks = first_ranks(rank_count_of(one))) {
        reason = why_transport_cannot_serve(one, *ranks);
        lacks_transport = !reason.empty();
        if (!lacks_transport &&
            !has_room(one, machine, inspect_environment(*ranks, one.configuration.thread_count)))
          reason = label_of(one) +
                   ": its ranks have fewer cores than threads; where the launcher binds ranks, start them "
                   "unbound (mpiexec -bind-to none)";
      }
      reason = group_.broadcast(std::move(reason));
      if (reason.empty()) return false;
      // A transport that was named must be available; of the usual ones the available ones run.
      if (names_transports && group_.maximum(static_cast<int64_t>(lacks_transport)) != 0)
        throw RunError(ExitCode::unavailable, "--transport: {}", reason);
      warn("left out: " + reason);
      return true;
    });
    if (!options.round_count) options.round_count = rounds_for_verdicts(study_.cases, &core_count_of);
    round_count_ = *options.round_count;
    for (const auto& asked : study_.cases) {
      const int core_count = core_count_of(asked);
      auto& one = cases_.emplace_back(StudyCase{
          .work = {.key = label_of(asked), .kind = fmt::format("{} cores", core_count)}, .asked = asked});
      if (options.system) {
        one.operator_text = system_on(study_, core_count).operator_text;
      } else {
        one.problem = problem_on(study_, core_count);
      }
    }
    output_ = open_output(options.output, group_);
  }

  void plan_cases() {
    auto& options = study_.options;
    auto& core_counts = options.core_counts;
    if (core_counts.empty()) core_counts = usual_core_counts(group_.size());
    core_counts.push_back(1);  // speed-up and efficiency refer to it
    std::ranges::sort(core_counts);
    core_counts.erase(std::unique(core_counts.begin(), core_counts.end()), core_counts.end());
    require_started("--cores", core_counts.back(), group_.size());
    if (auto& transports = options.values["transport"]; transports.empty())
      transports = {"two-sided", "shared"};
    if (auto& cuts = options.values["cut"]; cuts.empty()) cuts = {std::string(automatic_choice)};
    for (const int core_count : core_counts) {
      const auto forms = options.system
                             ? forms_of(system_on(study_, core_count))
                             : forms_of({problem_on(study_, core_count)}, options.common.configuration);
      for (auto common : forms) {
        auto axes = options.values;
        if (common.is_matrix_free()) {
          axes.erase("cut");
          common.configuration.kernel = automatic_choice;  // which is the matrix's
        }
        std::ranges::move(cases_of({core_count}, axes, common), std::back_inserter(study_.cases));
      }
    }
  }

  void warn(const std::string& text) {
    if (std::ranges::find(study_.warnings, text) == study_.warnings.end()) study_.warnings.push_back(text);
  }

  /// A file of shares is for one number of ranks. Throws InputError where no case has as many.
  void leave_out_cuts_for_other_ranks() {
    for (const auto& text : study_.options.values["cut"]) {
      const auto rank_count = rank_count_for(matrix_cut_from(text), group_);
      if (!rank_count) continue;
      const auto ranks = format_count(*rank_count, "rank");
      const auto left_out = std::erase_if(study_.cases, [&](const auto& one) {
        return cut_of(one) == text && rank_count_of(one) != *rank_count;
      });
      if (std::ranges::find(study_.cases, text, &cut_of) == study_.cases.end())
        throw InputError("--cut {}: has a share for each of {}, and no case has as many; see --cores", text,
                         ranks);
      if (left_out > 0) warn(fmt::format("cut {}: only with {}, since it has as many shares", text, ranks));
    }
  }

  ScalingStudy study_;  // its runs and warnings on rank 0
  std::unique_ptr<OutputFile> output_;
};

}  // namespace

int core_count_of(const ConfiguredProblem& one) {
  return rank_count_of(one) * one.configuration.thread_count;
}

std::string form_of(const ConfiguredProblem& one) {
  if (!one.is_system()) return {};
  return one.is_matrix_free() ? "matrix-free" : "matrix";
}

std::string label_of(const ConfiguredProblem& one) {
  return format_count(core_count_of(one), "core") + ", " + choices_of(one);
}

std::vector<int> usual_core_counts(int rank_count) {
  std::vector<int> counts;
  for (int count = 1; count < rank_count; count *= 2) counts.push_back(count);
  counts.push_back(rank_count);
  return counts;
}

std::vector<ConfiguredProblem> cases_of(const std::vector<int>& core_counts, const AxisValues& values,
                                        const ConfiguredProblem& common) {
  std::vector<ConfiguredProblem> cases;
  for (const int core_count : core_counts) {
    for (int rank_count = core_count; rank_count >= 1; --rank_count) {
      if (core_count % rank_count != 0 || core_count / rank_count > most_threads) continue;
      auto one = common;
      one.configuration.thread_count = core_count / rank_count;
      for (auto& configuration : crossed(one.configuration, values)) {
        configuration.grid = {.columns = 1, .rows = rank_count};
        if (rank_count == 1) {
          configuration.transport = comm::default_transport().name;
          configuration.cut = automatic_choice;
        }
        one.configuration = with_cut(configuration, common.usual_cut());
        if (std::ranges::find(cases, one) == cases.end()) cases.push_back(one);
      }
    }
  }
  return cases;
}

std::string scaled_operator(const std::string& text, int core_count, bool weak) {
  if (!weak) return text;
  auto stencil = stencil_from(text);
  // Cubes, so that the number of faces alone counts; a dimension of one point stays one.
  comm::Extents cubes{};
  for (size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    cubes[dimension] = stencil.extents[dimension] > 1 ? int64_t{1} << 20 : 1;
  const auto grid = comm::best_domain_grid(cubes, core_count);
  for (size_t dimension = 0; dimension < comm::dimension_count; ++dimension)
    stencil.extents[dimension] *= grid.parts[dimension];
  auto grown = stencil.name();
  static_cast<void>(stencil_from(grown));  // throws where it becomes too large
  return grown;
}

bool has_room(const ConfiguredProblem& one, const Environment& all, const Environment& of_case) {
  const int thread_count = one.configuration.thread_count;
  int all_cores = 0;
  for (const auto& node : all.nodes) all_cores += node.core_count;
  // Ranks of one thread, and threads that outnumber all cores, run in any case: the run then says that they share cores.
  if (thread_count == 1 || core_count_of(one) > all_cores) return true;
  return std::ranges::all_of(
      of_case.nodes, [&](const NodeInfo& node) { return node.rank_count * thread_count <= node.core_count; });
}

std::vector<ScalingRow> rows_of(const ScalingStudy& study) {
  const auto rankings = rankings_of(study.runs);
  std::vector<ScalingRow> rows;
  for (const auto& one : study.cases) {
    auto& row = rows.emplace_back();
    row.asked = one;
    std::ranges::copy_if(study.runs, std::back_inserter(row.runs),
                         [&](const auto& run) { return run.asked == one; });
    if (row.runs.empty()) continue;
    row.measured = measured_configurations(row.runs).front();
    if (!row.is_sound()) continue;
    const auto& ranking = rankings.at(core_count_of(one));
    const auto place = ranking.place_of(one);
    row.rate = (is_system(study) ? static_cast<double>(row.median_run().n)
                                 : official_flop_count(problem_on(study, core_count_of(one)))) /
               row.time_s().median;
    row.is_candidate = place == 0;
    row.may_be_best = ranking.may_be_best(one);
    row.certainty = ranking.verdict.certainty();
    row.ratio_to_best = ranking.verdict.against[place].median;
  }
  for (auto& row : rows) {
    if (!row.is_sound()) continue;
    const auto base = std::ranges::find_if(rows, [&](const auto& other) {
      return core_count_of(other.asked) == 1 && form_of(other.asked) == form_of(row.asked) &&
             other.is_sound();
    });
    if (base == rows.end()) continue;
    row.speed_up = row.rate / base->rate;
    row.efficiency = *row.speed_up / core_count_of(row.asked);
  }
  return rows;
}

double ZetaAgreement::relative_difference() const {
  const double largest = std::max(std::abs(minimum), std::abs(maximum));
  return largest > 0.0 ? (maximum - minimum) / largest : 0.0;
}

bool ZetaAgreement::holds() const {
  if (problem.reference_zeta) return meets_reference(problem, minimum) && meets_reference(problem, maximum);
  return relative_difference() <= Problem::tolerance;
}

std::string ZetaAgreement::text() const {
  const auto zeta = fmt::format("n {}: zeta of {}", problem.n, format_count(run_count, "run"));
  if (problem.reference_zeta)
    return fmt::format("{} {} the reference {}", zeta, holds() ? "meets" : "does not meet",
                       *problem.reference_zeta);
  return fmt::format("{} {} within {:.1e} ({:g} allowed)", zeta, holds() ? "agrees" : "agrees only",
                     relative_difference(), Problem::tolerance);
}

std::vector<ZetaAgreement> agreements_of(const ScalingStudy& study) {
  std::vector<ZetaAgreement> agreements;
  for (const auto& run : study.runs) {
    if (!run.succeeded() || !run.zeta) continue;
    const auto problem = problem_on(study, core_count_of(run.asked));
    auto known = std::ranges::find(agreements, problem.n, [](const auto& one) { return one.problem.n; });
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
  const auto failed = std::ranges::find_if_not(study.runs, &ResultRecord::succeeded);
  if (failed != study.runs.end())
    return {.code = static_cast<ExitCode>(failed->exit_code),
            .reason = fmt::format("{}: {}", label_of(failed->asked), failed->reason)};
  if (study.is_interrupted)
    return {.code = ExitCode::interrupted,
            .reason =
                fmt::format("interrupted by a signal after {}", format_count(std::ssize(study.runs), "run"))};
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.holds()) continue;
    return {.code = ExitCode::verification_failed, .reason = agreement.text()};
  }
  return {};
}

void describe(Members& m, ScalingStudy& study) {
  const auto verdict = verdict_on(study);
  describe_head(m);
  m.derived("status", verdict.code, meaning("success, or that of the first run that failed."));
  m.derived("reason", verdict.reason, meaning("One line, as on stderr; empty on success."));
  m.derived("exit_code", static_cast<int>(verdict.code), at_least(0));
  m("warnings", study.warnings);
  m.derived("scaling", study.options.weak ? "weak" : "strong");
  m.object("options", [&] { describe_options(m, study.options); });
  m("provenance", study.provenance, or_null());
  m("machine", study.machine, or_null("As all ranks started see it."));
  m.list("verification", agreements_of(study),
         meaning("Of all successful runs of a problem of the benchmark, once for each problem."),
         [&](ZetaAgreement& one, size_t /*index*/) {
           m("n", one.problem.n, at_least(1));
           m("reference_zeta", one.problem.reference_zeta, or_null());
           m("runs", one.run_count, at_least(1));
           m("zeta_minimum", one.minimum);
           m("zeta_maximum", one.maximum);
           m.derived("relative_difference", one.relative_difference(), at_least(0));
           m.derived("agrees", one.holds(), meaning("Within 1e-10."));
         });
  m.list("ways", rows_of(study),
         {.meaning = "In the order of the table: by cores, and with fewer and fewer ranks.", .fewest = 1},
         [&](ScalingRow& row, size_t /*index*/) { describe_case(m, study, row); });
}

std::string write_scaling(const ScalingStudy& study, std::string_view format) {
  if (format == "text") return scaling_text(study);
  return format == "json" ? document_text(study) : csv_of_lists(study, {{"ways"}});
}

ExitCode compare_cases(const ScalingOptions& options, comm::RankGroup& group) {
  return Scaling(options, group).execute();
}

}  // namespace cg2d
