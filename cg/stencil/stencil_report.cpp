#include "cg/stencil/stencil_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "cg/base/json_values.hpp"
#include "cg/base/values.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_options.hpp"

namespace cg2d {
namespace {

/// One line of the breakdown of a rank's time.
struct TimeRow {
  std::string_view key;  ///< in JSON
  std::string_view name;
  double (*of)(const StencilRank& rank);
};

constexpr std::array time_rows{
    TimeRow{"computing_s", "computing", [](const StencilRank& rank) { return rank.computing_s; }},
    TimeRow{"read_wait_s", "waiting for reading",
            [](const StencilRank& rank) { return rank.moved.read_wait_s; }},
    TimeRow{"write_wait_s", "waiting for writing",
            [](const StencilRank& rank) { return rank.moved.write_wait_s; }},
    TimeRow{"communication_s", "communication", [](const StencilRank& rank) { return rank.communication_s; }},
    TimeRow{"barrier_s", "barrier", [](const StencilRank& rank) { return rank.barrier_s; }},
    TimeRow{"total_s", "all steps", [](const StencilRank& rank) { return rank.total_s; }}};

struct MeanAndMaximum {
  double mean = 0.0;
  double maximum = 0.0;
};

template <typename Figure>
MeanAndMaximum over_ranks(const StencilReport& report, const Figure& figure) {
  MeanAndMaximum result;
  for (const auto& rank : report.ranks) {
    result.mean += figure(rank) / static_cast<double>(report.ranks.size());
    result.maximum = std::max(result.maximum, figure(rank));
  }
  return result;
}

MeanAndMaximum storage_shares(const StencilReport& report) {
  return over_ranks(report, [](const StencilRank& rank) { return rank.storage_share(); });
}

std::int64_t sum_over_ranks(const StencilReport& report, std::int64_t StoreFigures::*bytes) {
  std::int64_t sum = 0;
  for (const auto& rank : report.ranks) sum += rank.moved.*bytes;
  return sum;
}

bool is_direct(const StencilReport& report) {
  return std::ranges::all_of(report.ranks, &StencilRank::is_direct);
}

double rate(std::int64_t byte_count, double seconds) {
  return seconds > 0.0 ? static_cast<double>(byte_count) / seconds : 0.0;
}

// ---------------------------------------------------------------- text

std::string place_text(const StencilReport& report) {
  if (report.folders.empty()) return "in memory";
  return fmt::format("in files in {} ({}, {})", fmt::join(report.folders, ","), report.reader,
                     is_direct(report) ? "past the system's cache" : "through the system's cache");
}

std::string choice_text(const StencilReport& report) {
  if (!report.choice) return "";
  const auto& choice = *report.choice;
  std::string text = fmt::format("\n Temporal block, tried in {:.2f} s:\n", choice.duration_s);
  if (choice.storage.plane_s > 0.0)
    text += fmt::format("   reading and writing a plane takes {:.3g} ms\n", 1e3 * choice.storage.plane_s);
  text += fmt::format("   {:>5}  {:>6}  {:>16}  {:>11}  {:>18}  {:>11}\n", "steps", "passes",
                      "step of a plane", "computing", "reading, writing", "predicted");
  for (std::size_t k = 0; k < choice.predictions.size(); ++k) {
    const auto& prediction = choice.predictions[k];
    text += fmt::format("   {:>5}  {:>6}  {:>13.3g} ms  {:>9.3g} s  {:>16.3g} s  {:>9.3g} s{}\n",
                        prediction.block, prediction.pass_count, 1e3 * choice.trials[k].plane_step_s,
                        prediction.computing_s, prediction.storage_s, prediction.total_s,
                        prediction.block == report.block ? "  taken" : "");
  }
  return text;
}

std::string times_text(const StencilReport& report) {
  std::string text = fmt::format("\n {:<22}{:>12}{:>12}{:>9}\n", "Seconds", "mean", "maximum", "share");
  const double all_s = over_ranks(report, time_rows.back().of).mean;
  for (const auto& row : time_rows) {
    const auto [mean, maximum] = over_ranks(report, row.of);
    text +=
        fmt::format("   {:<20}{:>12.4f}{:>12.4f}{:>7.1f} %\n", row.name, mean, maximum, 100.0 * mean / all_s);
  }
  return text;
}

std::string moved_text(const StencilReport& report) {
  if (report.folders.empty()) return "";
  const auto read = sum_over_ranks(report, &StoreFigures::read_bytes);
  const auto written = sum_over_ranks(report, &StoreFigures::written_bytes);
  const auto shares = storage_shares(report);
  return fmt::format(
      " Read {} and wrote {}: {}/s and {}/s over all steps\n Waiting for the device: {:.1f} % of the time "
      "(mean), {:.1f} % on the rank that waits most\n",
      format_bytes(read), format_bytes(written), format_bytes(saturated(rate(read, report.steps_s))),
      format_bytes(saturated(rate(written, report.steps_s))), 100.0 * shares.mean, 100.0 * shares.maximum);
}

std::string solve_text(const StencilReport& report) {
  if (!report.solve) return "";
  const auto& solve = *report.solve;
  const auto tolerance =
      solve.wanted_residual > 0.0 ? fmt::format("; tolerance {:.3g}", solve.wanted_residual) : "";
  return fmt::format(" {} after {}: relative residual {:.3g} (recurrence), {:.3g} (true){}\n",
                     solve.is_converged()          ? "Converged"
                     : solve.wanted_residual > 0.0 ? "NOT CONVERGED"
                                                   : "Stopped",
                     format_count(solve.iterations, "iteration"), solve.residual, solve.true_residual,
                     tolerance);
}

std::string stencil_text(const StencilReport& report) {
  const auto& method = stencil_method(report.method);
  const auto domain_bytes = report.point_count() * std::int64_t{sizeof(double)} * method.vector_count;
  std::string text = fmt::format(
      " {} points, {} of {}, {} on {}: {}, {}\n"
      " Domain of {} {}; memory for planes {} per rank\n"
      " Temporal block: {}{}; passes: {}\n",
      shape_text(report.shape), format_count(report.step_count, "step"), method.subject,
      format_count(std::ssize(report.ranks), "rank"), format_count(report.node_count, "node"), report.machine,
      report.instruction_set, format_bytes(domain_bytes), place_text(report),
      format_bytes(report.needed_bytes), format_count(report.block, "step"),
      report.choice ? ", chosen by a trial" : "", report.pass_count);
  text += choice_text(report) + times_text(report);
  text +=
      fmt::format("\n Rate: {:.3g} GLUP/s (billion updates of points per second), {:.4f} s for all steps\n",
                  report.updates_per_second() / 1e9, report.steps_s);
  text += fmt::format(" Quiet: {}\n", report.quiet.text());
  text += moved_text(report) + solve_text(report);
  const auto& domain = report.domain;
  text +=
      fmt::format(" Sum {:.15e}, checksum {:08x}\n {}\n", domain.sum, domain.checksum, verdict_text(report));
  return text;
}

// ---------------------------------------------------------------- JSON

Json json_of(const MeanAndMaximum& figure) { return {{"mean", figure.mean}, {"maximum", figure.maximum}}; }

Json choice_json(const StencilReport& report) {
  if (!report.choice) return nullptr;
  const auto& choice = *report.choice;
  Json tried = Json::array();
  for (std::size_t k = 0; k < choice.predictions.size(); ++k) {
    const auto& prediction = choice.predictions[k];
    tried.push_back({{"block", prediction.block},
                     {"passes", prediction.pass_count},
                     {"plane_step_s", choice.trials[k].plane_step_s},
                     {"computing_s", prediction.computing_s},
                     {"storage_s", prediction.storage_s},
                     {"predicted_s", prediction.total_s}});
  }
  return {{"duration_s", choice.duration_s},
          {"plane_storage_s", choice.storage.plane_s},
          {"plane_checksum_s", choice.storage.work_s},
          {"tried", std::move(tried)}};
}

Json solve_json(const StencilReport& report) {
  if (!report.solve) return nullptr;
  const auto& solve = *report.solve;
  return {{"iterations", solve.iterations},
          {"is_converged", solve.is_converged()},
          {"residual", solve.residual},
          {"true_residual", number_or_null(solve.true_residual)},
          {"wanted_residual", solve.wanted_residual},
          {"residuals", solve.residuals}};
}

Json rank_json(const StencilRank& rank) {
  Json json{{"planes", rank.plane_count}};
  for (const auto& row : time_rows) json[std::string(row.key)] = row.of(rank);
  json["storage_share"] = rank.storage_share();
  json["read_bytes"] = rank.moved.read_bytes;
  json["written_bytes"] = rank.moved.written_bytes;
  json["sent_bytes"] = rank.sent_bytes;
  json["peak_bytes"] = rank.peak_bytes;
  json["is_direct"] = rank.is_direct;
  return json;
}

Json out_of_core_json(const StencilReport& report) {
  if (report.folders.empty()) return nullptr;
  const auto read = sum_over_ranks(report, &StoreFigures::read_bytes);
  const auto written = sum_over_ranks(report, &StoreFigures::written_bytes);
  return {{"folders", report.folders},
          {"reader", report.reader},
          {"is_direct", is_direct(report)},
          {"read_bytes", read},
          {"written_bytes", written},
          {"read_bytes_per_s", rate(read, report.steps_s)},
          {"written_bytes_per_s", rate(written, report.steps_s)},
          {"storage_share", json_of(storage_shares(report))}};
}

std::string stencil_json(const StencilReport& report) {
  Json ranks = Json::array();
  for (const auto& rank : report.ranks) ranks.push_back(rank_json(rank));
  Json times;
  for (const auto& row : time_rows) times[std::string(row.key)] = json_of(over_ranks(report, row.of));
  const auto& domain = report.domain;
  const Json json{{"schema_version", 1},
                  {"status", status_name(report.code())},
                  {"exit_code", static_cast<int>(report.code())},
                  {"machine", report.machine},
                  {"mpi", report.mpi},
                  {"instruction_set", report.instruction_set},
                  {"nodes", report.node_count},
                  {"method", report.method},
                  {"conforming", false},
                  {"shape", report.shape},
                  {"steps", report.step_count},
                  {"temporal_block", report.block},
                  {"passes", report.pass_count},
                  {"trial", choice_json(report)},
                  {"needed_bytes_per_rank", report.needed_bytes},
                  {"out_of_core", out_of_core_json(report)},
                  {"start_s", report.start_s},
                  {"steps_s", report.steps_s},
                  {"check_s", report.check_s},
                  {"quiet", {{"disturbed", report.quiet.is_disturbed()}, {"reason", report.quiet.reason()}}},
                  {"solve", solve_json(report)},
                  {"updates_per_s", report.updates_per_second()},
                  {"times", std::move(times)},
                  {"ranks", std::move(ranks)},
                  {"result",
                   {{"sum", number_or_null(domain.sum)},
                    {"checksum", fmt::format("{:08x}", domain.checksum)},
                    {"largest_error", number_or_null(domain.largest_error)},
                    {"tolerance", domain.tolerance}}}};
  return json_text(json, 1) + "\n";
}

using StencilWriter = std::string (*)(const StencilReport& report);
constexpr std::array stencil_formats{NamedValue<StencilWriter>{"text", stencil_text},
                                     NamedValue<StencilWriter>{"json", stencil_json}};

}  // namespace

std::string verdict_text(const StencilReport& report) {
  const auto& domain = report.domain;
  const auto verdict = domain.is_right() ? "verified" : "NOT verified";
  if (report.solve && report.code() == ExitCode::not_converged) {
    const auto& solve = *report.solve;
    const bool recurrence_has_ended = solve.residual <= solve.wanted_residual || solve.residual == 0.0;
    return fmt::format(
        "NOT CONVERGED: relative residual {:.3g} (true) after {}, tolerance {:.3g}; {}", solve.true_residual,
        format_count(solve.iterations, "iteration"), solve.wanted_residual,
        recurrence_has_ended
            ? fmt::format("the recurrences have {:.3g}, and rounding keeps x from it: take a smaller "
                          "--temporal-block, or a larger --rtol",
                          solve.residual)
            : std::string("take more --steps"));
  }
  if (report.has_converged())
    return fmt::format("verified: relative residual {:.3g} (true), tolerance {:.3g}",
                       report.solve->true_residual, report.solve->wanted_residual);
  if (report.solve)
    return fmt::format("{}: the residuals of x and of the recurrences differ by {:.3g}, at most {:.3g}{}",
                       verdict, domain.largest_error, domain.tolerance,
                       domain.is_right() ? "" : "; take a smaller --temporal-block, or a larger --rtol");
  return fmt::format("{}: largest difference from the closed form {:.3g}, at most {:.3g}", verdict,
                     domain.largest_error, domain.tolerance);
}

std::vector<std::string> stencil_format_names() { return names_of(stencil_formats); }

std::string write_stencil_report(const StencilReport& report, const std::string& format) {
  return value_in(std::span<const NamedValue<StencilWriter>>(stencil_formats), format).value()(report);
}

}  // namespace cg2d
