#include "cg/run/check/check_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "cg/base/errors.hpp"
#include "cg/base/json_record.hpp"
#include "cg/base/values.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- text

/// Figure and tolerance, or the reason why there are none.
std::string judgement(const CheckResult& result) {
  if (result.status == CheckStatus::unavailable) return result.reason;
  return fmt::format("{:.3g}, at most {:.3g}{}{}", result.figure, result.tolerance,
                     result.reason.empty() ? "" : "; ", result.reason);
}

std::string lines_of(const CheckRow& row, const std::vector<CheckResult>& results, std::size_t width) {
  std::string text =
      fmt::format("\n {}: {}\n {:{}}  figure: {}\n", row.name, row.what, "", row.name.size(), row.figure);
  for (const auto& result : results) {
    if (result.check != row.name) continue;
    text += fmt::format("   {:<{}}  {:<11} {:>9.3f} s  {}\n", result.subject, width, name_of(result.status),
                        result.seconds, judgement(result));
  }
  return text;
}

std::string totals_of(const CheckReport& report) {
  return fmt::format("{} ok, {} failed, {} unavailable", count_of(report.results, CheckStatus::ok),
                     count_of(report.results, CheckStatus::failed),
                     count_of(report.results, CheckStatus::unavailable));
}

std::string check_text(const CheckReport& report) {
  std::size_t width = 0;
  for (const auto& result : report.results) width = std::max(width, result.subject.size());
  std::string text =
      fmt::format(" {} on {}: {}\n {}, {}\n instruction sets: {}\n", format_count(report.rank_count, "rank"),
                  format_count(report.node_count, "node"), report.machine, report.mpi, report.blas,
                  fmt::join(report.instruction_sets, ", "));
  for (const auto& row : check_table()) text += lines_of(row, report.results, width);
  return text + fmt::format("\n {} in {:.1f} s: {}\n", totals_of(report), report.seconds,
                            report.has_failures() ? "this installation is NOT right on this machine"
                                                  : "all checks passed");
}

// ---------------------------------------------------------------- JSON

/// Null: unavailable, NaN or infinite.
Json figure_or_null(const CheckResult& result, double figure) {
  return result.status == CheckStatus::unavailable ? Json(nullptr) : number_or_null(figure);
}

const Record<CheckResult>& check_result_record() {
  static const Record<CheckResult> record{{
      {"check", text_type(), &CheckResult::check, "The name of one of the checks."},
      {"subject", text_type(), &CheckResult::subject,
       "The object of the check: a kernel with its instruction set, a transport with a grid, ..."},
      {"status", word_type({"ok", "failed", "unavailable"}),
       [](const auto& result) { return name_of(result.status); }},
      {"figure", finite_type(), [](const auto& result) { return figure_or_null(result, result.figure); },
       "Null: unavailable, NaN or infinite."},
      {"tolerance", finite_type(),
       [](const auto& result) { return figure_or_null(result, result.tolerance); },
       "ok: the figure is at most this. Null: unavailable."},
      {"reason", text_type(), &CheckResult::reason,
       "Why it is unavailable, or more about a failure; may be empty."},
      {"seconds", seconds_type(), &CheckResult::seconds},
  }};
  return record;
}

const Record<CheckRow>& check_row_record() {
  static const Record<CheckRow> record{{
      {"name", text_type(), &CheckRow::name},
      {"what", text_type(), &CheckRow::what, "Is held against what."},
      {"figure", text_type(), &CheckRow::figure, "The meaning of figure in the results."},
  }};
  return record;
}

ExitCode code_of(const CheckReport& report) {
  return report.has_failures() ? ExitCode::verification_failed : ExitCode::success;
}

Figure<CheckReport> count_figure(CheckStatus status) {
  return {std::string(name_of(status)), count_type(),
          [status](const auto& report) { return count_of(report.results, status); }};
}

const Record<CheckReport>& check_record() {
  static const Record<CheckReport> record{{
      {"schema_version", {{"const", 1}}, [](const auto& /*report*/) { return 1; }},
      {"status", word_type({"success", "verification-failed"}),
       [](const auto& report) { return status_name(code_of(report)); }},
      {"exit_code",
       {{"enum", {0, 82}}},
       [](const auto& report) { return static_cast<int>(code_of(report)); },
       "Of the program on every rank."},
      {"machine", text_type(), &CheckReport::machine, "The processor of rank 0, with its caches."},
      {"mpi", text_type(), &CheckReport::mpi},
      {"blas", text_type(), &CheckReport::blas},
      {"ranks", positive_count_type(), &CheckReport::rank_count},
      {"nodes", positive_count_type(), &CheckReport::node_count},
      {"instruction_sets", list_type(word_type(kernels::instruction_set_names()), 1),
       &CheckReport::instruction_sets, "Those of rank 0's processor for which kernels have loops."},
      list_figure<CheckReport>(
          "checks", check_row_record(), [](const auto& /*report*/) { return check_table(); },
          "The kinds of checks.", 1),
      list_figure<CheckReport>(
          "results", check_result_record(), [](const auto& report) -> auto& { return report.results; }, "",
          1),
      count_figure(CheckStatus::ok),
      count_figure(CheckStatus::failed),
      count_figure(CheckStatus::unavailable),
      {"seconds", seconds_type(), &CheckReport::seconds},
  }};
  return record;
}

std::string check_json(const CheckReport& report) {
  return json_text(json_of(check_record(), report), 1) + "\n";
}

using CheckWriter = std::string (*)(const CheckReport& report);
constexpr std::array check_formats{NamedValue<CheckWriter>{"text", check_text},
                                   NamedValue<CheckWriter>{"json", check_json}};

}  // namespace

FigureType check_type() { return type_of(check_record()); }

std::vector<std::string> check_format_names() { return names_of(check_formats); }

std::string write_check_report(const CheckReport& report, const std::string& format) {
  return value_in(std::span<const NamedValue<CheckWriter>>(check_formats), format).value()(report);
}

}  // namespace cg2d
