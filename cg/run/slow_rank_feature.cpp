// --slow-rank: ranks that are slower on purpose, to learn how sensitive a grid is.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"
#include "cg/run/feature.hpp"
#include "cg/run/feature_section.hpp"
#include "cg/solver/slowdown.hpp"

namespace cg2d {
namespace {

constexpr std::string_view slow_rank_option = "--slow-rank";
constexpr double largest_factor = 100.0;

/// A rank from one of its products on.
struct SlowRank {
  int rank = 0;
  double factor = 1.0;
  std::int64_t first_product = 0;
};

struct SlowRanks {
  std::vector<SlowRank> ranks;  ///< those of a rank by rising products
};

SlowRank slow_rank_from(std::string_view text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto at = std::min(text.find('@', colon), text.size());
  const auto after = [&](std::size_t place, std::size_t end) {
    return place < end ? text.substr(place + 1, end - place - 1) : std::string_view();
  };
  const SlowRank slow{
      .rank = number_from<int>(text.substr(0, colon)).value_or(-1),
      .factor = number_from<double>(after(colon, at)).value_or(0.0),
      .first_product = at < text.size() ? number_from<std::int64_t>(after(at, text.size())).value_or(-1) : 0};
  const bool is_right =
      slow.rank >= 0 && slow.factor >= 1.0 && slow.factor <= largest_factor && slow.first_product >= 0;
  if (!is_right)
    throw InputError(
        fmt::format("{} {}: must be RANK:FACTOR or RANK:FACTOR@PRODUCT, the factor within 1 ... {}, as in "
                    "1:2 or 0:1.5@600",
                    slow_rank_option, text, largest_factor));
  return slow;
}

void read_slow_ranks(const OptionTexts& texts, FeatureSettings& settings) {
  const auto given = texts.find(slow_rank_option);
  if (given == texts.end()) return;
  SlowRanks slow;
  std::string_view rest = given->second;
  while (true) {
    const auto comma = rest.find(',');
    slow.ranks.push_back(slow_rank_from(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::stable_sort(slow.ranks, {}, &SlowRank::first_product);
  settings.set(std::move(slow));
}

class SlowRankFeature final : public Feature {
 public:
  explicit SlowRankFeature(const FeatureContext& context)
      : slow_(context.options.features.of<SlowRanks>()), context_(context) {}

  void before_matrix() override {
    const int rank_count = context_.group.size();
    std::vector<Slowdown::Change> mine;
    for (const auto& slow : slow_.ranks) {
      if (slow.rank >= rank_count)
        throw InputError(fmt::format("{} {}:{}: there are {}, numbered from 0", slow_rank_option, slow.rank,
                                     slow.factor, format_count(rank_count, "rank")));
      if (slow.rank != context_.group.rank()) continue;
      mine.push_back({.first_product = slow.first_product, .factor = slow.factor});
      if (slow.first_product == 0) first_factor_ = slow.factor;
    }
    if (!mine.empty()) slowdown_.emplace(std::move(mine));
    context_.report.features.set(slow_);
  }
  [[nodiscard]] double slowness() const override { return first_factor_; }
  void with_operator(AssembledOperator& assembled) override {
    if (slowdown_) assembled.matrix().set_slowdown(&*slowdown_);
  }

 private:
  SlowRanks slow_;
  FeatureContext context_;
  double first_factor_ = 1.0;
  std::optional<Slowdown> slowdown_;
};

const Record<SlowRank>& slow_rank_record() {
  static const Record<SlowRank> record{
      "slow_rank",
      {{"rank", count_type(), &SlowRank::rank},
       {"factor", positive_seconds_type(), &SlowRank::factor, "Its products take so many times as long."},
       {"first_product", count_type(), &SlowRank::first_product,
        "Of the work, from 0, with its untimed part."}}};
  return record;
}

Record<SessionReport> slow_rank_sections(WorkKind /*kind*/) {
  static const Record<SlowRanks> section{
      "slow_ranks", {list_figure<SlowRanks>("ranks", slow_rank_record(), &SlowRanks::ranks, "", 1)}};
  return {{section_of("slow_ranks", section, "Only with --slow-rank.")}};
}

std::string slow_rank_lines(const SessionReport& report) {
  const auto* const slow = report.features.find<SlowRanks>();
  if (slow == nullptr) return {};
  std::string text;
  for (const auto& one : slow->ranks)
    text += fmt::format("{} rank {} by {}{}", text.empty() ? " Slowed " : ",", one.rank, one.factor,
                        one.first_product > 0 ? fmt::format(" from product {} on", one.first_product) : "");
  return text + ", on purpose\n";
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
          .is_used =
              [](const SessionOptions& options) { return !options.features.of<SlowRanks>().ranks.empty(); },
          .make = make_feature<SlowRankFeature>,
          .resolve = resolve_slow_ranks,
          .record = slow_rank_sections,
          .summary_lines = slow_rank_lines};
}

}  // namespace cg2d
