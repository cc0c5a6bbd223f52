// `cg2d stencil` as its user sees it: methods, options, and the report as text and JSON.

#include <fmt/ranges.h>

#include <array>

#include "cg/base/describe.hpp"
#include "cg/base/table.hpp"
#include "cg/base/values.hpp"
#include "cg/stencil/stencil_method.hpp"

namespace cg2d {
namespace {

/// MPI counts the numbers of a plane, zeros around its lines among them, and the bytes of the figures of all planes.
constexpr int64_t most_points_of_plane = 100'000'000;
constexpr comm::Extents most_extents{10'000'000, 10'000'000, 1'000'000};

}  // namespace

std::span<const StencilMethodRow> stencil_method_table() {
  static constexpr std::array rows{
      StencilMethodRow{.name = "heat",
                       .subject = "the heat equation (7 points)",
                       .vector_count = 1,
                       .has_residual = false,
                       .make = make_heat_method},
      StencilMethodRow{.name = "s-step-cg",
                       .subject =
                           "conjugate gradients in s-step form (7 points; not the benchmark's algorithm: "
                           "non-conforming)",
                       .vector_count = 3,
                       .has_residual = true,
                       .make = make_s_step_cg_method}};
  return rows;
}

comm::Extents shape_from(std::string_view text) {
  comm::Extents shape{};
  const auto extents = split_at(text, 'x');
  bool is_too_long = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto extent = number_from<int64_t>(k < extents.size() ? extents[k] : "");
    if (extents.size() != shape.size() || !extent || *extent < 1)
      throw InputError(
          "--shape {}: must be the points along x, y and z, at least 1 each, such as 512x512x512", text);
    shape[k] = *extent;
    is_too_long = is_too_long || *extent > most_extents[k];
  }
  if (is_too_long || shape[0] * shape[1] > most_points_of_plane)
    throw InputError(
        "--shape {}: must have at most 100 million points in a plane (x and y), 10 million along x or y, "
        "and 1 million along z",
        text);
  return shape;
}

std::string shape_text(const comm::Extents& shape) {
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

std::optional<int> block_from(std::string_view text) {
  if (text == "auto") return std::nullopt;
  const auto block = number_from<int>(text);
  if (!block || *block < 1)
    throw InputError("--temporal-block {}: must be auto, or a number of steps, at least 1", text);
  return block;
}

// ---------------------------------------------------------------- report

namespace {

/// One line of the breakdown of a rank's time.
struct TimeRow {
  std::string_view key;  ///< in JSON
  std::string_view name;
  double StencilRank::*seconds;
  std::string_view meaning{};  ///< in the schema
};

constexpr std::array time_rows{TimeRow{"computing_s", "computing", &StencilRank::computing_s,
                                       "With checksums of what is read and written."},
                               TimeRow{"read_wait_s", "waiting for reading", &StencilRank::read_wait_s},
                               TimeRow{"write_wait_s", "waiting for writing", &StencilRank::write_wait_s},
                               TimeRow{"communication_s", "communication", &StencilRank::communication_s,
                                       "Waiting for planes of other ranks, and for sums over all ranks."},
                               TimeRow{"barrier_s", "barrier", &StencilRank::barrier_s,
                                       "After a pass, until the last rank has made it."},
                               TimeRow{"total_s", "all steps", &StencilRank::total_s}};

struct MeanAndMaximum {
  double mean = 0.0;
  double maximum = 0.0;
};

void describe(Members& m, MeanAndMaximum& over_ranks) {
  m("mean", over_ranks.mean, at_least(0));
  m("maximum", over_ranks.maximum, at_least(0));
}

/// figure: a member of StencilRank.
template <typename Figure>
MeanAndMaximum over_ranks(const StencilReport& report, Figure figure) {
  MeanAndMaximum result;
  for (const auto& rank : report.ranks) {
    const double value = std::invoke(figure, rank);
    result.mean += value / static_cast<double>(report.ranks.size());
    result.maximum = std::max(result.maximum, value);
  }
  result.mean = std::min(result.mean, result.maximum);  // which rounding may exceed
  return result;
}

double rate(int64_t byte_count, double seconds) {
  return seconds > 0.0 ? static_cast<double>(byte_count) / seconds : 0.0;
}

// ---------------------------------------------------------------- text

std::string times_text(const StencilReport& report) {
  const double all_s = over_ranks(report, time_rows.back().seconds).mean;
  Table table;
  for (const auto& row : time_rows) {
    const auto [mean, maximum] = over_ranks(report, row.seconds);
    table.line().word("Seconds", row.name).number("mean", "{:.4f}", mean);
    table.number("maximum", "{:.4f}", maximum).number("share", "{:.1f} %", 100.0 * mean / all_s);
  }
  return "\n" + table.text();
}

}  // namespace

std::string stencil_text(const StencilReport& report) {
  const auto& method = *row_named(stencil_method_table(), report.options.method);
  const auto domain_bytes = report.point_count() * int64_t{sizeof(double)} * method.vector_count;
  const auto& folders = report.options.folders;
  const auto place = folders.empty()
                         ? "in memory"
                         : fmt::format("in files in {} ({})", fmt::join(folders, ","), report.reader);
  std::string text = fmt::format(
      " {} points, {} of {}, {} on {}: {}, {}\n"
      " Domain of {} {}; memory for planes {} per rank\n"
      " Temporal block: {}{}; passes: {}\n",
      shape_text(report.options.shape), format_count(report.step_count, "step"), method.subject,
      format_count(std::ssize(report.ranks), "rank"), format_count(report.node_count, "node"), report.machine,
      report.instruction_set, format_bytes(domain_bytes), place, format_bytes(report.needed_bytes),
      format_count(report.block, "step"), report.choice ? ", chosen by a trial" : "", report.pass_count);
  text += times_text(report);
  text += fmt::format(
      "\n Rate: {:.3g} GLUP/s (billion updates of points per second), {:.4f} s for all steps\n Quiet: {}\n",
      report.updates_per_second() / 1e9, report.steps_s, report.quiet.text());
  return text + fmt::format(" Sum {:.15e}, checksum {:08x}\n {}\n", report.domain.sum, report.domain.checksum,
                            verdict_text(report));
}

std::string verdict_text(const StencilReport& report) {
  const auto code = report.code();
  const auto* const verdict = code == ExitCode::success         ? "verified"
                              : code == ExitCode::not_converged ? "NOT CONVERGED"
                                                                : "NOT verified";
  const auto& domain = report.domain;
  if (!report.solve)
    return fmt::format("{}: largest difference from the closed form {:.3g}, at most {:.3g}", verdict,
                       domain.largest_error, domain.tolerance);
  const auto& solve = *report.solve;
  const bool has_tolerance = solve.wanted_residual > 0.0;
  const bool recurrence_has_ended = solve.residual <= solve.wanted_residual || solve.residual == 0.0;
  const auto* const advice =
      code == ExitCode::success ? ""
      : code == ExitCode::not_converged && !recurrence_has_ended &&
              report.step_count >= report.options.step_count
          ? "; take more --steps"
          : "; rounding keeps x from the recurrences: take a smaller --temporal-block, or a larger --rtol";
  return fmt::format("{}: relative residual {:.3g} (true), {:.3g} (recurrence) after {}, {} {:.3g}{}",
                     verdict, solve.true_residual, solve.residual,
                     format_count(solve.iterations, "iteration"),
                     has_tolerance ? "tolerance" : "which may differ by",
                     has_tolerance ? solve.wanted_residual : domain.tolerance, advice);
}

void describe(Members& m, BlockPrediction& predicted) {
  m("block", predicted.block, at_least(1));
  m("passes", predicted.pass_count, at_least(1));
  m("plane_step_s", predicted.plane_step_s, at_least(0, "Measured: one step of one plane."));
  m("computing_s", predicted.computing_s,
    at_least(0, "Predicted for all steps, with what is computed twice."));
  m("storage_s", predicted.storage_s,
    at_least(0, "Predicted for all passes: reading and writing, were they alone."));
  m("predicted_s", predicted.total_s,
    at_least(0, "Of each pass the longer of both, with a device that is a quarter slower than measured."));
}

void describe(Members& m, BlockChoice& choice) {
  m("duration_s", choice.duration_s, at_least(0));
  m("plane_storage_s", choice.storage.plane_s,
    at_least(0, "A plane read and written, on the slowest rank, all ranks at the same time; 0 in memory."));
  m("plane_checksum_s", choice.storage.work_s, at_least(0, "The part of it that computing does not hide."));
  m("tried", choice.tried, {.fewest = 1});
}

void describe(Members& m, StencilSolve& solve) {
  m("iterations", solve.iterations, at_least(0));
  m.derived("is_converged", solve.is_converged());
  m("residual", solve.residual, at_least(0, "As the recurrences have it."));
  m("true_residual", solve.true_residual, meaning("Of the x that was found; null: NaN or infinite."));
  m("wanted_residual", solve.wanted_residual, at_least(0, "0: none."));
  m("residuals", solve.residuals, at_least(0, "After each iteration, as the recurrences have it."));
}

void describe(Members& m, StencilRank& rank) {
  m("planes", rank.plane_count, at_least(1));
  for (const auto& row : time_rows) m(row.key, rank.*row.seconds, at_least(0));
  m.derived("storage_share", rank.storage_share(),
            at_least(0, "Time spent waiting for reading and writing, divided by the time of all steps."));
  m("read_bytes", rank.read_bytes, at_least(0));
  m("written_bytes", rank.written_bytes, at_least(0));
  m("sent_bytes", rank.sent_bytes, at_least(0));
  m("peak_bytes", rank.peak_bytes, at_least(0, "Largest resident memory of the process."));
  m("is_direct", rank.is_direct);
}

void describe(Members& m, DomainFigures& domain) {
  m("sum", domain.sum, meaning("Of all points; null: NaN or infinite."));
  describe_hexadecimal(m, "checksum", domain.checksum,
                       "CRC-32C over the CRC-32C of the points of each plane.");
  m("largest_error", domain.largest_error,
    meaning("heat: largest difference from the closed form; s-step-cg: of the residual of x from that of the "
            "recurrences. Null: NaN or infinite."));
  m("tolerance", domain.tolerance,
    positive("success: largest_error is at most this, what rounding explains."));
}

void describe(Members& m, StencilReport& report) {
  m.constant("schema_version", 1);
  m.derived("status", {}, [&] { return report.code(); });
  m.derived("exit_code", static_cast<int>(report.code()),
            meaning("Of the program on every rank: 0, 81 or 82."));
  m("machine", report.machine, meaning("The processor of rank 0, with its caches."));
  m("mpi", report.mpi);
  m("instruction_set", report.instruction_set, meaning("Of the loop on rank 0."));
  m("nodes", report.node_count, at_least(1));
  m("method", report.options.method, meaning("heat or s-step-cg"));
  m.constant("conforming", false, "Whether it is the benchmark's algorithm: it never is.");
  m("shape", report.options.shape, at_least(1, "Points along x, y and z."));
  m("steps", report.step_count, at_least(0, "Made: s-step-cg may end before all that were asked for."));
  m("temporal_block", report.block,
    at_least(1, "Temporal block: steps of one pass over the domain; the last pass may have fewer."));
  m("passes", report.pass_count, at_least(0));
  m("trial", report.choice, or_null("How the temporal block was chosen; null: it was given."));
  m("needed_bytes_per_rank", report.needed_bytes,
    at_least(0, "Memory for planes on the rank that needs most."));
  m.object_if(
      !report.options.folders.empty(), "out_of_core",
      or_null("Null: the domain was in memory. Bytes and rates are of the steps, without start values and "
              "comparison."),
      [&] {
        bool is_direct = true;
        StoreFigures all_ranks;
        for (const auto& rank : report.ranks) {
          is_direct = is_direct && rank.is_direct;
          all_ranks.read_bytes += rank.read_bytes;
          all_ranks.written_bytes += rank.written_bytes;
        }
        m("folders", report.options.folders, {.fewest = 1});
        m("reader", report.reader, meaning("io_uring or threads"));
        m.derived("is_direct", is_direct,
                  meaning("All files were read and written past the system's cache."));
        m.derived("read_bytes", all_ranks.read_bytes, at_least(0));
        m.derived("written_bytes", all_ranks.written_bytes, at_least(0));
        m.derived("read_bytes_per_s", rate(all_ranks.read_bytes, report.steps_s), at_least(0));
        m.derived("written_bytes_per_s", rate(all_ranks.written_bytes, report.steps_s), at_least(0));
        m.derived("storage_share", over_ranks(report, &StencilRank::storage_share),
                  meaning("Time spent waiting for reading and writing, divided by the time of all steps."));
      });
  m("start_s", report.start_s, at_least(0, "Start values computed and stored, on the slowest rank."));
  m("steps_s", report.steps_s, at_least(0, "All steps, on the slowest rank."));
  m("check_s", report.check_s, at_least(0, "Result read and compared, on the slowest rank."));
  describe_disturbance(m, report.quiet);
  m("solve", report.solve, or_null("Of s-step-cg; residuals are relative to b."));
  m.derived("updates_per_s", at_least(0, "Points times steps, each once, divided by steps_s."),
            [&] { return report.updates_per_second(); });
  m.object("times", meaning("The ranks' use of the time of all steps."), [&] {
    for (const auto& row : time_rows)
      m.derived(row.key, over_ranks(report, row.seconds), meaning(row.meaning));
  });
  m("ranks", report.ranks, {.fewest = 1});
  m("result", report.domain,
    meaning("The final domain, u or x; it does not depend on the ranks, and with heat not on the temporal "
            "block."));
}

}  // namespace cg2d
