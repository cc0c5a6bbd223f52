#include "cg/report/summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cg/base/values.hpp"
#include "cg/report/report_counters.hpp"

namespace cg2d {
namespace {

/// Why this grid, where nobody asked for it.
std::string reason_of_grid(const std::optional<GridTrial>& trial) {
  if (!trial) return "chosen by the rule";
  if (trial->tried.size() < 2)
    return fmt::format("chosen by the {}{}", trial->shortlist_by,
                       trial->skipped_because.empty() ? "" : ", not tried: " + trial->skipped_because);
  const auto& verdict = trial->verdict;
  const auto count = trial->tried.size();
  if (verdict.certainty == Certainty::alone)
    return fmt::format("of {} tried; the others soon fell behind", count);
  return fmt::format("{} of {} tried: {}", verdict.certainty == Certainty::decided ? "the fastest" : "one",
                     count, verdict.reason);
}

/// The words for a kernel that a trial chose: the usual one stays where another one is not clearly faster.
std::string words_of_trial(const Configuration& configuration, const RaceVerdict* verdict) {
  const bool is_fastest = verdict != nullptr && verdict->certainty == Certainty::decided &&
                          verdict->candidate == configuration.kernel;
  return is_fastest ? "the fastest of those tried" : "by a trial";
}

/// "58.1 GB/s, 19.40 Gflop/s", of all ranks.
std::string rates_of(const PhaseShare& share, std::size_t rank_count) {
  const double per_s = share.measured_s > 0.0 ? static_cast<double>(rank_count) / share.measured_s : 0.0;
  constexpr double billion = 1e9;
  return fmt::format("{:.1f} GB/s, {:.2f} Gflop/s", share.byte_count * per_s / billion,
                     share.flop_count * per_s / billion);
}

/// The phase that does most of the product, with a matrix or without one.
Phase product_phase(const PhaseFigures& figures, std::span<const PhaseShare> shares) {
  return *std::ranges::max_element(figures.phases, {}, [&](Phase phase) {
    const auto work = phase_row(phase).work;
    const bool multiplies = work == LocalWork::product || work == LocalWork::stencil;
    return multiplies ? shares[index_of(phase)].byte_count : -1.0;
  });
}

}  // namespace

std::string summary_text(const Summary& summary) {
  std::string text;
  const auto line = [&](std::string_view label, std::string_view value) {
    text += fmt::format(" {:<8}{}\n", label, value);
  };
  line("Result", summary.result);
  line("Time", summary.time);
  line("Grid", summary.grid);
  line("Kernel", summary.kernel);
  line("Limit", summary.limit);
  line("Quiet", summary.quiet);
  return text;
}

std::string grid_summary(const Configuration& configuration, bool is_automatic,
                         const std::optional<GridTrial>& trial) {
  const int rank_count = configuration.grid.rank_count();
  std::string reason = " (requested)";
  if (rank_count == 1) {
    reason = " (the only grid of 1 rank)";
  } else if (is_automatic) {
    reason = ", " + reason_of_grid(trial);
  }
  return fmt::format("{}{}; {} messages, {} per rank", configuration.grid.name(), reason,
                     configuration.transport, format_count(configuration.thread_count, "thread"));
}

std::string_view origin_words(ChoiceOrigin origin) {
  if (origin == ChoiceOrigin::asked_for) return "requested";
  return origin == ChoiceOrigin::built_in_rule ? "default" : choice_origin_name(origin);
}

std::string kernel_summary(const Configuration& configuration, const std::string& instruction_set,
                           ChoiceOrigin origin, const RaceVerdict* trial) {
  const std::string name = fmt::format("{}, {}", configuration.kernel, instruction_set);
  switch (origin) {
    case ChoiceOrigin::asked_for:
      return name + " (requested)";
    case ChoiceOrigin::profile:
      return name + " (from the profile of this machine)";
    case ChoiceOrigin::trial:
      return name + ", " + words_of_trial(configuration, trial);
    case ChoiceOrigin::built_in_rule:
      break;
  }
  return name + " (default; cg2d tune measures)";
}

std::string checkpoint_lines(const CheckpointFacts& facts) {
  std::string text =
      fmt::format(" Saved   {} in {}, {:.3g} s of the time; one each {:.4g} s ({})\n",
                  format_count(facts.count, "checkpoint"), facts.folder, facts.total_s, facts.interval_s,
                  facts.is_automatic
                      ? fmt::format("Young's interval for {:.3g} s each and a failure a day", facts.write_s)
                      : "requested");
  if (!facts.failure.empty())
    text += fmt::format(" Warning: the last checkpoint is missing: {}\n", facts.failure);
  return text;
}

std::string out_of_core_line(const OutOfCoreFacts& facts) {
  std::int64_t file_bytes = 0;
  double resident_bytes = 0.0;
  double bytes_per_s = 0.0;
  double storage_bytes_per_s = 0.0;
  double wait_share = 0.0;
  double check_share = 0.0;
  for (const auto& rank : facts.ranks) {
    storage_bytes_per_s += rank.storage_bytes_per_s;
    file_bytes += rank.file_bytes;
    resident_bytes += static_cast<double>(rank.memory.resident_count) * static_cast<double>(rank.file_bytes) /
                      static_cast<double>(std::max<std::int64_t>(rank.panel_count, 1));
    const auto& figures = rank.figures;
    if (figures.product_s <= 0.0) continue;
    bytes_per_s += static_cast<double>(figures.byte_count) / figures.product_s;
    wait_share = std::max(wait_share, figures.wait_s / figures.product_s);
    check_share = std::max(check_share, figures.check_s / figures.product_s);
  }
  const bool was_there =
      std::ranges::all_of(facts.ranks, [](const RankStream& rank) { return rank.was_there; });
  const bool is_tuned =
      std::ranges::any_of(facts.ranks, [](const auto& rank) { return rank.tuning.is_tuned; });
  const auto reading = bytes_per_s > 0.0
                           ? fmt::format(
                                 "read at {:.3g} GB/s during products, which waited for {:.0f} % of "
                                 "their time and computed checksums for {:.0f} %",
                                 bytes_per_s / 1e9, 100.0 * wait_share, 100.0 * check_share)
                           : std::string("products read nothing");
  std::string text = fmt::format(" Streamed {} of matrix from {} ({}), {} of it stay in memory; {} ({}{})\n",
                                 format_bytes(file_bytes), fmt::join(facts.folders, ", "),
                                 was_there ? "files of an earlier run"
                                           : fmt::format("made in {:.3g} s, of which writing took {:.3g} s",
                                                         facts.write_s, facts.device_write_s),
                                 format_bytes(saturated(resident_bytes)), reading, facts.reader,
                                 is_tuned ? ", panels by the tuning profile" : "");
  text += fmt::format(
      " Files   RANK-of-{0}.panels, {1} of {0}, stay in {2} for the next run of this matrix; remove them "
      "when done\n",
      facts.ranks.size(), format_bytes(file_bytes), fmt::join(facts.folders, ", "));
  if (storage_bytes_per_s <= 0.0) return text;
  text += fmt::format(" Storage bandwidth, reading only: {:.3g} GB/s{}\n", storage_bytes_per_s / 1e9,
                      bytes_per_s > 0.0 ? fmt::format("; products reached {:.0f} % of it",
                                                      100.0 * bytes_per_s / storage_bytes_per_s)
                                        : std::string());
  const auto limits = limits_of(facts);
  if (limits.in_core_bytes > 0)
    text += fmt::format(
        " By these rates reading takes no longer than multiplying from --memory-limit {} on; from {} on all "
        "stays in memory\n",
        format_bytes(limits.unbound_bytes), format_bytes(limits.in_core_bytes));
  return text;
}

std::string guard_lines(const GuardReport& guard) {
  std::string text;
  constexpr std::size_t most_lines = 20;
  if (guard.options.injects) {
    const auto made = std::ranges::count_if(guard.faults, &Fault::is_made);
    text += fmt::format(" Injected        = {} of {} (seed {})\n", made,
                        format_count(std::ssize(guard.faults), "bit flip"), guard.options.inject.seed);
    for (std::size_t k = 0; k < std::min(guard.faults.size(), most_lines); ++k)
      text += fmt::format("   {}\n", describe(guard.faults[k]));
  }
  if (!guard.options.checks) return text;
  text += fmt::format(" Guard           = {}, {}, {}", format_count(guard.check_count(), "check"),
                      format_count(std::ssize(guard.detections), "detection"),
                      format_count(guard.rollback_count, "rollback"));
  if (guard.time_share > 0.0) text += fmt::format(", {:.2f} % of the time", 100.0 * guard.time_share);
  text += '\n';
  for (std::size_t k = 0; k < std::min(guard.detections.size(), most_lines); ++k)
    text += fmt::format("   {}\n", describe(guard.detections[k]));
  return text;
}

std::string limit_summary(const PhaseFigures& figures) {
  const auto shares = phase_shares(figures);
  const auto phase = product_phase(figures, shares);
  const auto& product = shares[index_of(phase)];
  const auto rates = rates_of(product, figures.ranks.size());
  if (!figures.ranks.front().limits.are_known())
    return fmt::format("not measured (--roofline does); {}: {}", phase_name(phase), rates);
  double shortest_s = 0.0;
  double measured_s = 0.0;
  for (const auto one : figures.phases) {
    shortest_s += shares[index_of(one)].shortest_s;
    measured_s += shares[index_of(one)].measured_s;
  }
  // Beyond 1 where vectors lie in a faster cache than the limits were measured with.
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100.0 * std::min(share, 1.0)); };
  return fmt::format("{} of the machine's limit; {} {}: {}", percent(shortest_s / measured_s),
                     phase_name(phase), percent(product.share()), rates);
}

}  // namespace cg2d
