// The file of --report: one figure a line.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "cg/report/build_info.hpp"
#include "cg/report/phase_table.hpp"
#include "cg/report/report.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/report_origin.hpp"
#include "cg/run/run_report.hpp"

namespace cg2d {
namespace {

/// Appends sections, and lines "Section::name=value".
class ResultsWriter {
 public:
  void section(std::string_view name) {
    section_ = name;
    text_ += fmt::format("{}=\n", name);
  }
  void text(std::string_view name, std::string_view value) {
    text_ += fmt::format("{}::{}={}\n", section_, name, value);
  }
  template <typename Number>
  void number(std::string_view name, Number value) {
    if constexpr (std::is_floating_point_v<Number>) {
      text(name, fmt::format("{:.6g}", value));
    } else {
      text(name, fmt::format("{}", value));
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string section_;
};

void write_machine(ResultsWriter& writer, const RunReport& report) {
  writer.section("Machine Summary");
  const auto& configuration = report.configuration;
  writer.number("Distributed Processes", configuration.grid.rank_count());
  writer.number("Threads per process", configuration.thread_count);
  if (!report.environment) return;
  const auto& node = report.environment->nodes.front();
  writer.number("Nodes", report.environment->nodes.size());
  writer.number("Cores of the first node", node.core_count);
  writer.text("Processor of the first node", node.processor);
}

void write_problem(ResultsWriter& writer, const RunReport& report) {
  const auto& problem = report.problem;
  writer.section("Problem Summary");
  writer.text("Class", problem.class_name);
  writer.number("n", problem.n);
  writer.number("nonzer", problem.nonzer);
  writer.number("shift", problem.shift);
  writer.number("niter", problem.niter);
  writer.number("Nonzeros", report.nonzero_count);
}

void write_configuration(ResultsWriter& writer, const RunReport& report) {
  const auto& configuration = report.configuration;
  writer.section("Configuration Summary");
  writer.text("Grid", configuration.grid.name());
  writer.text("Grid chosen by", report.grid_is_automatic ? "cg2d" : "user");
  writer.text("Transport", configuration.transport);
  writer.text("Sum", sum_form_name(configuration.sum_form));
  writer.text("Kernel", configuration.kernel);
  writer.text("Instruction set", report.instruction_set);
  writer.text("Kernel chosen by", choice_origin_name(report.kernel_choice.kernel_origin));
  std::int64_t largest_peak = 0;
  for (const auto& rank : report.ranks) largest_peak = std::max(largest_peak, rank.peak_bytes);
  writer.number("Peak bytes of a process", largest_peak);
}

void write_verification(ResultsWriter& writer, const RunReport& report) {
  const auto& problem = report.problem;
  const double zeta = final_step(report).zeta;
  writer.section("Verification Summary");
  writer.text("zeta", fmt::format("{:.17g}", zeta));
  if (!problem.reference_zeta) {
    writer.text("Result", "NOT PERFORMED");
    return;
  }
  writer.text("Reference zeta", fmt::format("{:.17g}", *problem.reference_zeta));
  writer.text("Relative error",
              fmt::format("{:.6e}", std::abs((zeta - *problem.reference_zeta) / *problem.reference_zeta)));
  writer.text("Result", report.code == ExitCode::success ? "SUCCESSFUL" : "UNSUCCESSFUL");
}

void write_times(ResultsWriter& writer, const RunReport& report) {
  const auto times = repeat_times(report);
  writer.section("Benchmark Time Summary");
  writer.number("Generation (s)", report.generation_s);
  if (!report.is_streamed) writer.number("Conversion (s)", report.conversion_s);
  writer.number("Repetitions", times.count);
  writer.number("Time of the median (s)", median_repeat(report).time_s);
  writer.number("Minimum (s)", times.minimum);
  writer.number("Lower quartile (s)", times.lower_quartile);
  writer.number("Upper quartile (s)", times.upper_quartile);
  writer.number("Maximum (s)", times.maximum);
}

/// Writes the phases of the repetition reported; means over the ranks, rates of all ranks.
void write_phases(ResultsWriter& writer, const RunReport& report) {
  const auto figures = phases_of(report);
  const auto shares = phase_shares(figures);
  const auto rank_count = static_cast<double>(figures.ranks.size());
  constexpr double billion = 1e9;
  writer.section("Phase Summary");
  for (const auto phase : figures.phases) {
    const auto& share = shares[index_of(phase)];
    const auto name = phase_name(phase);
    writer.number(fmt::format("{} (s)", name), share.measured_s);
    if (share.measured_s <= 0.0) continue;
    writer.number(fmt::format("{} (GB/s)", name), share.byte_count * rank_count / share.measured_s / billion);
    writer.number(fmt::format("{} (Gflop/s)", name),
                  share.flop_count * rank_count / share.measured_s / billion);
    if (figures.ranks.front().limits.are_known())
      writer.number(fmt::format("{} (share of the limit)", name), share.share());
  }
}

void write_verdict(ResultsWriter& writer, const RunReport& report) {
  const double time_s = median_repeat(report).time_s;
  const auto reason = disturbance(report);
  writer.section("Final Summary");
  writer.text("Machine was quiet", reason.empty() ? "yes" : "no: " + reason);
  for (const auto& warning : report.warnings) writer.text("Warning", warning);
  writer.number("True Mflop/s", true_flop_count(timed_part(report), report.nonzero_count) / time_s / 1e6);
  if (report.restart) {
    writer.number("Restarted after outer iteration", report.restart->step_count());
    writer.number("Timed outer iterations", timed_part(report).niter);
  }
  const auto is_valid = report.code == ExitCode::success && report.problem.reference_zeta && !report.restart;
  writer.number(is_valid ? "cg2d result is VALID with Mop/s" : "cg2d result is NOT VALID, Mop/s",
                official_flop_count(timed_part(report)) / time_s / 1e6);
}

}  // namespace

std::string figures_file_text(const RunReport& report) {
  ResultsWriter writer;
  writer.section("cg2d-Benchmark");
  writer.text("version", build_info::version);
  if (report.provenance) {
    writer.text("Date", report.provenance->time);
    writer.text("Command", command_text(report.provenance->command));
    writer.text("Commit", commit_text(*report.provenance));
  }
  write_machine(writer, report);
  write_problem(writer, report);
  write_configuration(writer, report);
  if (report.repeats.empty()) {
    writer.section("Final Summary");
    writer.text("cg2d result is NOT VALID", report.reason);
    return writer.take();
  }
  write_verification(writer, report);
  write_times(writer, report);
  if (report.phases_timed) write_phases(writer, report);
  write_verdict(writer, report);
  return writer.take();
}

}  // namespace cg2d
