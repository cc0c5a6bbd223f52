#include "kernels/arithmetic_rate.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/cpu_features.hpp"

namespace cg2d::kernels {
namespace {

// Enough for two units of four or five clocks; they and two constants fit into 16 registers.
constexpr std::size_t chains = 12;
constexpr std::int64_t steps_per_batch = 200'000;
constexpr std::int64_t flops_per_element = 2;

/// What one thread computed in one batch.
struct ChainResult {
  double sum = 0.0;  // 2 for every element of every chain
  std::int64_t element_count = 0;
};
using ChainLoop = ChainResult (*)(double factor, double addend);

// x := factor x + addend, over and over. The chains begin with different numbers, else one would do for all.
// A macro, because an attribute cannot be a template argument. NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CG2D_CHAIN_LOOP(function, attribute, vector_byte_count)                                 \
  attribute ChainResult function(double factor, double addend) {                                \
    using Vector [[gnu::vector_size(vector_byte_count)]] = double;                              \
    constexpr std::size_t lanes = sizeof(Vector) / sizeof(double);                              \
    const Vector factors = Vector{} + factor;                                                   \
    const Vector addends = Vector{} + addend;                                                   \
    Vector values[chains];                                                                      \
    for (std::size_t k = 0; k < chains; ++k) values[k] = Vector{} + static_cast<double>(k);     \
    for (std::int64_t step = 0; step < steps_per_batch; ++step)                                 \
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

double arithmetic_rate(int thread_count) {
  constexpr int batch_count = 8;
  constexpr double factor = 0.5;
  constexpr double addend = 1.0;
  constexpr double fixed_point = addend / (1.0 - factor);
  const ChainLoop loop = widest_chain();
  std::vector<ChainResult> results(static_cast<std::size_t>(thread_count));
  double shortest_s = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batch_count; ++batch) {
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel for num_threads(thread_count) schedule(static, 1) if (thread_count > 1)
    for (int thread = 0; thread < thread_count; ++thread)
      results[static_cast<std::size_t>(thread)] = loop(factor, addend);
    shortest_s =
        std::min(shortest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::int64_t element_count = 0;
  for (const auto& result : results) {
    if (result.sum != fixed_point * static_cast<double>(result.element_count))
      throw std::runtime_error("the loop that measures the arithmetic rate has a wrong result");
    element_count += result.element_count;
  }
  constexpr double flops_per_gigaflop = 1e9;
  return static_cast<double>(element_count * steps_per_batch * flops_per_element) / shortest_s /
         flops_per_gigaflop;
}

}  // namespace cg2d::kernels
