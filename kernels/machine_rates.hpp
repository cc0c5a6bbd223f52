#pragma once

// The two rates of this machine that bound every kernel: how fast it reads, and how fast it computes.

#include <cstdint>
#include <map>

namespace cg2d::kernels {

/// Measures the read bandwidth by summing up doubles, and keeps the rates that it has measured.
class ReadBandwidth {
 public:
  /// thread_count: OpenMP threads, >= 1; each reads the part that it wrote first.
  explicit ReadBandwidth(int thread_count) : thread_count_(thread_count) {}

  /// GB/s (10^9 bytes) of reading `byte_count` bytes in huge pages again and again; they stay in the smallest
  /// cache that holds them. Returns the best of several batches of passes. byte_count is rounded to a power
  /// of 2^(1/4), and each such size is measured once. Cost: 0.5 to 4 GB of reading. Throws
  /// std::runtime_error if a sum is wrong, std::bad_alloc.
  double at(std::int64_t byte_count);

 private:
  [[nodiscard]] double measure(std::int64_t byte_count) const;

  int thread_count_;
  std::map<long, double> measured_;  // GB/s by the size's exponent, in quarters
};

/// Gflop/s (10^9 multiplications and additions per second) in double precision of `thread_count` OpenMP
/// threads together, by the widest fused multiply-adds that the processor has, all in registers; the best of
/// several batches. Cost: some milliseconds. Throws std::runtime_error if a result is wrong.
double arithmetic_rate(int thread_count);

}  // namespace cg2d::kernels
