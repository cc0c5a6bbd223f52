#include "cg/run/feature.hpp"

namespace cg2d {

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
  const auto& features = asked.options.features;
  if (features.checkpoint.is_used() || features.checkpoint.interval_s) resolve_checkpoint(asked);
  if (features.out_of_core.is_used()) resolve_streaming(asked);
  if (features.guard.is_used()) resolve_guard(asked);
  if (!features.slow_ranks.empty()) require_matrix(asked, slow_rank_option);
  if (features.rebalances) resolve_rebalance(asked);
}

void describe_features(Members& m, FeatureResults& results, WorkKind kind) {
  describe_checkpoints(m, results.checkpoints);
  describe_out_of_core(m, results.out_of_core);
  describe_guard(m, results.guard, kind);
  auto& slow = results.slow_ranks;
  m.object_if(!slow.empty(), "slow_ranks", meaning("Only with --slow-rank."),
              [&] { m("ranks", slow, {.fewest = 1}); });
  if (kind == WorkKind::outer_iterations) describe_rebalance(m, results.moves);
}

std::string feature_lines(const FeatureResults& results) {
  auto text = checkpoint_lines(results.checkpoints) + stream_lines(results.out_of_core);
  if (const auto& slow = results.slow_ranks; !slow.empty())
    text += fmt::format(" Slowed {}, on purpose\n", text_of(slow));
  return text + rebalance_lines(results.moves);
}

}  // namespace cg2d
