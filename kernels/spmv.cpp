#include "kernels/spmv.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cg2d::kernels {

// Each is defined in its kernel's own file; a new kernel is one more declaration and one more entry below.
KernelRow scalar_kernel();
KernelRow csr_simd_kernel();
KernelRow csr_short_kernel();
KernelRow sell_kernel();
KernelRow sell_rows_kernel();
KernelRow symmetric_scalar_kernel();
KernelRow symmetric_kernel();
KernelRow symmetric_distinct_kernel();
KernelRow blocks_kernel();

namespace {

/// The first row of the table for which is_wanted(row) holds, or nullptr.
template <typename Predicate>
const KernelRow* first_row(const Predicate& is_wanted) {
  const auto table = kernel_table();
  const auto found = std::ranges::find_if(table, is_wanted);
  return found == table.end() ? nullptr : &*found;
}

/// The options, with the instruction set of the loop. Those for several vectors gather nothing: wider is never slower.
KernelOptions checked(const KernelRow& row, KernelOptions options) {
  auto& set = options.instruction_set;
  if (options.vector_count == 1) {
    set = choose_instruction_set(set ? *set : row.preferred_instruction_set(), row.instruction_sets);
  } else if (std::ranges::count(vector_counts, options.vector_count) == 0) {
    throw std::invalid_argument("a kernel takes 1, 2, 4, 8 or 16 vectors");
  } else {
    set = choose_instruction_set(set, sets_without_gathers);
  }
  return options;
}

// The sizes of the small block of fastest_loop().
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

std::unique_ptr<SpmvKernel> KernelRow::make(CsrBlock block, const KernelOptions& options) const {
  if (options.most_terms > 0.0 && std::ssize(options.row_bounds) != block.row_count)
    throw std::invalid_argument("as many row bounds as the block has rows");
  return maker(std::move(block), checked(*this, options));
}

std::unique_ptr<SpmvKernel> KernelRow::make_external(const ExternalArrays& block,
                                                     const KernelOptions& options) const {
  return external_maker(block, checked(*this, options));
}

int64_t KernelRow::window_bytes(int64_t row_count, int64_t column_count, int making_threads) const {
  const auto bytes_of = [&](int64_t rows, int64_t bytes) {
    const int64_t width = defaults.block_width.value_or(max_block_width);
    return (rows + windows.rows - 1) / windows.rows * ((column_count + width - 1) / width) * bytes;
  };
  const auto rows_at_once = std::min(row_count, making_threads * std::min(row_count, most_panel_rows));
  return bytes_of(row_count, windows.bytes) + bytes_of(rows_at_once, windows.making_bytes);
}

std::span<const KernelRow> kernel_table() {
  static const std::array table{
      scalar_kernel(),    csr_simd_kernel(),         csr_short_kernel(),          sell_kernel(),
      sell_rows_kernel(), symmetric_scalar_kernel(), symmetric_distinct_kernel(), symmetric_kernel(),
      blocks_kernel(),
  };
  return table;
}

const KernelRow* find_kernel(std::string_view name) {
  return first_row([&](const auto& row) { return row.name == name; });
}

const KernelRow& kernel_named(std::string_view name) {
  const auto* const row = find_kernel(name);
  if (row == nullptr) throw std::invalid_argument("no kernel is named " + std::string(name));
  return *row;
}

const KernelRow& reference_kernel(Storage storage) {
  return *first_row([&](const auto& row) { return row.storage == storage; });
}

const KernelRow& default_kernel(Storage storage) {
  return *first_row([&](const auto& row) { return row.is_default && row.storage == storage; });
}

const KernelRow& default_kernel_for_several() {
  return *first_row([](const auto& row) { return row.is_default_for_several; });
}

const KernelRow& default_reproducible_kernel() {
  return *first_row([](const auto& row) { return row.is_default_for_reproducible; });
}

const KernelRow& kernel_for_any_pattern() {
  return *first_row([](const auto& row) { return row.suits_any_pattern; });
}

const KernelRow& critical_length_kernel() {
  return *first_row([](const auto& row) { return row.defaults.critical_vector_length.has_value(); });
}

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
