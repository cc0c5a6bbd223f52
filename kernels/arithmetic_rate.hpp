#pragma once

// How fast this machine can compute: the other roof over every loop.

namespace cg2d::kernels {

/// Gflop/s (10^9 multiplications and additions per second) in double precision of `thread_count` OpenMP
/// threads together, by the widest fused multiply-adds that the processor has, all in registers; the best of
/// several batches. Cost: some milliseconds. Throws std::runtime_error if a result is wrong.
double arithmetic_rate(int thread_count);

}  // namespace cg2d::kernels
