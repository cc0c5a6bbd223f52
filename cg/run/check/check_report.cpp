#include "cg/run/check/check_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cg/base/errors.hpp"
#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"

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

Json json_of_result(const CheckResult& result) {
  const bool is_made = result.status != CheckStatus::unavailable;
  return {{"check", result.check},
          {"subject", result.subject},
          {"status", name_of(result.status)},
          {"figure", is_made ? number_or_null(result.figure) : Json(nullptr)},
          {"tolerance", is_made ? number_or_null(result.tolerance) : Json(nullptr)},
          {"reason", result.reason},
          {"seconds", result.seconds}};
}

std::string check_json(const CheckReport& report) {
  Json rows = Json::array();
  for (const auto& row : check_table())
    rows.push_back({{"name", row.name}, {"what", row.what}, {"figure", row.figure}});
  Json results = Json::array();
  for (const auto& result : report.results) results.push_back(json_of_result(result));
  const auto code = report.has_failures() ? ExitCode::verification_failed : ExitCode::success;
  const Json json{{"schema_version", 1},
                  {"status", status_name(code)},
                  {"exit_code", static_cast<int>(code)},
                  {"machine", report.machine},
                  {"mpi", report.mpi},
                  {"blas", report.blas},
                  {"ranks", report.rank_count},
                  {"nodes", report.node_count},
                  {"instruction_sets", report.instruction_sets},
                  {"checks", rows},
                  {"results", results},
                  {"ok", count_of(report.results, CheckStatus::ok)},
                  {"failed", count_of(report.results, CheckStatus::failed)},
                  {"unavailable", count_of(report.results, CheckStatus::unavailable)},
                  {"seconds", report.seconds}};
  return json_text(json, 1) + "\n";
}

using CheckWriter = std::string (*)(const CheckReport& report);
constexpr std::array check_formats{NamedValue<CheckWriter>{"text", check_text},
                                   NamedValue<CheckWriter>{"json", check_json}};

}  // namespace

std::vector<std::string> check_format_names() { return names_of(check_formats); }

std::string write_check_report(const CheckReport& report, const std::string& format) {
  return value_in(std::span<const NamedValue<CheckWriter>>(check_formats), format).value()(report);
}

}  // namespace cg2d
