// The report of a run. For people: the official closing block, our lines, the phase table.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cg/base/describe_json.hpp"
#include "cg/base/values.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/session_document.hpp"
#include "cg/report/summary.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/run_report.hpp"
#include "cg/solver/matrix_cut.hpp"
#include "cg/tuning/tuning_profile.hpp"

namespace cg2d {
namespace {

std::string verification_word(const RunReport& report) {
  if (!report.problem.reference_zeta) return "NOT PERFORMED";
  return report.code == ExitCode::success ? "SUCCESSFUL" : "UNSUCCESSFUL";
}

/// The official lines: site scripts look for these labels and columns. After a restart without time and rates, which those of the
/// whole benchmark would be taken for.
std::string official_block(const RunReport& report) {
  const auto& problem = report.problem;
  const double zeta = final_step(report).zeta;
  std::string text;
  constexpr int digits = 13;
  if (!problem.reference_zeta) {
    text += " NO VERIFICATION PERFORMED\n";
    text += " not verified: no reference\n";
    text += fmt::format(" Zeta is    {:>20}\n", format_fortran(zeta, digits));
  } else if (report.code == ExitCode::success) {
    const double error = std::abs((zeta - *problem.reference_zeta) / *problem.reference_zeta);
    text += " VERIFICATION SUCCESSFUL \n";
    text += fmt::format(" Zeta is    {:>20}\n", format_fortran(zeta, digits));
    text += fmt::format(" Error is   {:>20}\n", format_fortran(error, digits));
  } else {
    text += " VERIFICATION FAILED\n";
    text += fmt::format(" Zeta                {:>20}\n", format_fortran(zeta, digits));
    text += fmt::format(" The correct zeta is {:>20}\n", format_fortran(*problem.reference_zeta, digits));
  }
  const double time_s = median_repeat(report).time_s;
  const double mops = official_flop_count(timed_part(report)) / time_s / 1e6;
  const int rank_count = report.configuration.grid.rank_count();
  text += "\n\n CG Benchmark Completed.\n";
  text += fmt::format(" Class           = {:>24}\n", problem.class_name);
  text += fmt::format(" Size            = {:>24}\n", problem.n);
  text += fmt::format(" Iterations      = {:>24}\n", problem.niter);
  if (!report.restart) text += fmt::format(" Time in seconds = {:>24.2f}\n", time_s);
  text += fmt::format(" Total processes = {:>24}\n", rank_count);
  text += fmt::format(" Active procs    = {:>24}\n", rank_count);
  if (!report.restart) {
    text += fmt::format(" Mop/s total     = {:>24.2f}\n", mops);
    text += fmt::format(" Mop/s/process   = {:>24.2f}\n", mops / rank_count);
  }
  text += fmt::format(" Operation type  = {:>24}\n", "floating point");
  text += fmt::format(" Verification    = {:>24}\n", verification_word(report));
  return text;
}

/// The settings that the kernel has, and where they come from.
std::string tuning_text(const RunReport& report) {
  const auto& choice = report.kernel_choice;
  std::string text;
  const auto add = [&](std::string_view label, const std::optional<int>& value) {
    if (!value) return;
    text += fmt::format("{} {}, ", label, vector_length_text(*value));
  };
  add("critical vector length", choice.tuning.critical_vector_length);
  add("prefetch distance", choice.tuning.prefetch_distance);
  add("block width", choice.tuning.block_width);
  if (report.profile.processor.knows_kernels()) return text + fmt::format("profile {}", report.profile.path);
  return text + fmt::format("built-in ({})", report.profile.absence);
}

std::string row_length_text(const RunReport& report) {
  const auto lengths = all_row_lengths(report);
  const auto text =
      fmt::format("{} to {}, mean {:.1f} in the blocks", lengths.shortest, lengths.longest, lengths.mean());
  if (lengths.critical_vector_length == never_in_vectors)
    return text + "; no critical vector length: vectors pay for none of them";
  return text + fmt::format("; below the critical vector length {}: {:.1f} % of rows, {:.1f} % of nonzeros",
                            lengths.critical_vector_length, 100.0 * lengths.short_row_share(),
                            100.0 * lengths.short_row_nonzero_share());
}

/// Sums over all ranks' blocks.
std::string conversion_text(const RunReport& report) {
  std::int64_t csr_bytes = 0;
  std::int64_t block_bytes = 0;
  for (const auto& rank : report.ranks) {
    csr_bytes += rank.csr_bytes;
    block_bytes += rank.block_bytes;
  }
  const double per_nonzero = static_cast<double>(block_bytes) / static_cast<double>(report.nonzero_count);
  if (report.is_streamed)
    return fmt::format("none: panels of {} are streamed ({:.2f} bytes per nonzero)",
                       format_bytes(block_bytes), per_nonzero);
  if (!report.converted) {
    return fmt::format("none: the kernel takes the {} of CSR as they are ({:.2f} bytes per nonzero)",
                       format_bytes(csr_bytes), per_nonzero);
  }
  return fmt::format("{:.6f} s; {} of CSR became {} ({:.2f} bytes per nonzero)", report.conversion_s,
                     format_bytes(csr_bytes), format_bytes(block_bytes), per_nonzero);
}

std::string huge_page_text(const RunReport& report) {
  const auto share = [](const RankResult& rank) {
    return rank.resident_bytes > 0
               ? static_cast<double>(rank.huge_page_bytes) / static_cast<double>(rank.resident_bytes)
               : 0.0;
  };
  const auto& least = *std::ranges::min_element(report.ranks, {}, share);
  const auto setting =
      report.environment ? report.environment->transparent_huge_pages.value_or("unknown") : "unknown";
  if (least.resident_bytes == 0)
    return fmt::format("{}; this system does not say how many there are", setting);
  return fmt::format("{}; {} of {} resident on the rank with least", setting,
                     format_bytes(least.huge_page_bytes), format_bytes(least.resident_bytes));
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100.0 * *share) : "not known";
}

/// The figures of the repetition reported, in one line.
std::string quiet_text(const RunReport& report) {
  const auto& quiet = median_repeat(report).quiet;
  const auto load = quiet.other_load ? fmt::format("{:.2f} processors", *quiet.other_load) : "not known";
  return fmt::format(
      "{}: threads waited for a processor {}{}, steal {}, other processes {}, CPU speed differs by {:.1f} % "
      "between ranks and changed by {:+.1f} % during the run",
      disturbance(report).empty() ? "yes" : "no, see the warning", share_text(quiet.delay_share),
      quiet.is_oversubscribed ? " (they outnumber the cores)" : "", share_text(quiet.steal_share), load,
      100.0 * quiet.loop_spread, 100.0 * quiet.speed_change());
}

/// With the reason and the advice; empty for a quiet run.
std::string disturbance_warning(const RunReport& report) {
  const auto reason = disturbance(report);
  return reason.empty() ? std::string() : "disturbed, so repeat it on a quiet machine: " + reason;
}

/// The settings of the first node's system, as far as they are known.
std::string system_text(const Provenance& provenance, const NodeInfo& node) {
  std::string text = fmt::format("{}, {}", provenance.kernel, provenance.libc);
  if (node.governor) text += ", governor " + *node.governor;
  if (node.numa_nodes) text += ", " + format_count(*node.numa_nodes, "NUMA node");
  if (const auto& load = node.load_average)
    text += fmt::format(", load {:.2f} {:.2f} {:.2f}", (*load)[0], (*load)[1], (*load)[2]);
  return text;
}

/// When, from what, and how.
std::string origin_lines(const RunReport& report) {
  if (!report.provenance) return {};
  const auto& provenance = *report.provenance;
  LabelledLines line;
  line("Node", report.environment->nodes.front().name);
  line("System", system_text(provenance, report.environment->nodes.front()));
  line.text += command_lines(report);
  std::string variables;
  for (const auto& [name, value] : provenance.variables)
    variables += fmt::format("{}{}={}", variables.empty() ? "" : " ", name, value);
  if (!variables.empty()) line("Environment", variables);
  return line.text;
}

std::string own_lines(const RunReport& report) {
  const auto& problem = report.problem;
  const auto& repeat = median_repeat(report);
  LabelledLines line;
  if (const auto times = repeat_times(report); times.spread()) {
    line("Seconds",
         fmt::format("{:.6f} (median of {}; minimum {:.6f}, quartiles {:.6f} and {:.6f}, maximum {:.6f}, "
                     "spread {:.1f} %)",
                     repeat.time_s, times.count, times.minimum, times.lower_quartile, times.upper_quartile,
                     times.maximum, 100.0 * *times.spread()));
  } else {
    line("Seconds", fmt::format("{:.6f}", repeat.time_s));
  }
  line("True Mflop/s",
       fmt::format("{:.2f} (from {} nonzeros; Mop/s above counts nonzer*(nonzer+1) = {} per row)",
                   true_flop_count(timed_part(report), report.nonzero_count) / repeat.time_s / 1e6,
                   report.nonzero_count, std::int64_t{problem.nonzer} * (problem.nonzer + 1)));
  line("Problem", fmt::format("n {}, nonzer {}, shift {}, niter {}", problem.n, problem.nonzer, problem.shift,
                              problem.niter));
  line.text += choice_lines(report, repeat);
  if (report.configuration.cut != even_cut) line("Cut", report.configuration.cut);
  line("Tuning", tuning_text(report));
  line("Row lengths", row_length_text(report));
  if (report.prediction) {
    line("Prediction",
         fmt::format("{:.6f} s by the calibrated description of this machine; measured {:+.1f} %",
                     report.prediction->total_s(),
                     100.0 * (repeat.time_s / report.prediction->total_s() - 1.0)));
  }
  line("Conversion", conversion_text(report));
  line("Huge pages", huge_page_text(report));
  if (report.environment) {
    const auto& node = report.environment->nodes.front();
    line("Machine",
         fmt::format("{}, {} on the first: {}", format_count(std::ssize(report.environment->nodes), "node"),
                     format_count(node.core_count, "core"), node.processor));
  }
  line("Quiet", quiet_text(report));
  return line.text + origin_lines(report) +
         labelled_lines(run_figures(), json_of(run_document(report, &repeat)));
}

std::string result_summary(const RunReport& report) {
  const auto& problem = report.problem;
  const double zeta = final_step(report).zeta;
  if (!report.unfinished.empty()) return "not completed: " + report.reason;
  if (!problem.reference_zeta)
    return fmt::format("zeta {:.13f}, not verified: no reference for n {}, niter {}", zeta, problem.n,
                       problem.niter);
  const double error = std::abs((zeta - *problem.reference_zeta) / *problem.reference_zeta);
  if (report.code == ExitCode::success)
    return fmt::format("class {} verified: zeta {:.13f}, relative error {:.1e}", problem.class_name, zeta,
                       error);
  return fmt::format("class {} WRONG: zeta {:.13f}, not {:.13f}", problem.class_name, zeta,
                     *problem.reference_zeta);
}

std::string time_summary(const RunReport& report) {
  const auto times = repeat_times(report);
  const double time_s = median_repeat(report).time_s;
  const auto rate = fmt::format("{:.0f} Mop/s, {:.2f} us per CG step",
                                official_flop_count(timed_part(report)) / time_s / 1e6,
                                1e6 * time_s / cg_step_count(report));
  if (times.count == 1) return fmt::format("{:.4g} s, {}", time_s, rate);
  return fmt::format("{:.4g} s, median of {} (quartiles {:.4g} and {:.4g}); {}", time_s, times.count,
                     times.lower_quartile, times.upper_quartile, rate);
}

std::string quiet_summary(const RunReport& report) {
  if (!disturbance(report).empty())
    return "no: timing unreliable: the machine was busy (see the warning below)";
  return median_repeat(report).quiet.text();
}

std::string summary_lines(const RunReport& report) {
  return summary_text(
      {.result = result_summary(report),
       .time = time_summary(report),
       .grid = grid_summary(report.configuration, report.grid_is_automatic, report.grid_trial),
       .kernel =
           kernel_summary(report.configuration, report.instruction_set, report.kernel_choice.kernel_origin),
       .limit =
           report.phases_timed ? limit_summary(phases_of(report)) : "not known without phases (--no-phases)",
       .quiet = quiet_summary(report)});
}

/// After the summary, for a run that is saved, goes on from a checkpoint, or streams its matrix.
std::string restart_lines(const RunReport& report) {
  std::string text;
  if (report.restart) {
    const int earlier_count = report.restart->step_count();
    const int timed_count = timed_part(report).niter;
    text += fmt::format(
        " Restart from {} after outer iteration {} of {}: time and Mop/s are those of the last {} only\n",
        report.restart->checkpoint.folder, earlier_count, report.problem.niter,
        format_count(timed_count, "outer iteration"));
  }
  text += feature_lines(&FeatureRow::summary_lines, report);
  return text;
}

/// A header, and one line per repetition: of the document of a run of it alone; its number and its own quiet stand behind.
std::string csv_of(const RunReport& report) {
  std::string text = csv_header(run_figures()) + ",repeat,disturbed\n";
  auto one_of_them = report;
  for (std::size_t k = 0; k < report.repeats.size(); ++k) {
    const auto& repeat = report.repeats[k];
    one_of_them.repeats.assign(1, repeat);
    text += csv_cells(run_figures(), json_of(run_document(one_of_them, &repeat)));
    text += "," + std::to_string(k + 1) + (repeat.quiet.is_disturbed() ? ",yes\n" : ",no\n");
  }
  return text;
}

std::string text_of(const RunReport& report) {
  std::string text = "\n\n cg2d - NAS Parallel Benchmark CG on a virtual grid of ranks\n\n";
  if (!report.unfinished.empty()) text += fmt::format(" NOT COMPLETED: {}\n", report.reason);
  if (!report.repeats.empty()) {
    text += summary_lines(report) + restart_lines(report) + '\n';
    // The closing block gives a verdict, which only a complete run has.
    if (report.unfinished.empty()) text += official_block(report);
    if (report.detail.is_verbose) text += '\n' + own_lines(report);
    if (report.phases_timed) text += figures_text(phases_of(report), report.detail);
  }
  if (const auto warning = disturbance_warning(report); !warning.empty())
    text += fmt::format(" Warning: {}\n", warning);
  text += closing_lines(report);
  return text;
}

}  // namespace

std::string write_report(const RunReport& report, std::string_view format) {
  if (format == "json") return document_text(run_document(report));
  return format == "csv" ? csv_of(report) : text_of(report);
}

}  // namespace cg2d
