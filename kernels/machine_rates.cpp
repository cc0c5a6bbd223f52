#include "kernels/machine_rates.hpp"

#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/machine_rates.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {
namespace machine_rates {

constexpr size_t lanes = register_bytes / sizeof(double);

constexpr size_t accumulators = 8;  // keeps two additions per clock under way, four clocks each

/// The sum of numbers that are aligned to 64 bytes, as many as a multiple of doubles_per_step.
double sum(InstructionSet /*set*/, const double* numbers, size_t count) {
  Register sums[accumulators] = {};
  for (size_t first = 0; first < count; first += accumulators * lanes) {
#pragma GCC unroll 8
    for (size_t k = 0; k < accumulators; ++k) {
      Register vector{};
      load_register(vector, numbers + first + k * lanes);
      sums[k] += vector;
    }
  }
  double total = 0.0;
  for (const auto& sum : sums)
    for (size_t lane = 0; lane < lanes; ++lane) total += sum[lane];
  return total;
}

constexpr size_t chains =
    12;  // enough for two units with a latency of five clocks; they and two constants fit into 16 registers

/// Computes x := factor x + addend again and again. The chains begin with different numbers: otherwise a compiler could make one chain
/// do for all. The sum of all chains, of which each element tends to addend / (1 - factor).
double chain(InstructionSet /*set*/, double factor, double addend, int64_t step_count) {
  const Register factors = Register{} + factor;
  const Register addends = Register{} + addend;
  Register values[chains];
  for (size_t k = 0; k < chains; ++k) values[k] = Register{} + static_cast<double>(k);
  for (int64_t step = 0; step < step_count; ++step)
    for (auto& value : values) value = value * factors + addends;
  double total = 0.0;
  for (const auto& value : values)
    for (size_t lane = 0; lane < lanes; ++lane) total += value[lane];
  return total;
}

int64_t chain_elements(InstructionSet /*set*/) { return chains * lanes; }

}  // namespace machine_rates
}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {
namespace {

constexpr size_t doubles_per_step = 64;  // as many as the accumulators of the widest loop hold
constexpr int64_t steps_per_pass = 200'000;
constexpr int64_t flops_per_element = 2;

int64_t chain_elements() { return CG2D_OF_SET(widest_instruction_set(), machine_rates::chain_elements); }

}  // namespace

ReadWork::ReadWork(int thread_count, int64_t byte_count) {
  const auto threads = static_cast<size_t>(thread_count);
  const size_t steps = static_cast<size_t>(byte_count) / (sizeof(double) * doubles_per_step * threads);
  const size_t count = std::max<size_t>(steps, 1) * doubles_per_step;  // numbers of each thread
  numbers_ = PageBuffer<double>(count * threads);
  for (size_t part = 0; part < threads; ++part)
    parts_.push_back({.numbers = numbers_.data() + part * count, .count = count});
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int index = 0; index < thread_count; ++index) {
    auto& part = parts_[static_cast<size_t>(index)];
    constexpr size_t period = 7;
    for (size_t k = 0; k < part.count; ++k) {
      part.numbers[k] = static_cast<double>(k % period);
      part.expected_sum += part.numbers[k];
    }
  }
}

bool ReadWork::read(int64_t pass_count) {
  const auto set = widest_instruction_set();
  const int thread_count = static_cast<int>(parts_.size());
  // The schedule is that of writing: each thread reads its own part.
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int index = 0; index < thread_count; ++index) {
    auto& part = parts_[static_cast<size_t>(index)];
    double sum = 0.0;
    for (int64_t pass = 0; pass < pass_count; ++pass) {
      asm volatile("" ::: "memory");  // no compiler may read once for all passes
      sum += CG2D_OF_SET(set, machine_rates::sum, part.numbers, part.count);
    }
    part.sum = sum;
  }
  return std::ranges::all_of(parts_, [&](const auto& part) {
    return part.sum == part.expected_sum * static_cast<double>(pass_count);
  });
}

int64_t flops_of_pass(int thread_count) {
  return chain_elements() * steps_per_pass * flops_per_element * thread_count;
}

bool compute_passes(int thread_count, int64_t pass_count) {
  constexpr double factor = 0.5;
  constexpr double addend = 1.0;
  constexpr double fixed_point = addend / (1.0 - factor);
  const auto set = widest_instruction_set();
  std::vector<double> sums(static_cast<size_t>(thread_count));
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int thread = 0; thread < thread_count; ++thread)
    sums[static_cast<size_t>(thread)] =
        CG2D_OF_SET(set, machine_rates::chain, factor, addend, pass_count * steps_per_pass);
  return std::ranges::all_of(
      sums, [](double sum) { return sum == fixed_point * static_cast<double>(chain_elements()); });
}

}  // namespace cg2d::kernels
#endif
