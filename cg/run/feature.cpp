#include "cg/run/feature.hpp"

#include <fmt/format.h>

#include <array>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/run/check/check.hpp"
#include "cg/run/solve/solve_options.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/run/watch/stall_watch.hpp"
#include "cg/solver/slow_ranks.hpp"

namespace cg2d {

FeatureRow checkpoint_feature();
FeatureRow streaming_feature();
FeatureRow guard_feature();
FeatureRow rebalance_feature();

// Features that are an option, and a call in the course of the work.
namespace {

void describe_slow_ranks(Members& m, FeatureResults& results, WorkKind /*kind*/) {
  describe_section<SlowRanks>(m, "slow_ranks", results, "Only with --slow-rank.",
                              [&](SlowRanks& slow) { m("ranks", slow.ranks, {.fewest = 1}); });
}

std::string slow_rank_text(const SlowRanks& slow) {
  return fmt::format(" Slowed {}, on purpose\n", describe(slow));
}

void resolve_slow_ranks(const AskedWork& asked) { require_matrix(asked, slow_rank_option); }

/// With the end of all ranks; with "none" nothing is watched.
void read_stall_limit(const std::string& text, FeatureSettings& settings) {
  if (text != "none")
    settings.set(StallOptions{.limit_s = limit_seconds_from("--stall-limit", text), .end = end_all_ranks});
}

/// Kernel, transport and grid are checked before the first iteration.
FeatureRow check_feature() {
  static constexpr std::array own_options{FeatureOption{
      .name = "--check",
      .group = "Plan",
      .help = "first check kernel, transport and grid of the run, as cg2d check does",
      .read = [](const std::string& /*text*/, FeatureSettings& settings) { settings.set(CheckSettings()); }}};
  return {.options = own_options, .is_used = has_settings<CheckSettings>};
}

/// Ranks that are slower on purpose, to learn how sensitive a grid is.
FeatureRow slow_rank_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = slow_rank_option,
                    .value = "R:FACTOR[@PRODUCT],...",
                    .default_text = "none",
                    .group = "Grid",
                    .help = "products of rank R take FACTOR times as long, from that product on, to see what "
                            "one slow rank costs",
                    .read = [](const std::string& text, FeatureSettings& settings) {
                      settings.set(slow_ranks_from(text));
                    }}};
  return {.options = own_options,
          .is_used = has_settings<SlowRanks>,
          .resolve = resolve_slow_ranks,
          .describe = describe_slow_ranks,
          .summary_lines = lines_of<SlowRanks, slow_rank_text>};
}

/// The end of a run in which nothing goes on.
FeatureRow stall_feature() {
  static constexpr std::array own_options{FeatureOption{
      .name = "--stall-limit",
      .value = "TIME",
      .default_text = "none",
      .group = "Output",
      .help = "end with code 85 when no iteration goes on for that long, and say what each rank waits for",
      .read = read_stall_limit}};
  return {.options = own_options, .is_used = has_settings<StallOptions>};
}

}  // namespace

std::span<const FeatureRow> feature_table() {
  static const std::array table{checkpoint_feature(), streaming_feature(), guard_feature(), check_feature(),
                                slow_rank_feature(),  rebalance_feature(), stall_feature()};
  return table;
}

void refuse_if(bool is_given, std::string_view what, std::string_view reason) {
  if (is_given) throw InputError("{}: {}", what, reason);
}

void require_classic_form(const AskedWork& asked, std::string_view option) {
  const auto classic = cg_variant_table().front().name;
  if (asked.system != nullptr && asked.system->variant != classic)
    throw InputError("{}: not for --variant {}; take {}", option, asked.system->variant, classic);
}

void require_matrix(const AskedWork& asked, std::string_view option) {
  refuse_if(asked.system != nullptr && asked.system->is_matrix_free(), option,
            "needs a matrix: FILE, or --operator with --assembled");
}

void resolve_features(const AskedWork& asked) {
  for (const auto& row : feature_table()) {
    if (row.resolve != nullptr && row.is_used(asked.options)) row.resolve(asked);
  }
}

std::string feature_lines(LinesOfFeature FeatureRow::*lines, const SessionReport& report) {
  std::string text;
  for (const auto& row : feature_table()) {
    if (row.*lines != nullptr) text += (row.*lines)(report);
  }
  return text;
}

}  // namespace cg2d
