#pragma once

// Products that take longer on purpose, on a rank that is to be slower than it is.

#include <cstdint>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"

namespace cg2d {

/// Extra work in each product: the rank computes on until the product has taken so many times as long as it did.
class Slowdown {
 public:
  /// From that product of the work on, counted from 0.
  struct Change {
    std::int64_t first_product = 0;
    double factor = 1.0;  ///< 1 or more
  };

  /// changes: by rising first_product; before the first one the factor is 1.
  explicit Slowdown(std::vector<Change> changes) : changes_(std::move(changes)) {}

  /// That of the next product.
  [[nodiscard]] double factor() const { return factor_; }
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
  std::vector<Change> changes_;
  std::size_t next_ = 0;
  std::int64_t product_count_ = 0;
  double factor_ = 1.0;
};

}  // namespace cg2d
