#pragma once

// Work of several threads: parts of a format, each made by the thread that will read it, since a page of memory lies near the processor whose
// thread writes it first; and sums.

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// Rows [begin, end) of a block.
struct RowRange {
  int64_t begin;
  int64_t end;
};

/// make(thread) on each of so many threads, the others at the same time. Throws what `make` throws.
template <typename Make>
void make_on_threads(int thread_count, const Make& make) {
  std::exception_ptr failure;  // no exception may leave a parallel region
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int thread = 0; thread < thread_count; ++thread) {
    try {
      make(static_cast<size_t>(thread));
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Makes a format in parts, one per thread, each by the thread that will use it: calls make(RowRange) for
/// every thread's rows, split by nonzeros. Throws what `make` throws.
template <typename Part, typename Make>
std::vector<Part> make_parts(const CsrBlock& block, int thread_count, const Make& make) {
  const auto borders = split_rows_by_nonzeros(block.row_starts.span(), thread_count);
  std::vector<Part> parts(static_cast<size_t>(thread_count));
  make_on_threads(thread_count, [&](size_t thread) {
    parts[thread] = make(RowRange{.begin = borders[thread], .end = borders[thread + 1]});
  });
  return parts;
}

/// The arrays of all parts of a format.
template <typename Part>
std::vector<StoredArray> arrays_of_parts(std::vector<Part>& parts) {
  std::vector<StoredArray> all;
  for (auto& part : parts) {
    for (const auto& array : part.stored_arrays()) all.push_back(array);
  }
  return all;
}

/// Whether holds(part) is true of every part, 0 ... part_count-1, each asked by its thread.
template <typename Holds>
bool all_parts_hold(int part_count, const Holds& holds) {
  int failure_count = 0;
#pragma omp parallel for num_threads(part_count) schedule(static, 1) reduction(+ : failure_count) if (part_count > 1)
  for (int part = 0; part < part_count; ++part) failure_count += holds(static_cast<size_t>(part)) ? 0 : 1;
  return failure_count == 0;
}

/// make(thread) on each thread; then, when all are done, add_up(RowRange) on each, for its share of the rows. Neither may throw.
template <typename Make, typename AddUp>
void make_sums(int thread_count, int64_t row_count, const Make& make, const AddUp& add_up) {
#pragma omp parallel num_threads(thread_count) if (thread_count > 1)
  {
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count; ++thread) make(thread);
#pragma omp for schedule(static, 1)
    for (int thread = 0; thread < thread_count; ++thread)
      add_up(RowRange{.begin = row_count * thread / thread_count,
                      .end = row_count * (thread + 1) / thread_count});
  }
}

/// The sums over a block's columns that the threads of a kernel with half storage make: one vector per thread, since any row may meet any column; the
/// first thread's is the result itself.
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
