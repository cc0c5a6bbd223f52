#pragma once

// Matrix data near the threads that read it: a page of memory lies near the processor whose thread writes it
// first.

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

/// Moves the arrays of a block to fresh pages, each first written by the thread whose rows lie there: thread
/// k reads the rows borders[k] ... borders[k+1]-1. The block may have been made by another thread. Old pages
/// are given back as new ones are taken, so that the peak of memory hardly grows. With one thread nothing is
/// moved. Throws std::bad_alloc. Cost: one copy of the block.
void place_near_threads(CsrBlock& block, std::span<const int64_t> borders);

}  // namespace cg2d::kernels
