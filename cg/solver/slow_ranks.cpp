#include "cg/solver/slow_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cg/base/describe.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
namespace {

constexpr double largest_factor = 100.0;

SlowRank slow_rank_from(std::string_view text) {
  const auto parts = split_at(text, '@');
  const auto ranks = split_at(parts.front(), ':');
  const SlowRank slow{
      .rank = number_from<int>(ranks.front()).value_or(-1),
      .factor = number_from<double>(ranks.back()).value_or(0.0),
      .first_product = parts.size() > 1 ? number_from<int64_t>(parts.back()).value_or(-1) : 0};
  const bool is_right = ranks.size() == 2 && parts.size() <= 2 && slow.rank >= 0 && slow.factor >= 1.0 &&
                        slow.factor <= largest_factor && slow.first_product >= 0;
  if (!is_right)
    throw InputError(
        "{} {}: must be RANK:FACTOR or RANK:FACTOR@PRODUCT, the factor within 1 ... {}, as in "
        "1:2 or 0:1.5@600",
        slow_rank_option, text, largest_factor);
  return slow;
}

}  // namespace

SlowRanks slow_ranks_from(std::string_view text) {
  SlowRanks slow;
  for (const auto& part : split_at(text, ',')) {
    const auto one = slow_rank_from(part);
    std::erase_if(slow, [&](const SlowRank& before) {
      return before.rank == one.rank && before.first_product == one.first_product;
    });
    slow.push_back(one);
  }
  std::ranges::stable_sort(slow, {}, &SlowRank::first_product);
  return slow;
}

void require_ranks(const SlowRanks& slow, int rank_count) {
  for (const auto& one : slow) {
    if (one.rank >= rank_count)
      throw InputError("{} {}:{}: there {} {}, numbered from 0", slow_rank_option, one.rank, one.factor,
                       rank_count == 1 ? "is" : "are", format_count(rank_count, "rank"));
  }
}

SlowRanks changes_of(const SlowRanks& slow, int rank) {
  auto changes = slow;
  std::erase_if(changes, [rank](const SlowRank& one) { return one.rank != rank; });
  return changes;
}

std::vector<double> factors_at(const SlowRanks& slow, int rank_count, int64_t product) {
  std::vector<double> factors(static_cast<size_t>(rank_count), 1.0);
  for (const auto& one : slow) {
    if (one.rank < rank_count && one.first_product <= product)
      factors[static_cast<size_t>(one.rank)] = one.factor;
  }
  return factors;
}

std::string text_of(const SlowRanks& slow) {
  std::string text;
  for (const auto& one : slow)
    text += fmt::format("{} rank {} by {}{}", text.empty() ? "" : ",", one.rank, one.factor,
                        one.first_product > 0 ? fmt::format(" from product {} on", one.first_product) : "");
  return text;
}

void describe(Members& m, SlowRank& slow) {
  m("rank", slow.rank, at_least(0));
  m("factor", slow.factor, positive("Its products take so many times as long."));
  m("first_product", slow.first_product, at_least(0, "Of the work, from 0, with its untimed part."));
}

}  // namespace cg2d
