// The report for spreadsheets: a header and one line per repetition.

#include <fmt/format.h>

#include "cg/report/report.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {
namespace {

std::string header() {
  std::string text =
      "status,class,n,nonzer,niter,shift,nonzero_count,px,py,ranks,threads,transport,sum_form,kernel,"
      "instruction_set,"
      "repeat,zeta,rnorm,time_s,mops_total,true_mflops";
  for (std::size_t index = 0; index < benchmark_phase_count; ++index)
    text += fmt::format(",{0}_s,{0}_max_s,{0}_waiting_s", phase_name(phase_at(index)));
  return text + ",overlap,collection_hidden_s,disturbed,date,commit,restarted_after\n";
}

/// Mean over the ranks.
std::string overlap_cells(const RunReport& report, const RepeatReport& repeat) {
  std::string text = report.configuration.overlaps ? ",on," : ",off,";
  if (!report.configuration.overlaps || !report.phases_timed) return text;
  double hidden_s = 0.0;
  for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
    const auto& record = repeat.ranks[rank].phases[static_cast<std::size_t>(Phase::collection)];
    hidden_s += static_cast<double>(record.hidden_clocks) / report.ranks[rank].ticks_per_second;
  }
  return text + fmt::format("{:.9g}", hidden_s / static_cast<double>(repeat.ranks.size()));
}

std::string phase_cells(const RunReport& report, const RepeatReport& repeat) {
  std::string text;
  for (std::size_t index = 0; index < benchmark_phase_count; ++index) {
    if (!report.phases_timed) {
      text += ",,,";
      continue;
    }
    std::vector<double> seconds;
    std::vector<double> waited;
    for (std::size_t rank = 0; rank < repeat.ranks.size(); ++rank) {
      const auto& record = repeat.ranks[rank].phases[index];
      seconds.push_back(static_cast<double>(record.clocks) / report.ranks[rank].ticks_per_second);
      waited.push_back(static_cast<double>(record.waited_clocks) / report.ranks[rank].ticks_per_second);
    }
    const auto spread = spread_of(seconds);
    text += fmt::format(",{:.9g},{:.9g},{:.9g}", spread.mean, spread.maximum, spread_of(waited).mean);
  }
  return text;
}

/// Empty where it is not known.
std::string origin_cells(const RunReport& report, const RepeatReport& repeat) {
  const auto* const disturbed = repeat.quiet.is_disturbed() ? "yes" : "no";
  if (!report.provenance) return fmt::format(",{},,", disturbed);
  return fmt::format(",{},{},{}", disturbed, report.provenance->time, report.provenance->commit.hash);
}

std::string write_csv(const RunReport& report) {
  std::string text = header();
  const auto& problem = report.problem;
  const auto& configuration = report.configuration;
  for (std::size_t k = 0; k < report.repeats.size(); ++k) {
    const auto& repeat = report.repeats[k];
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{:.17g},{:.17g},{:.9f},{:.6f},{:.6f}",
                    status_name(report.code), problem.class_name, problem.n, problem.nonzer, problem.niter,
                    problem.shift, report.nonzero_count, configuration.grid.columns, configuration.grid.rows,
                    configuration.grid.rank_count(), configuration.thread_count, configuration.transport,
                    sum_form_name(configuration.sum_form), configuration.kernel, report.instruction_set,
                    k + 1, repeat.steps.back().zeta, repeat.steps.back().residual_norm, repeat.time_s,
                    official_flop_count(timed_part(report)) / repeat.time_s / 1e6,
                    true_flop_count(timed_part(report), report.nonzero_count) / repeat.time_s / 1e6);
    text += phase_cells(report, repeat) + overlap_cells(report, repeat) + origin_cells(report, repeat);
    text += fmt::format(",{}\n", report.restart ? report.restart->step_count() : 0);
  }
  return text;
}

}  // namespace

ReportFormat csv_report_format() { return {.name = "csv", .write = &write_csv, .writes_errors = false}; }

}  // namespace cg2d
