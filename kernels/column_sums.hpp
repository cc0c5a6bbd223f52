#pragma once

// The sums over a block's columns that the threads of a kernel with half storage make: each thread adds to a
// vector of its own, since any row may meet any column.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/page_buffer.hpp"
#include "kernels/parallel_parts.hpp"

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

  /// multiply(thread, sums) on each thread: `sums` is the vector that it adds to, as long as the result. Then adds the other threads' sums over
  /// some columns to the result, in the order of the threads.
  template <typename Multiply>
  void make(std::span<double> result, const RowRange& columns, const Multiply& multiply) {
    make_sums(
        static_cast<int>(own_.size()) + 1, columns.end - columns.begin,
        [&](int thread) {
          multiply(thread, thread == 0 ? result : own_[static_cast<size_t>(thread) - 1].span());
        },
        [&](const RowRange& share) {
          add(result, {.begin = columns.begin + share.begin, .end = columns.begin + share.end});
        });
  }

 private:
  void add(std::span<double> result, const RowRange& columns) const {
    for (const auto& sums : own_) {
      const double* source = sums.data();
      for (auto k = columns.begin; k < columns.end; ++k) result[static_cast<size_t>(k)] += source[k];
    }
  }

  std::vector<PageBuffer<double>> own_;
};

}  // namespace cg2d::kernels
