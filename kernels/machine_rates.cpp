#include "kernels/machine_rates.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/page_buffer.hpp"

namespace cg2d::kernels {
namespace {

// ---------------------------------------------------------------- read bandwidth

constexpr std::size_t accumulators = 8;       // keeps two additions per clock under way, four clocks each
constexpr std::size_t doubles_per_step = 64;  // as many as the accumulators of the widest loop hold
using SumLoop = double (*)(const double* numbers, std::size_t count);

// count: a multiple of doubles_per_step; numbers: aligned to 64 bytes. A macro, because an attribute cannot
// be a template argument. NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_SUM_LOOP(function, attribute, vector_byte_count)                      \
  attribute double function(const double* numbers, std::size_t count) {            \
    using Vector [[gnu::vector_size(vector_byte_count), gnu::may_alias]] = double; \
    constexpr std::size_t lanes = sizeof(Vector) / sizeof(double);                 \
    const auto* vectors = reinterpret_cast<const Vector*>(numbers);                \
    const auto* end = vectors + count / lanes;                                     \
    Vector sums[accumulators] = {};                                                \
    for (; vectors != end; vectors += accumulators)                                \
      for (std::size_t k = 0; k < accumulators; ++k) sums[k] += vectors[k];        \
    double total = 0.0;                                                            \
    for (const auto& sum : sums)                                                   \
      for (std::size_t lane = 0; lane < lanes; ++lane) total += sum[lane];         \
    return total;                                                                  \
  }

CG2D_SUM_LOOP(sum_portable, , 16)
#if defined(__x86_64__)
CG2D_SUM_LOOP(sum_avx2, __attribute__((target("avx2"))), 32)
CG2D_SUM_LOOP(sum_avx512, __attribute__((target("avx512f"))), 64)
#endif

SumLoop widest_loop() {
#if defined(__x86_64__)
  const auto set = widest_instruction_set();
  if (set >= InstructionSet::avx512) return &sum_avx512;
  if (set >= InstructionSet::avx2) return &sum_avx2;
#endif
  return &sum_portable;
}

// ---------------------------------------------------------------- arithmetic rate

// Enough for two units with a latency of four or five clocks; they and two constants fit into 16 registers.
constexpr std::size_t chains = 12;
constexpr std::int64_t steps_per_pass = 200'000;
constexpr std::int64_t flops_per_element = 2;

/// The result of one thread.
struct ChainResult {
  double sum = 0.0;  // 2 for every element of every chain
  std::int64_t element_count = 0;
};
using ChainLoop = ChainResult (*)(double factor, double addend, std::int64_t step_count);

// Computes x := factor x + addend again and again. The chains begin with different numbers: otherwise a
// compiler could make one chain do for all. A macro, because an attribute cannot be a template argument.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_CHAIN_LOOP(function, attribute, vector_byte_count)                                 \
  attribute ChainResult function(double factor, double addend, std::int64_t step_count) {       \
    using Vector [[gnu::vector_size(vector_byte_count)]] = double;                              \
    constexpr std::size_t lanes = sizeof(Vector) / sizeof(double);                              \
    const Vector factors = Vector{} + factor;                                                   \
    const Vector addends = Vector{} + addend;                                                   \
    Vector values[chains];                                                                      \
    for (std::size_t k = 0; k < chains; ++k) values[k] = Vector{} + static_cast<double>(k);     \
    for (std::int64_t step = 0; step < step_count; ++step)                                      \
      for (std::size_t k = 0; k < chains; ++k) values[k] = values[k] * factors + addends;       \
    ChainResult result{.sum = 0.0, .element_count = static_cast<std::int64_t>(chains * lanes)}; \
    for (const auto& value : values)                                                            \
      for (std::size_t lane = 0; lane < lanes; ++lane) result.sum += value[lane];               \
    return result;                                                                              \
  }

CG2D_CHAIN_LOOP(chain_portable, , 16)
#if defined(__x86_64__)
CG2D_CHAIN_LOOP(chain_avx2, __attribute__((target("avx2,fma"))), 32)
CG2D_CHAIN_LOOP(chain_avx512, __attribute__((target("avx512f,fma"))), 64)
#endif

ChainLoop widest_chain() {
#if defined(__x86_64__)
  const auto set = widest_instruction_set();
  if (set >= InstructionSet::avx512) return &chain_avx512;
  if (set >= InstructionSet::avx2) return &chain_avx2;
#endif
  return &chain_portable;
}

}  // namespace

double ReadBandwidth::at(std::int64_t byte_count) {
  constexpr double steps_per_power = 4.0;
  const long exponent = std::lround(steps_per_power * std::log2(static_cast<double>(byte_count)));
  const auto known = measured_.find(exponent);
  if (known != measured_.end()) return known->second;
  const auto rounded = std::llround(std::exp2(static_cast<double>(exponent) / steps_per_power));
  return measured_[exponent] = measure(rounded);
}

double ReadBandwidth::measure(std::int64_t byte_count) const {
  constexpr int batch_count = 16;
  constexpr std::int64_t batch_byte_count = std::int64_t{1}
                                            << 25;  // far longer than a barrier of the threads
  ReadWork work(thread_count_, byte_count);
  const auto pass_count = std::max<std::int64_t>(batch_byte_count / work.byte_count(), 1);
  double shortest_s = std::numeric_limits<double>::infinity();
  bool is_right = true;
  for (int batch = 0; batch < batch_count; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    is_right = work.read(pass_count) && is_right;
    shortest_s =
        std::min(shortest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (!is_right) throw std::runtime_error("the loop that measures the read bandwidth has a wrong sum");
  constexpr double bytes_per_gigabyte = 1e9;
  return static_cast<double>(work.byte_count() * pass_count) / shortest_s / bytes_per_gigabyte;
}

ReadWork::ReadWork(int thread_count, std::int64_t byte_count) {
  const auto threads = static_cast<std::size_t>(thread_count);
  const std::size_t steps =
      static_cast<std::size_t>(byte_count) / (sizeof(double) * doubles_per_step * threads);
  const std::size_t count = std::max<std::size_t>(steps, 1) * doubles_per_step;  // numbers of each thread
  numbers_ = PageBuffer<double>(count * threads);
  for (std::size_t part = 0; part < threads; ++part)
    parts_.push_back({.numbers = numbers_.data() + part * count, .count = count});
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int index = 0; index < thread_count; ++index) {
    auto& part = parts_[static_cast<std::size_t>(index)];
    constexpr std::size_t period = 7;
    for (std::size_t k = 0; k < part.count; ++k) {
      part.numbers[k] = static_cast<double>(k % period);
      part.expected_sum += part.numbers[k];
    }
  }
}

bool ReadWork::read(std::int64_t pass_count) {
  const SumLoop loop = widest_loop();
  const int thread_count = static_cast<int>(parts_.size());
  // The schedule is that of writing: each thread reads its own part.
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
  for (int index = 0; index < thread_count; ++index) {
    auto& part = parts_[static_cast<std::size_t>(index)];
    double sum = 0.0;
    for (std::int64_t pass = 0; pass < pass_count; ++pass) sum += loop(part.numbers, part.count);
    part.sum = sum;
  }
  return std::ranges::all_of(parts_, [&](const auto& part) {
    return part.sum == part.expected_sum * static_cast<double>(pass_count);
  });
}

std::int64_t ArithmeticWork::flop_count() const {
  return widest_chain()(0.0, 0.0, 1).element_count * steps_per_pass * flops_per_element * thread_count_;
}

bool ArithmeticWork::compute(std::int64_t pass_count) const {
  constexpr double factor = 0.5;
  constexpr double addend = 1.0;
  constexpr double fixed_point = addend / (1.0 - factor);
  const ChainLoop loop = widest_chain();
  std::vector<ChainResult> results(static_cast<std::size_t>(thread_count_));
#pragma omp parallel for num_threads(thread_count_) schedule(static, 1) if (thread_count_ > 1)
  for (int thread = 0; thread < thread_count_; ++thread)
    results[static_cast<std::size_t>(thread)] = loop(factor, addend, pass_count * steps_per_pass);
  return std::ranges::all_of(results, [](const auto& result) {
    return result.sum == fixed_point * static_cast<double>(result.element_count);
  });
}

}  // namespace cg2d::kernels
