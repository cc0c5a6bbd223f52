#include "cg/run/feature.hpp"

#include <array>

#include "cg/run/solve/solve_options.hpp"

namespace cg2d {

FeatureRow checkpoint_feature();
FeatureRow streaming_feature();
FeatureRow guard_feature();
FeatureRow rebalance_feature();

namespace {

void describe_slow_ranks(Members& m, FeatureResults& results, WorkKind /*kind*/) {
  auto& ranks = results.slow_ranks.ranks;
  m.object_if(!ranks.empty(), "slow_ranks", meaning("Only with --slow-rank."),
              [&] { m("ranks", ranks, {.fewest = 1}); });
}

std::string slow_rank_text(const FeatureResults& results) {
  const auto& slow = results.slow_ranks;
  return slow.ranks.empty() ? std::string() : fmt::format(" Slowed {}, on purpose\n", describe(slow));
}

}  // namespace

std::span<const FeatureRow> feature_table() {
  static const std::array table{
      checkpoint_feature(), streaming_feature(), guard_feature(),
      // Ranks that are slower on purpose, to learn how sensitive a grid is: an option, and calls in the course of the work.
      FeatureRow{.is_used = [](const auto& asked) { return !asked.slow_ranks.ranks.empty(); },
                 .resolve = [](const AskedWork& asked) { require_matrix(asked, slow_rank_option); },
                 .describe = describe_slow_ranks,
                 .lines = slow_rank_text},
      rebalance_feature()};
  return table;
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
    if (row.resolve != nullptr && row.is_used(asked.options.features)) row.resolve(asked);
  }
}

std::string feature_lines(const FeatureResults& results) {
  std::string text;
  for (const auto& row : feature_table()) {
    if (row.lines != nullptr) text += row.lines(results);
  }
  return text;
}

}  // namespace cg2d
