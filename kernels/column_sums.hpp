#pragma once

// The sums over a block's columns that the threads of a kernel with half storage make: each thread adds to a
// vector of its own, since any row may meet any column.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {

/// One vector of column sums per thread; the first thread's is the result itself.
class ColumnSums {
 public:
  /// Throws std::bad_alloc.
  ColumnSums(int64_t column_count, int thread_count) {
    for (int thread = 1; thread < thread_count; ++thread) {
      own_.emplace_back(static_cast<size_t>(column_count));
    }
  }

  /// The vector that a thread adds to; column_count doubles, as many as the result has.
  [[nodiscard]] std::span<double> of_thread(int thread, std::span<double> result) {
    return thread == 0 ? result : own_[static_cast<size_t>(thread) - 1].span();
  }

  /// Adds the other threads' sums over the columns [begin, end) to the result, in the order of the threads.
  /// All threads must have finished these columns.
  void add_to(std::span<double> result, int64_t begin, int64_t end) const {
    for (const auto& sums : own_) {
      const double* source = sums.data();
      for (int64_t k = begin; k < end; ++k) result[static_cast<size_t>(k)] += source[k];
    }
  }

 private:
  std::vector<PageBuffer<double>> own_;
};

}  // namespace cg2d::kernels
