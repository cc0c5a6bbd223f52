#include "cg/timing/cycle_counter.hpp"

#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cg2d {
namespace {

/// One moment on both clocks.
struct ClockSample {
  uint64_t ticks = 0;
  std::chrono::steady_clock::time_point time{};
};

/// The closest of a few pairs: an interrupt between the two readings would spoil a single one.
ClockSample sample_now() noexcept {
  ClockSample best;
  auto best_width = std::numeric_limits<uint64_t>::max();
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t before = read_cycle_counter();
    const auto time = std::chrono::steady_clock::now();
    const uint64_t width = read_cycle_counter() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {.ticks = before + width / 2, .time = time};
  }
  return best;
}

const ClockSample start_of_program = sample_now();

}  // namespace

std::string_view cycle_counter_name() {
#if defined(__x86_64__)
  return "rdtsc";
#elif defined(__aarch64__)
  return "cntvct_el0";
#else
  return "steady_clock";
#endif
}

bool cycle_counter_is_invariant() {
#if defined(__x86_64__)
  // Leaf 0x80000007, EDX bit 8: invariant TSC (Intel SDM vol. 2A, CPUID; AMD APM vol. 3).
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && ((d >> 8) & 1U) != 0;
#else
  return true;
#endif
}

double clocks_per_second() {
  constexpr auto shortest = std::chrono::milliseconds(10);
  const auto until_now = std::chrono::steady_clock::now() - start_of_program.time;
  if (until_now < shortest) std::this_thread::sleep_for(shortest - until_now);
  const auto end = sample_now();
  return static_cast<double>(end.ticks - start_of_program.ticks) /
         std::chrono::duration<double>(end.time - start_of_program.time).count();
}

}  // namespace cg2d
