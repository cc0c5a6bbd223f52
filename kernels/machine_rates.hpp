#pragma once

// The two rates of this machine that bound every kernel: how fast it reads, and how fast it computes.

#include <cstdint>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {

/// Doubles in huge pages that several threads sum up again and again; they stay in the smallest cache that
/// holds them.
class ReadWork {
 public:
  /// thread_count: OpenMP threads, >= 1; each reads the part that it wrote first. byte_count is rounded down
  /// to a few hundred bytes of each thread, at least one such step. Throws std::bad_alloc.
  ReadWork(int thread_count, int64_t byte_count);

  /// Bytes of one pass.
  int64_t byte_count() const { return static_cast<int64_t>(numbers_.size() * sizeof(double)); }
  /// Reads all of them `pass_count` times. False if a sum is wrong.
  [[nodiscard]] bool read(int64_t pass_count);

 private:
  /// The numbers that one thread reads: integers, so that every sum is exact.
  struct Part {
    double* numbers = nullptr;
    size_t count = 0;
    double expected_sum = 0.0;  // sum of one pass
    double sum = 0.0;           // sum of one batch
  };
  PageBuffer<double> numbers_;
  std::vector<Part> parts_;
};

/// Computes `pass_count` passes, a fraction of a millisecond each, of multiplications and additions in double precision on each OpenMP thread, by the
/// widest fused multiply-adds that the processor has, all in registers. False if a result is wrong.
bool compute_passes(int thread_count, int64_t pass_count);
/// Multiplications and additions of one pass of all threads.
int64_t flops_of_pass(int thread_count);

}  // namespace cg2d::kernels
