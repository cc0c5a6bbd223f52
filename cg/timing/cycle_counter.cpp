#include "cg/timing/cycle_counter.hpp"

#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cg2d {

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

CycleCalibration::CycleCalibration() : start_(take_sample()) { first_of_process(); }

CycleCalibration::Sample CycleCalibration::take_sample() {
  // The closest of a few pairs: an interrupt between the two readings would spoil a single one.
  Sample best{};
  auto best_width = std::numeric_limits<uint64_t>::max();
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t before = read_cycle_counter();
    const auto time = std::chrono::steady_clock::now();
    const uint64_t after = read_cycle_counter();
    if (after - before < best_width) {
      best_width = after - before;
      best = {.ticks = before + (after - before) / 2, .time = time};
    }
  }
  return best;
}

const CycleCalibration::Sample& CycleCalibration::first_of_process() {
  static const Sample first = take_sample();
  return first;
}

double CycleCalibration::ticks_per_second() const {
  constexpr auto shortest = std::chrono::milliseconds(10);
  const auto now = std::chrono::steady_clock::now();
  const auto& start = now - start_.time < shortest ? first_of_process() : start_;
  if (const auto elapsed = now - start.time; elapsed < shortest)
    std::this_thread::sleep_for(shortest - elapsed);
  const Sample end = take_sample();
  return static_cast<double>(end.ticks - start.ticks) /
         std::chrono::duration<double>(end.time - start.time).count();
}

}  // namespace cg2d
