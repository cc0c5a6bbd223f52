#include "cg/studies/scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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

/// Ranks the rows of each number of cores, and notes in them how they compare.
std::vector<CaseRanking> rank(std::vector<ScalingRow>& rows) {
  std::map<int, CaseRanking> by_cores;
  for (std::size_t place = 0; place < rows.size(); ++place) {
    const auto& row = rows[place];
    if (!row.is_sound()) continue;
    auto& ranking = by_cores[row.scaled.core_count()];
    ranking.core_count = row.scaled.core_count();
    ranking.places.push_back(place);
    ranking.medians_s.push_back(row.time_s->median);
  }
  std::vector<CaseRanking> rankings;
  for (auto& [core_count, ranking] : by_cores) {
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
    rankings.push_back(std::move(ranking));
  }
  return rankings;
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

std::vector<CaseRanking> rankings_of(const ScalingStudy& study) {
  auto rows = rows_of(study);
  return rank(rows);
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
