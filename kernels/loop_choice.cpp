#include "kernels/loop_choice.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace cg2d::kernels {
namespace {

// The sizes of the small block.
constexpr int64_t small_rows = 512;
constexpr int64_t small_columns = 2048;
constexpr int64_t small_row_entries = 16;
// Interleaved, of 4 us each: other work on the core meets one loop as often as another, and the shortest counts.
constexpr int round_count = 16;
constexpr int products_per_round = 2;
// On a busy machine one batch may find the expected loop slow by chance: another loop must be worthwhile after each of them.
constexpr int confirmation_count = 3;
constexpr double worthwhile_share = 0.8;

/// Every row has one entry in each of equal ranges of columns, at a place that looks random.
CsrBlock small_block() {
  constexpr int64_t range = small_columns / small_row_entries;
  CsrBlock::Rows rows(small_rows);
  uint32_t random = 1;
  for (auto& row : rows) {
    for (int64_t k = 0; k < small_row_entries; ++k) {
      random = random * 1664525U + 1013904223U;  // Numerical Recipes, 2nd ed., section 7.1
      row.push_back({.column = static_cast<int32_t>(k * range + (random >> 16) % range), .value = 1.0});
    }
  }
  return CsrBlock::from_rows(small_columns, rows);
}

/// A loop, and the shortest time that it has taken.
struct Candidate {
  InstructionSet set;
  std::unique_ptr<SpmvKernel> kernel;
  double seconds = std::numeric_limits<double>::infinity();
};

double seconds_of(SpmvKernel& kernel, const Operands& operands) {
  const auto begin = std::chrono::steady_clock::now();
  for (int product = 0; product < products_per_round; ++product) kernel.multiply(operands);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

InstructionSet fastest_loop(KernelMaker make, const std::vector<InstructionSet>& sets,
                            InstructionSet expected) {
  if (sets.size() == 1) return sets.front();
  if (named_instruction_set()) return sets.back();
  std::vector<Candidate> candidates;
  candidates.reserve(sets.size());
  for (const auto set : sets)
    candidates.push_back({.set = set, .kernel = make(small_block(), {.instruction_set = set})});
  const std::vector<double> p(small_columns, 1.0);
  std::vector<double> q_rows(small_rows);
  std::vector<double> q_columns(small_columns);
  const Operands operands{
      .p_columns = p, .p_rows = std::span(p).first(small_rows), .q_rows = q_rows, .q_columns = q_columns};
  const auto safe = std::ranges::find(candidates, expected, &Candidate::set);
  for (int batch = 0; batch < confirmation_count; ++batch) {
    for (int round = 0; round < round_count; ++round) {
      for (auto& candidate : candidates)
        candidate.seconds = std::min(candidate.seconds, seconds_of(*candidate.kernel, operands));
    }
    const auto fastest = std::ranges::min_element(candidates, {}, &Candidate::seconds);
    if (safe != candidates.end() && fastest->seconds >= worthwhile_share * safe->seconds) return expected;
  }
  return std::ranges::min_element(candidates, {}, &Candidate::seconds)->set;
}

}  // namespace cg2d::kernels
