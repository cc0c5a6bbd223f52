#include "cg/studies/scaling_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cg/base/values.hpp"

namespace cg2d {

// Rows, each defined in the file that writes the format.
ScalingFormat text_scaling_format();
ScalingFormat json_scaling_format();
ScalingFormat csv_scaling_format();

namespace {

/// The figures of one way that need no other way.
ScalingRow row_of(const ScalingWay& way, const std::vector<ScalingRun>& all_runs) {
  ScalingRow row;
  row.way = way;
  for (const auto& run : all_runs) {
    if (run.way == way) row.runs.push_back(run);
  }
  if (row.runs.empty() || !std::ranges::all_of(row.runs, &ScalingRun::succeeded)) return row;
  std::vector<double> times_s;
  for (const auto& run : row.runs) times_s.push_back(run.time_s);
  row.time_s = sample_of(times_s);
  row.median_run = median_run_of(row.runs, &ScalingRun::time_s);
  row.mops_total = official_flop_count(row.median_run.problem) / row.time_s->median / 1e6;
  return row;
}

/// The sound row on that many cores with the least median; nullptr if there is none.
const ScalingRow* best_on(const std::vector<ScalingRow>& rows, int core_count) {
  const ScalingRow* best = nullptr;
  for (const auto& row : rows) {
    if (row.way.core_count() != core_count || !row.is_sound()) continue;
    if (best == nullptr || row.time_s->median < best->time_s->median) best = &row;
  }
  return best;
}

bool is_same_problem(const Problem& one, const Problem& other) {
  return problem_name(one) == problem_name(other) && one.reference_zeta == other.reference_zeta;
}

}  // namespace

std::vector<ScalingRow> rows_of(const ScalingStudy& study) {
  std::vector<ScalingRow> rows;
  for (const auto& way : study.ways) rows.push_back(row_of(way, study.runs));
  const auto* const base = best_on(rows, 1);
  for (auto& row : rows) {
    if (!row.is_sound()) continue;
    const auto* const best = best_on(rows, row.way.core_count());
    row.is_best = best == &row;
    row.ratio_to_best = row.time_s->median / best->time_s->median;
    if (base == nullptr) continue;
    row.speed_up = row.mops_total / base->mops_total;
    row.efficiency = *row.speed_up / row.way.core_count();
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
    if (!run.succeeded()) continue;
    auto known = std::ranges::find_if(
        agreements, [&](const auto& one) { return is_same_problem(one.problem, run.problem); });
    if (known == agreements.end()) {
      agreements.push_back(
          {.problem = run.problem, .run_count = 0, .minimum = run.zeta, .maximum = run.zeta});
      known = agreements.end() - 1;
    }
    ++known->run_count;
    known->minimum = std::min(known->minimum, run.zeta);
    known->maximum = std::max(known->maximum, run.zeta);
  }
  return agreements;
}

ScalingVerdict verdict_on(const ScalingStudy& study) {
  for (const auto& run : study.runs) {
    if (!run.succeeded())
      return {.code = run.code, .reason = fmt::format("{}: {}", run.way.label(), run.reason)};
  }
  if (study.is_interrupted) {
    return {.code = ExitCode::interrupted,
            .reason = fmt::format("interrupted by a signal after {} of {} runs", study.runs.size(),
                                  study.ways.size() * static_cast<std::size_t>(study.round_count))};
  }
  for (const auto& agreement : agreements_of(study)) {
    if (agreement.problem.reference_zeta || agreement.holds()) continue;
    return {.code = ExitCode::verification_failed, .reason = agreement.text()};
  }
  return {};
}

std::span<const ScalingFormat> scaling_format_table() {
  static const std::array table{text_scaling_format(), json_scaling_format(), csv_scaling_format()};
  return table;
}

const ScalingFormat& scaling_format(std::string_view name) {
  return *std::ranges::find(scaling_format_table(), name, &ScalingFormat::name);
}

}  // namespace cg2d
