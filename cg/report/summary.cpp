#include "cg/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/values.hpp"
#include "cg/report/report_counters.hpp"
#include "cg/report/shown_figures.hpp"
#include "cg/run/feature.hpp"
#include "comm/communicator.hpp"

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
  return fmt::format("{} of {} tried: {}",
                     verdict.certainty == Certainty::decided ? "best" : "no clear winner", count,
                     verdict.reason);
}

/// The words for a kernel that a trial chose: the usual one stays where another one is not clearly faster.
std::string words_of_trial(const Configuration& configuration, const RaceVerdict* verdict) {
  const bool is_fastest = verdict != nullptr && verdict->certainty == Certainty::decided &&
                          verdict->candidate == configuration.kernel;
  return is_fastest ? "the fastest of those tried" : "by a trial";
}

std::string transport_line(const SessionReport& report, bool has_matrix) {
  const auto& configuration = report.configuration;
  const auto per_node = configuration.ranks_per_node > 0
                            ? " with " + configuration_axis("ranks_per_node").title(configuration)
                            : "";
  const auto overlap = !configuration.overlaps ? ""
                       : has_matrix && configuration.grid.rows == 1
                           ? ", overlap on (one process row: nothing to overlap)"
                           : ", overlap on";
  return fmt::format("{}{}{}, sum {}, waiting ranks {}{}{}", configuration.transport,
                     report.transport_origin == ChoiceOrigin::built_in_rule ? " (default)" : "", per_node,
                     sum_form_name(configuration.sum_form), wait_mode_name(report.wait_mode), overlap,
                     configuration.is_reproducible ? ", reproducible sums" : "");
}

/// "default" where the document has the interface's "built-in rule".
std::string kernel_line(const SessionReport& report) {
  const auto& kernel = report.configuration.kernel;
  const auto origin = report.kernel_choice.kernel_origin;
  const auto* const row = kernels::find_kernel(kernel);
  const auto words = origin == ChoiceOrigin::built_in_rule ? "default" : name_in(words_of(origin), origin);
  return fmt::format(
      "{} ({}), {}{}", kernel, report.instruction_set,
      origin == ChoiceOrigin::asked_for ? "requested" : fmt::format("chosen by auto ({})", words),
      row == nullptr || row->storage_text.empty() ? "" : fmt::format(", {}", row->storage_text));
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
  return fmt::format("{}{}; {}, {} per rank", configuration.grid.name(), reason,
                     transport_words(configuration), format_count(configuration.thread_count, "thread"));
}

std::string transport_words(const Configuration& configuration) {
  const auto* const row = comm::find_transport(configuration.transport);
  const bool copies_nothing = row != nullptr && row->reads_in_place;
  return configuration.transport + (copies_nothing ? " memory" : " messages");
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

std::string choice_lines(const SessionReport& report, const RepeatReport& repeat, bool has_matrix) {
  const auto& configuration = report.configuration;
  const auto& grid = configuration.grid;
  LabelledLines line;
  if (has_matrix) {
    line("Grid",
         fmt::format("{} (Px x Py: {}, {}{})", grid.name(), format_count(grid.columns, "process column"),
                     format_count(grid.rows, "process row"),
                     report.grid_is_automatic ? ", chosen by auto" : ""));
    if (report.grid_trial) line("Grid trial", describe_trial(*report.grid_trial));
    if (report.speed_trial)
      line("Speeds", describe_speeds(*report.speed_trial, achieved_speed(report.ranks, repeat)));
  }
  line("Transport", transport_line(report, has_matrix));
  if (report.transport_trial) line("Transport trial", describe_transport_trial(*report.transport_trial));
  line("Kernel", has_matrix ? kernel_line(report) : configuration.kernel);
  line("Threads", fmt::format("{} per rank", configuration.thread_count));
  if (report.binding) line("Binding", describe_binding(*report.binding));
  return line.text;
}

std::string command_lines(const SessionReport& report) {
  constexpr std::size_t shown_letters = 12;
  if (!report.provenance) return {};
  const auto& [hash, tree_changed] = report.provenance->commit;
  return labelled_line("Command", command_text(report.provenance->command)) +
         labelled_line("Commit", hash.substr(0, shown_letters) +
                                     (tree_changed.value_or(false) ? ", tree changed" : ""));
}

std::string figures_text(const PhaseFigures& figures, const TextDetail& detail) {
  return "\n" + phase_table_text(figures, detail) + roofline_text(figures) + counters_text(figures);
}

std::string closing_lines(const SessionReport& report) {
  auto text = feature_lines(&FeatureRow::closing_lines, report);
  for (const auto& warning : report.warnings) text += fmt::format(" Warning: {}\n", warning);
  return text;
}

}  // namespace cg2d
