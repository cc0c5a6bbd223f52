// --slow-rank: ranks that are slower on purpose, to learn how sensitive a grid is.

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "cg/run/feature.hpp"
#include "cg/solver/slow_ranks.hpp"

namespace cg2d {
namespace {

void read_slow_ranks(const OptionTexts& texts, FeatureSettings& settings) {
  if (const auto* const text = text_of(texts, slow_rank_option)) settings.set(slow_ranks_from(*text));
}

class SlowRankFeature final : public Feature {
 public:
  explicit SlowRankFeature(const FeatureContext& context)
      : Feature(context), slow_(context.options.features.of<SlowRanks>()) {}

  void before_matrix() override {
    require_ranks(slow_, context_.group.size());
    auto mine = changes_of(slow_, context_.group.rank());
    if (!mine.empty()) slowdown_.emplace(std::move(mine));
    context_.report.features.set(slow_);
  }
  [[nodiscard]] double slowness() const override {
    return factors_at(slow_, context_.group.size(), 0)[static_cast<std::size_t>(context_.group.rank())];
  }
  void with_operator(AssembledOperator& assembled) override {
    if (slowdown_) assembled.matrix().set_slowdown(&*slowdown_);
  }

 private:
  SlowRanks slow_;
  std::optional<Slowdown> slowdown_;
};

void describe_slow_ranks(Members& m, FeatureResults& results, WorkKind /*kind*/) {
  describe_section<SlowRanks>(m, "slow_ranks", results, "Only with --slow-rank.",
                              [&](SlowRanks& slow) { m("ranks", slow.ranks, {.fewest = 1}); });
}

std::string slow_rank_text(const SlowRanks& slow) {
  return fmt::format(" Slowed {}, on purpose\n", describe(slow));
}

void resolve_slow_ranks(const AskedWork& asked) { require_matrix(asked, slow_rank_option); }

}  // namespace

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
          .make = make_feature<SlowRankFeature>,
          .resolve = resolve_slow_ranks,
          .describe = describe_slow_ranks,
          .summary_lines = lines_of<SlowRanks, slow_rank_text>};
}

}  // namespace cg2d
