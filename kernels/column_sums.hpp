#pragma once

// Where the threads of a kernel on half-stored blocks add to q over the block's columns: each to a vector of
// its own, since any row may meet any column.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {

class ColumnSums {
 public:
  /// The first thread adds to the result itself.
  ColumnSums(std::int64_t column_count, int thread_count) {
    for (int thread = 1; thread < thread_count; ++thread) {
      own_.emplace_back(static_cast<std::size_t>(column_count));
    }
  }

  /// Where a thread puts its sums; as many as the result has.
  [[nodiscard]] std::span<double> of_thread(int thread, std::span<double> result) {
    return thread == 0 ? result : own_[static_cast<std::size_t>(thread) - 1].span();
  }

  /// Adds the other threads' sums to the result, in the order of the threads: `part` of `part_count` shares
  /// of it. All threads must have come to an end before.
  void add_to(std::span<double> result, int part, int part_count) const {
    const auto size = static_cast<std::int64_t>(result.size());
    const std::int64_t begin = size * part / part_count;
    const std::int64_t end = size * (part + 1) / part_count;
    for (const auto& sums : own_) {
      const double* source = sums.data();
      for (std::int64_t k = begin; k < end; ++k) result[static_cast<std::size_t>(k)] += source[k];
    }
  }

 private:
  std::vector<PageBuffer<double>> own_;
};

}  // namespace cg2d::kernels
