#pragma once

// The processor's own counter of reference cycles, and the ticks of it in a second.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace cg2d {

/// Reference cycles now: the TSC (x86-64), the virtual counter (AArch64), nanoseconds elsewhere. Fenced: no
/// instruction before it is still under way, none after it has begun (Intel SDM vol. 2B, RDTSC). Not rdtscp, which a processor may lack.
inline uint64_t read_cycle_counter() noexcept {
#if defined(__x86_64__)
  _mm_lfence();  // waits for all earlier instructions
  const uint64_t ticks = __rdtsc();
  _mm_lfence();  // holds back all later ones
  return ticks;
#elif defined(__aarch64__)
  uint64_t ticks = 0;
  asm volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(ticks)::"memory");
  return ticks;
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Clocks that one call costs: the smallest mean of several batches.
template <typename Call>
double least_clocks_per_call(int calls_per_batch, const Call& call) {
  constexpr int batch_count = 8;
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const uint64_t begin = read_cycle_counter();
    for (int k = 0; k < calls_per_batch; ++k) call();
    best = std::min(best, static_cast<double>(read_cycle_counter() - begin) / calls_per_batch);
  }
  return best;
}

/// A name of the counter that read_cycle_counter() reads, for people.
std::string_view cycle_counter_name();

/// Whether the counter runs at one rate whatever the core's frequency and sleep states do.
bool cycle_counter_is_invariant();

/// Ticks of the counter per second by the monotonic clock, since the start of the program. Waits until that is 10 ms ago, for 1e-5 relative error or
/// better.
double clocks_per_second();

}  // namespace cg2d
