#pragma once

// Formats in parts: one per thread, made by the thread that will use it, so that its pages are near.

#include <exception>
#include <vector>

#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// Rows [begin, end) of a block.
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

/// make(RowRange) for every thread's rows, split by nonzeros. Throws what `make` throws.
template <typename Part, typename Make>
std::vector<Part> make_parts(const CsrBlock& block, int thread_count, const Make& make) {
  const auto borders = split_rows_by_nonzeros(block.row_starts.span(), thread_count);
  std::vector<Part> parts(static_cast<std::size_t>(thread_count));
  std::exception_ptr failure;  // no exception may leave a parallel region
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int part = 0; part < thread_count; ++part) {
    const auto index = static_cast<std::size_t>(part);
    try {
      parts[index] = make(RowRange{.begin = borders[index], .end = borders[index + 1]});
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return parts;
}

}  // namespace cg2d::kernels
