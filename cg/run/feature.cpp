#include "cg/run/feature.hpp"

#include <fmt/format.h>

#include <array>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/run/check/check.hpp"
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

constexpr std::string_view check_option = "--check";

void read_check(const OptionTexts& texts, FeatureSettings& settings) {
  if (text_of(texts, check_option) != nullptr) settings.set(CheckSettings());
}

void read_slow_ranks(const OptionTexts& texts, FeatureSettings& settings) {
  if (const auto* const text = text_of(texts, slow_rank_option)) settings.set(slow_ranks_from(*text));
}

void describe_slow_ranks(Members& m, FeatureResults& results, WorkKind /*kind*/) {
  describe_section<SlowRanks>(m, "slow_ranks", results, "Only with --slow-rank.",
                              [&](SlowRanks& slow) { m("ranks", slow.ranks, {.fewest = 1}); });
}

std::string slow_rank_text(const SlowRanks& slow) {
  return fmt::format(" Slowed {}, on purpose\n", describe(slow));
}

void resolve_slow_ranks(const AskedWork& asked) { require_matrix(asked, slow_rank_option); }

constexpr std::string_view stall_limit_option = "--stall-limit";

/// With the end of all ranks; with "none" nothing is watched.
void read_stall_limit(const OptionTexts& texts, FeatureSettings& settings) {
  const auto* const text = text_of(texts, stall_limit_option);
  if (text == nullptr || *text == "none") return;
  settings.set(StallOptions{.limit_s = limit_seconds_from(stall_limit_option, *text), .end = end_all_ranks});
}

/// Kernel, transport and grid are checked before the first iteration.
FeatureRow check_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = check_option,
                    .group = "Plan",
                    .help = "first check kernel, transport and grid of the run, as cg2d check does"}};
  return {.name = "self-check",
          .options = own_options,
          .read = read_check,
          .is_used = has_settings<CheckSettings>};
}

/// Ranks that are slower on purpose, to learn how sensitive a grid is.
FeatureRow slow_rank_feature() {
  static constexpr std::array own_options{
      FeatureOption{.name = slow_rank_option,
                    .value = "R:FACTOR[@PRODUCT],...",
                    .default_text = "none",
                    .group = "Grid",
                    .help = "products of rank R take FACTOR times as long, from that product on, to see what "
                            "one slow rank costs"}};
  return {.name = "slow ranks",
          .options = own_options,
          .read = read_slow_ranks,
          .is_used = has_settings<SlowRanks>,
          .resolve = resolve_slow_ranks,
          .describe = describe_slow_ranks,
          .summary_lines = lines_of<SlowRanks, slow_rank_text>};
}

/// The end of a run in which nothing goes on.
FeatureRow stall_feature() {
  static constexpr std::array own_options{FeatureOption{
      .name = stall_limit_option,
      .value = "TIME",
      .default_text = "none",
      .group = "Output",
      .help = "end with code 85 when no iteration goes on for that long, and say what each rank waits for"}};
  return {.name = "stall limit",
          .options = own_options,
          .read = read_stall_limit,
          .is_used = has_settings<StallOptions>};
}

}  // namespace

std::span<const FeatureRow> feature_table() {
  static const std::array table{checkpoint_feature(), streaming_feature(), guard_feature(), check_feature(),
                                slow_rank_feature(),  rebalance_feature(), stall_feature()};
  return table;
}

void require_classic_form(const AskedWork& asked, std::string_view option) {
  const auto classic = cg_variant_table().front().name;
  if (asked.variant != classic)
    throw InputError(fmt::format("{}: not for --variant {}; take {}", option, asked.variant, classic));
}

void require_matrix(const AskedWork& asked, std::string_view option) {
  if (!asked.has_matrix)
    throw InputError(fmt::format("{}: needs a matrix: FILE, or --operator with --assembled", option));
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
