#include "cg/studies/scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cg/base/values.hpp"

namespace cg2d {

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

/// Seconds by round.
RoundTimes rounds_of(const ScalingRow& row) {
  RoundTimes rounds;
  for (const auto& run : row.runs) rounds.emplace(run.round, run.time_s);
  return rounds;
}

CaseRanking ranking_on(const std::vector<ScalingRow>& rows, int core_count) {
  CaseRanking ranking{.core_count = core_count, .cases = {}, .medians_s = {}, .verdict = {}};
  std::vector<RoundTimes> rounds;
  std::int64_t disturbed_count = 0;
  std::int64_t run_count = 0;
  for (const auto& row : rows) {
    if (row.scaled.core_count() != core_count || !row.is_sound()) continue;
    ranking.cases.push_back(row.scaled);
    rounds.push_back(rounds_of(row));
    ranking.medians_s.push_back(row.time_s->median);
    disturbed_count += row.disturbed_count();
    run_count += std::ssize(row.runs);
  }
  if (!rounds.empty()) ranking.verdict = find_best(rounds);
  note_disturbed_runs(disturbed_count, run_count, ranking.verdict);
  return ranking;
}

std::vector<CaseRanking> rankings_of(const std::vector<ScalingRow>& rows) {
  std::vector<CaseRanking> rankings;
  for (const auto& row : rows) {
    const int core_count = row.scaled.core_count();
    if (!row.is_sound() ||
        std::ranges::find(rankings, core_count, &CaseRanking::core_count) != rankings.end())
      continue;
    rankings.push_back(ranking_on(rows, core_count));
  }
  return rankings;
}

/// The figures of a row that need the others on as many cores.
void rank_row(ScalingRow& row, const CaseRanking& ranking) {
  const auto place =
      static_cast<std::size_t>(std::ranges::find(ranking.cases, row.scaled) - ranking.cases.begin());
  const auto& verdict = ranking.verdict;
  row.is_candidate = place == verdict.candidate;
  row.may_be_best = !verdict.is_better_than(place);
  row.certainty = verdict.certainty();
  row.ratio_to_best = row.is_candidate ? 1.0 : verdict.against[place].median;
}

bool is_same_problem(const Problem& one, const Problem& other) {
  return problem_name(one) == problem_name(other) && one.reference_zeta == other.reference_zeta;
}

/// Without the rounds that may be added.
std::size_t planned_run_count(const ScalingStudy& study) {
  return study.cases.size() * static_cast<std::size_t>(study.round_count);
}

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
  const auto rankings = rankings_of(rows);
  for (auto& row : rows) {
    if (!row.is_sound()) continue;
    rank_row(row, *std::ranges::find(rankings, row.scaled.core_count(), &CaseRanking::core_count));
    const auto base = std::ranges::find_if(rows, [&](const auto& other) {
      return other.scaled.core_count() == 1 && other.scaled.form() == row.scaled.form() && other.is_sound();
    });
    if (base == rows.end()) continue;
    row.speed_up = row.rate / base->rate;
    row.efficiency = *row.speed_up / row.scaled.core_count();
  }
  return rows;
}

std::vector<CaseRanking> rankings_of(const ScalingStudy& study) { return rankings_of(rows_of(study)); }

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
    auto known = std::ranges::find_if(agreements,
                                      [&](const auto& one) { return is_same_problem(one.problem, problem); });
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
    return {.code = ExitCode::interrupted,
            .reason = fmt::format("interrupted by a signal after {} of {} runs", study.runs.size(),
                                  std::max(planned_run_count(study), study.runs.size()))};
  }
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.problem.reference_zeta || agreement.holds()) continue;
    return {.code = ExitCode::verification_failed, .reason = agreement.text()};
  }
  return {};
}

}  // namespace cg2d
