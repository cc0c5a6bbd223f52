#pragma once

// How fast this machine can read: the roof over every kernel that streams its matrix.

#include <cstdint>
#include <map>

namespace cg2d::kernels {

/// Sums up doubles on a number of threads, and keeps what it has measured.
class ReadBandwidth {
 public:
  /// thread_count: OpenMP threads, >= 1; each reads the part that it wrote first.
  explicit ReadBandwidth(int thread_count) : thread_count_(thread_count) {}

  /// GB/s (10^9 bytes) over and over `byte_count` bytes in huge pages, which stay in whatever cache they fit;
  /// the best of several batches of passes. byte_count is rounded to a power of 2^(1/4), and each such
  /// size is measured once. Cost: some 0.5 to 4 GB of reading. Throws std::runtime_error if a sum is wrong,
  /// std::bad_alloc.
  double at(std::int64_t byte_count);

 private:
  [[nodiscard]] double measure(std::int64_t byte_count) const;

  int thread_count_;
  std::map<long, double> measured_;  // GB/s by the size's exponent, in quarters
};

}  // namespace cg2d::kernels
