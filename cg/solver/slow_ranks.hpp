#pragma once

// Ranks that are slower on purpose: a value of --slow-rank, and their products, which take longer.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"

namespace cg2d {

inline constexpr std::string_view slow_rank_option = "--slow-rank";

/// A rank from one of its products on.
struct SlowRank {
  int rank = 0;
  double factor = 1.0;  ///< 1 or more: its products take so many times as long
  int64_t first_product = 0;
};

/// Extra work in each product: the rank computes on until the product has taken so many times as long as it did.
class Slowdown {
 public:
  /// changes: of this rank, by rising first_product; before the first one the factor is 1.
  explicit Slowdown(std::vector<SlowRank> changes) : changes_(std::move(changes)) {}

  void begin_product() {
    while (next_ < changes_.size() && changes_[next_].first_product <= product_count_)
      factor_ = changes_[next_++].factor;
    ++product_count_;
  }
  /// A product, or a part of it, is done that began with the watch.
  void extend(const Stopwatch& watch) const {
    if (factor_ <= 1.0) return;
    const double until_s = factor_ * watch.seconds();
    while (watch.seconds() < until_s) {
    }
  }

 private:
  std::vector<SlowRank> changes_;
  size_t next_ = 0;
  int64_t product_count_ = 0;
  double factor_ = 1.0;
};

/// By rising first_product.
using SlowRanks = std::vector<SlowRank>;

class Members;
void describe(Members& m, SlowRank& slow);

/// "1:2,0:1.5@600"; of several factors of a rank from the same product on the last one counts. Throws InputError: the option, the text, and what
/// would be valid.
SlowRanks slow_ranks_from(std::string_view text);
/// Throws InputError for a rank that there is not.
void require_ranks(const SlowRanks& slow, int rank_count);
/// The changes of one rank.
SlowRanks changes_of(const SlowRanks& slow, int rank);
/// The factors of all ranks in that product: [rank], 1 for those that are not slowed. Ranks that there are not are left out.
std::vector<double> factors_at(const SlowRanks& slow, int rank_count, int64_t product);

/// " rank 1 by 2, rank 0 by 1.5 from product 600 on"
std::string text_of(const SlowRanks& slow);

}  // namespace cg2d
