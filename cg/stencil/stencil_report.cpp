#include "cg/stencil/stencil_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "cg/base/json_record.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/json_quiet.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_options.hpp"
#include "kernels/cpu_features.hpp"

namespace cg2d {
namespace {

/// One line of the breakdown of a rank's time.
struct TimeRow {
  std::string_view key;  ///< in JSON
  std::string_view name;
  double (*of)(const StencilRank& rank);
  std::string_view meaning{};  ///< in the schema
};

constexpr std::array time_rows{
    TimeRow{"computing_s", "computing", [](const StencilRank& rank) { return rank.computing_s; },
            "With checksums of what is read and written."},
    TimeRow{"read_wait_s", "waiting for reading",
            [](const StencilRank& rank) { return rank.moved.read_wait_s; }},
    TimeRow{"write_wait_s", "waiting for writing",
            [](const StencilRank& rank) { return rank.moved.write_wait_s; }},
    TimeRow{"communication_s", "communication", [](const StencilRank& rank) { return rank.communication_s; },
            "Exchange of planes at the borders between ranks."},
    TimeRow{"barrier_s", "barrier", [](const StencilRank& rank) { return rank.barrier_s; },
            "After a pass, until the last rank has made it."},
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
  result.mean = std::min(result.mean, result.maximum);  // which rounding may exceed
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

const Record<MeanAndMaximum>& mean_and_maximum_record() {
  static const Record<MeanAndMaximum> record{"mean_and_maximum",
                                             {{"mean", seconds_type(), &MeanAndMaximum::mean},
                                              {"maximum", seconds_type(), &MeanAndMaximum::maximum}},
                                             "Over the ranks."};
  return record;
}

/// A trial of a temporal block, and what it predicted.
struct TriedBlock {
  const BlockTrial& trial;
  const BlockPrediction& prediction;
};

const Record<TriedBlock>& tried_record() {
  static const Record<TriedBlock> record{
      {{"block", positive_count_type(), [](const auto& tried) { return tried.prediction.block; }},
       {"passes", positive_count_type(), [](const auto& tried) { return tried.prediction.pass_count; }},
       {"plane_step_s", seconds_type(), [](const auto& tried) { return tried.trial.plane_step_s; },
        "Measured: one step of one plane."},
       {"computing_s", seconds_type(), [](const auto& tried) { return tried.prediction.computing_s; },
        "Predicted for all steps, with what is computed twice."},
       {"storage_s", seconds_type(), [](const auto& tried) { return tried.prediction.storage_s; },
        "Predicted for all passes: reading and writing, were they alone."},
       {"predicted_s", seconds_type(), [](const auto& tried) { return tried.prediction.total_s; },
        "Of each pass the longer of both, with a device that is a quarter slower than measured."}}};
  return record;
}

std::vector<TriedBlock> tried_blocks(const BlockChoice& choice) {
  std::vector<TriedBlock> tried;
  for (std::size_t k = 0; k < choice.predictions.size(); ++k)
    tried.push_back({choice.trials[k], choice.predictions[k]});
  return tried;
}

const Record<BlockChoice>& choice_record() {
  static const Record<BlockChoice> record{
      {{"duration_s", seconds_type(), &BlockChoice::duration_s},
       {"plane_storage_s", seconds_type(), [](const auto& choice) { return choice.storage.plane_s; },
        "A plane read and written, on the slowest rank, all ranks at the same time; 0 in memory."},
       {"plane_checksum_s", seconds_type(), [](const auto& choice) { return choice.storage.work_s; },
        "The part of it that computing does not hide."},
       list_figure<BlockChoice>("tried", tried_record(), tried_blocks, "", 1)}};
  return record;
}

const Record<StencilSolve>& solve_record() {
  static const Record<StencilSolve> record{
      {{"iterations", count_type(), &StencilSolve::iterations},
       {"is_converged", flag_type(), [](const auto& solve) { return solve.is_converged(); }},
       {"residual", seconds_type(), &StencilSolve::residual, "As the recurrences have it."},
       {"true_residual", or_null(seconds_type()), &StencilSolve::true_residual,
        "Of the x that was found; null: NaN or infinite."},
       {"wanted_residual", seconds_type(), &StencilSolve::wanted_residual, "0: none."},
       {"residuals", list_type(seconds_type()), &StencilSolve::residuals,
        "After each iteration, as the recurrences have it."}}};
  return record;
}

const Record<StencilRank>& rank_record() {
  static const auto record = [] {
    Record<StencilRank> made{{{"planes", positive_count_type(), &StencilRank::plane_count}}};
    for (const auto& row : time_rows) made.figures.push_back({std::string(row.key), seconds_type(), row.of});
    return with(
        std::move(made),
        {{"storage_share",
          {{"type", "number"}, {"minimum", 0}, {"maximum", 1.01}},
          &StencilRank::storage_share,
          "Time spent waiting for reading and writing, divided by the time of all steps."},
         {"read_bytes", count_type(), [](const auto& rank) { return rank.moved.read_bytes; }},
         {"written_bytes", count_type(), [](const auto& rank) { return rank.moved.written_bytes; }},
         {"sent_bytes", count_type(), &StencilRank::sent_bytes},
         {"peak_bytes", count_type(), &StencilRank::peak_bytes, "Largest resident memory of the process."},
         {"is_direct", flag_type(), &StencilRank::is_direct}});
  }();
  return record;
}

/// Bytes that all ranks moved, or their number in a second.
Figure<StencilReport> moved_figure(const std::string& name, std::int64_t StoreFigures::*bytes, bool is_rate) {
  return {name, is_rate ? seconds_type() : count_type(), [bytes, is_rate](const auto& report) {
            const auto sum = sum_over_ranks(report, bytes);
            return is_rate ? Json(rate(sum, report.steps_s)) : Json(sum);
          }};
}

const Record<StencilReport>& storage_record() {
  static const Record<StencilReport> record{
      {{"folders", list_type(text_type(), 1), &StencilReport::folders},
       {"reader", word_type({"io_uring", "threads"}), &StencilReport::reader},
       {"is_direct", flag_type(), is_direct, "All files were read and written past the system's cache."},
       moved_figure("read_bytes", &StoreFigures::read_bytes, false),
       moved_figure("written_bytes", &StoreFigures::written_bytes, false),
       moved_figure("read_bytes_per_s", &StoreFigures::read_bytes, true),
       moved_figure("written_bytes_per_s", &StoreFigures::written_bytes, true),
       part<StencilReport>("storage_share", mean_and_maximum_record(), storage_shares,
                           "Time spent waiting for reading and writing, divided by the time of "
                           "all steps.")},
      "Null: the domain was in memory. Bytes and rates are of the steps, without start values and "
      "comparison."};
  return record;
}

const Record<StencilReport>& time_use_record() {
  static const auto record = [] {
    Record<StencilReport> made;
    for (const auto& row : time_rows) {
      made.figures.push_back(part<StencilReport>(
          std::string(row.key), mean_and_maximum_record(),
          [of = row.of](const auto& report) { return over_ranks(report, of); }, std::string(row.meaning)));
    }
    made.meaning = "The ranks' use of the time of all steps.";
    return made;
  }();
  return record;
}

const Record<DomainFigures>& domain_record() {
  static const Record<DomainFigures> record{
      {{"sum", finite_type(), &DomainFigures::sum, "Of all points; null: NaN or infinite."},
       {"checksum", pattern_type("^[0-9a-f]{8}$"),
        [](const auto& domain) { return fmt::format("{:08x}", domain.checksum); },
        "CRC-32C over the CRC-32C of the points of each plane."},
       {"largest_error", finite_type(), &DomainFigures::largest_error,
        "heat: largest difference from the closed form; s-step-cg: of the residual of x from that of the "
        "recurrences. Null: NaN or infinite."},
       {"tolerance", positive_seconds_type(), &DomainFigures::tolerance,
        "success: largest_error is at most this, what rounding explains."}},
      "The final domain, u or x; it does not depend on the ranks, and with heat not on the temporal block."};
  return record;
}

/// How the work ended, and where and what it was.
std::vector<Figure<StencilReport>> head_figures() {
  return {
      {"schema_version", constant_type(1), [](const auto& /*report*/) { return 1; }},
      {"status", word_type({"success", "verification-failed", "not-converged"}),
       [](const auto& report) { return status_name(report.code()); }},
      {"exit_code",
       {{"enum", {0, 81, 82}}},
       [](const auto& report) { return static_cast<int>(report.code()); },
       "Of the program on every rank."},
      {"machine", text_type(), &StencilReport::machine, "The processor of rank 0, with its caches."},
      {"mpi", text_type(), &StencilReport::mpi},
      {"instruction_set", word_type(kernels::instruction_set_names()), &StencilReport::instruction_set,
       "Of the loop on rank 0."},
      {"nodes", positive_count_type(), &StencilReport::node_count},
      {"method", word_type({"heat", "s-step-cg"}), &StencilReport::method},
      {"conforming", constant_type(false), [](const auto& /*report*/) { return false; },
       "Whether it is the benchmark's algorithm: it never is."},
      {"shape",
       {{"type", "array"}, {"minItems", 3}, {"maxItems", 3}, {"items", positive_count_type()}},
       &StencilReport::shape,
       "Points along x, y and z."},
      {"steps", count_type(), &StencilReport::step_count,
       "Made: s-step-cg may end before all that were asked for."},
      {"temporal_block", positive_count_type(), &StencilReport::block,
       "Temporal block: steps of one pass over the domain; the last pass may have fewer."},
      {"passes", count_type(), &StencilReport::pass_count},
  };
}

const Record<StencilReport>& stencil_record() {
  static const auto record = with(
      Record<StencilReport>(head_figures()),
      {part<StencilReport>("trial", choice_record(), &StencilReport::choice,
                           "How the temporal block was chosen; null: it was given."),
       {"needed_bytes_per_rank", count_type(), &StencilReport::needed_bytes,
        "Memory for planes on the rank that needs most."},
       part<StencilReport>(
           "out_of_core", storage_record(),
           [](const StencilReport& report) { return report.folders.empty() ? nullptr : &report; }),
       {"start_s", seconds_type(), &StencilReport::start_s,
        "Start values computed and stored, on the slowest rank."},
       {"steps_s", seconds_type(), &StencilReport::steps_s, "All steps, on the slowest rank."},
       {"check_s", seconds_type(), &StencilReport::check_s, "Result read and compared, on the slowest rank."},
       part<StencilReport>("quiet", disturbance_record(), &StencilReport::quiet),
       part<StencilReport>("solve", solve_record(), &StencilReport::solve,
                           "Of s-step-cg; residuals are relative to b."),
       {"updates_per_s", seconds_type(), &StencilReport::updates_per_second,
        "Points times steps, each once, divided by steps_s."},
       part<StencilReport>("times", time_use_record(), std::identity()),
       list_figure<StencilReport>("ranks", rank_record(), &StencilReport::ranks, "", 1),
       part<StencilReport>("result", domain_record(), &StencilReport::domain)});
  return record;
}

std::string stencil_json(const StencilReport& report) {
  return json_text(json_of(stencil_record(), report), 1) + "\n";
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

FigureType stencil_type() { return type_of(stencil_record()); }

std::vector<std::string> stencil_format_names() { return names_of(stencil_formats); }

std::string write_stencil_report(const StencilReport& report, const std::string& format) {
  return value_in(std::span<const NamedValue<StencilWriter>>(stencil_formats), format).value()(report);
}

}  // namespace cg2d
