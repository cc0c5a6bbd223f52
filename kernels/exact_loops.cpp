// Sums whose bits do not depend on order (exact_sums.hpp): vector operations, and the loops of the reproducible kernels: seven operations for
// an entry instead of two, on the same bytes.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/exact_sums.hpp"
#include "kernels/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/exact_loops.cpp"
#include <hwy/foreach_target.h>

#include "kernels/csr_rows_kernel.hpp"
#include "kernels/row_sell_loops-inl.hpp"
#include "kernels/sell_loops-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace cg2d::kernels::HWY_NAMESPACE {
namespace {

/// add_term() for each lane. high and low: RunningSums.
template <typename Vector>
HWY_INLINE void add_terms(Vector low_constants, Vector terms, Vector& high, Vector& low) {
  const auto next = hn::Add(high, terms);
  const auto rest = hn::Sub(terms, hn::Sub(next, high));
  high = next;
  low = hn::Add(low, hn::Sub(hn::Add(low_constants, rest), low_constants));
}

namespace exact_vectors {

// The loops are the same for all instruction sets, but for the register that Register fits; so are their results, whatever that is.

constexpr size_t lane_count = sizeof(Register) / sizeof(double);

void load_products(Register& target, const double* x, const double* y) {
  Register factors{};
  load_register(factors, x);
  load_register(target, y);
  target *= factors;
}

/// Numbers that are not greater than any other, such as NaN, are passed over.
void keep_largest(const Register& numbers, Register& largest) {
  const Register magnitudes = numbers < 0.0 ? -numbers : numbers;
  largest = magnitudes > largest ? magnitudes : largest;
}

/// load(register, k) loads the numbers from k on; number(k) is one of them.
template <typename Load, typename Number>
HWY_INLINE double largest_of(size_t size, const Load& load, const Number& number) {
  constexpr auto count = lane_count;
  Register first{};
  Register second{};
  size_t k = 0;
  for (; k + 2 * count <= size; k += 2 * count) {
    Register numbers{};
    load(numbers, k);
    keep_largest(numbers, first);
    load(numbers, k + count);
    keep_largest(numbers, second);
  }
  double largest = 0.0;
  for (size_t lane = 0; lane < count; ++lane) largest = std::max({largest, first[lane], second[lane]});
  for (; k < size; ++k) largest = std::max(largest, std::abs(number(k)));
  return largest;
}

double largest_magnitude(InstructionSet /*set*/, std::span<const double> x) {
  return largest_of(
      x.size(), [&](Register& numbers, size_t k) HWY_ATTR { load_register(numbers, x.data() + k); },
      [&](size_t k) HWY_ATTR { return x.data()[k]; });
}

double largest_product(InstructionSet /*set*/, std::span<const double> x, std::span<const double> y) {
  return largest_of(
      x.size(),
      [&](Register& products, size_t k) HWY_ATTR { load_products(products, x.data() + k, y.data() + k); },
      [&](size_t k) HWY_ATTR { return x.data()[k] * y.data()[k]; });
}

ExactSum dot(InstructionSet /*set*/, std::span<const double> x, std::span<const double> y,
             const SplitConstants& constants) {
  constexpr auto count = lane_count;
  const Register high = Register{} + constants.high;
  const Register low = Register{} + constants.low;
  RunningSums<Register> first{.high = high, .low = Register{}};
  RunningSums<Register> second{.high = high, .low = Register{}};
  size_t k = 0;
  for (; k + 2 * count <= x.size(); k += 2 * count) {
    Register terms{};
    load_products(terms, x.data() + k, y.data() + k);
    add_term(low, terms, first);
    load_products(terms, x.data() + k + count, y.data() + k + count);
    add_term(low, terms, second);
  }
  const Register highs = (first.high - high) + (second.high - high);
  const Register lows = first.low + second.low;
  RunningSums<double> rest{.high = constants.high, .low = 0.0};
  for (; k < x.size(); ++k) add_term(constants.low, x.data()[k] * y.data()[k], rest);
  ExactSum total{.high = rest.high - constants.high, .low = rest.low};
  for (size_t lane = 0; lane < count; ++lane) {
    total.high += highs[lane];
    total.low += lows[lane];
  }
  return total;
}

void add_scaled(InstructionSet /*set*/, double a, std::span<const double> x, std::span<double> y) {
  constexpr auto count = lane_count;
  size_t k = 0;
  for (; k + count <= y.size(); k += count) {
    Register products{};
    Register sums{};
    load_register(products, x.data() + k);
    load_register(sums, y.data() + k);
    products *= a;
    sums += products;
    std::memcpy(y.data() + k, &sums, sizeof(sums));
  }
  for (; k < y.size(); ++k) {
    const double product = a * x.data()[k];
    y.data()[k] += product;
  }
}

}  // namespace exact_vectors

namespace exact_csr {

constexpr int64_t prefetch_distance = 256;  // in entries

template <typename Elements>
HWY_INLINE ExactSum sum_of_row(const double* values, const int32_t* columns, int64_t length,
                               const SplitConstants& constants, const double* p) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto begin = hn::Set(d, constants.high);
  const auto low_constants = hn::Set(d, constants.low);
  auto high0 = begin;
  auto high1 = begin;
  auto low0 = hn::Zero(d);
  auto low1 = hn::Zero(d);
  const auto terms = [&](int64_t k) HWY_ATTR {
    return hn::Mul(hn::LoadU(d, values + k), Elements::load(d, p, columns + k));
  };
  int64_t k = 0;
  for (; k + 2 * lanes <= length; k += 2 * lanes) {
    prefetch_entries(values + k, columns + k, prefetch_distance);
    add_terms(low_constants, terms(k), high0, low0);
    add_terms(low_constants, terms(k + lanes), high1, low1);
  }
  RunningSums<double> rest{.high = constants.high, .low = 0.0};
  for (; k < length; ++k) add_term(constants.low, values[k] * p[columns[k]], rest);
  return {.high = sum_of_lanes(d, hn::Add(hn::Sub(high0, begin), hn::Sub(high1, begin))) +
                  (rest.high - constants.high),
          .low = sum_of_lanes(d, hn::Add(low0, low1)) + rest.low};
}

template <typename Elements>
void multiply_rows(double most_terms, const CsrBlock& block, const CsrRowOperands& operands) {
  const int64_t* starts = block.row_starts.data();
  for (auto row = operands.first_row; row < operands.last_row; ++row) {
    const SplitConstants constants(operands.row_bounds[row] * operands.p_bound, most_terms);
    const auto sum =
        sum_of_row<Elements>(block.values.data() + starts[row], block.columns.data() + starts[row],
                             starts[row + 1] - starts[row], constants, operands.p);
    operands.q[row] = operands.are_added ? operands.q[row] + sum.high : sum.high;
    operands.q_low[row] = operands.are_added ? operands.q_low[row] + sum.low : sum.low;
  }
}

using Loop = void (*)(double most_terms, const CsrBlock& block, const CsrRowOperands& operands);

Loop loop_for(InstructionSet set) {
  return with_elements_of(set, []<typename Elements>(Elements) -> Loop { return &multiply_rows<Elements>; });
}

}  // namespace exact_csr

/// The format of kernel "sell-rows".
namespace exact_row_sell {

using Lanes = VectorOf<RowSellLanes>;

struct Form {
  template <int Registers>
  static HWY_INLINE void multiply(const RowChunk& chunk, const RowSellCursor& at, const ChunkRows& rows,
                                  int64_t first_lane, const RowSellOperands& operands, ChunkSums& sums) {
    const RowSellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    double bounds_of_listed[row_sell_lanes];
    const double* bounds = operands.row_bounds + rows.first;
    if (rows.listed_count != 0) {
      for (int lane = 0; lane < row_sell_lanes; ++lane)  // lanes without a row: their terms are zeros
        bounds_of_listed[lane] = lane < rows.listed_count ? bounds[rows.listed[lane]] : 0.0;
      bounds = bounds_of_listed;
    }
    const auto p_bound = hn::Set(d, operands.p_bound);
    const auto high_factor = hn::Set(d, SplitConstants::high_factor);
    const auto low_factor = hn::Set(d, operands.low_factor);
    const auto bounds_from = [&](int64_t lane)
                                 HWY_ATTR { return hn::Mul(hn::LoadU(d, bounds + lane), p_bound); };
    const auto begin = [&](int64_t lane, Lanes& high, Lanes& constants) HWY_ATTR {
      const auto lane_bounds = bounds_from(lane);
      high = hn::Mul(lane_bounds, high_factor);
      constants = hn::Mul(lane_bounds, low_factor);
    };
    auto high0 = hn::Zero(d), low0 = high0, constants0 = high0;
    [[maybe_unused]] auto high1 = high0, low1 = high0, constants1 = high0;
    [[maybe_unused]] auto high2 = high0, low2 = high0, constants2 = high0;
    [[maybe_unused]] auto high3 = high0, low3 = high0, constants3 = high0;
    begin(first_lane, high0, constants0);
    if constexpr (Registers > 1) begin(first_lane + n, high1, constants1);
    if constexpr (Registers > 2) {
      begin(first_lane + 2 * n, high2, constants2);
      begin(first_lane + 3 * n, high3, constants3);
    }
    for_each_step(chunk, at, operands.p, [&](const double* values, auto elements) HWY_ATTR {
      const auto add = [&](int64_t lane, Lanes constants, Lanes& high, Lanes& low) HWY_ATTR {
        add_terms(constants, hn::Mul(hn::LoadU(d, values + lane), elements(lane)), high, low);
      };
      add(first_lane, constants0, high0, low0);
      if constexpr (Registers > 1) add(first_lane + n, constants1, high1, low1);
      if constexpr (Registers > 2) {
        add(first_lane + 2 * n, constants2, high2, low2);
        add(first_lane + 3 * n, constants3, high3, low3);
      }
    });
    const auto end = [&](int64_t lane, Lanes high, Lanes low) HWY_ATTR {
      hn::StoreU(hn::Sub(high, hn::Mul(bounds_from(lane), high_factor)), d, sums.high + lane);
      hn::StoreU(low, d, sums.low + lane);
    };
    end(first_lane, high0, low0);
    if constexpr (Registers > 1) end(first_lane + n, high1, low1);
    if constexpr (Registers > 2) {
      end(first_lane + 2 * n, high2, low2);
      end(first_lane + 3 * n, high3, low3);
    }
  }

  static HWY_INLINE void store(const ChunkRows& rows, const ChunkSums& sums,
                               const RowSellOperands& operands) {
    store_rows(rows, sums.high, operands.q);
    store_rows(rows, sums.low, operands.q_low);
  }
};

RowSellLoop loop_for(InstructionSet set) { return row_sell_loop_of<Form>(set); }

}  // namespace exact_row_sell

/// The format of kernel "sell". A row's sum is under way from column block to column block: q holds it with the constant with which it began,
/// so a chunk takes both from one load.
namespace exact_sell {

using Lanes = VectorOf<SellLanes>;

/// The constants of all lanes for the low parts. SplitConstants::low belongs to the binade in which a sum stays. In the format of doubles
/// that is what is left without the fraction.
HWY_INLINE Lanes low_constants(Lanes high, double low_share) {
  const SellLanes d;
  const hn::Rebind<int64_t, SellLanes> of_bits;
  constexpr int64_t binade_bits = ~((int64_t{1} << 52) - 1);
  const auto binade = hn::BitCast(d, hn::And(hn::BitCast(of_bits, high), hn::Set(of_bits, binade_bits)));
  return hn::Mul(binade, hn::Set(d, low_share));
}

struct Form {
  static constexpr int most_registers = 2;  // each with two sums and a constant

  template <int Registers, typename Elements>
  static HWY_INLINE void multiply(const SellChunk& chunk, int64_t first_lane, const SellOperands& operands) {
    const SellLanes d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    const auto other = Registers > 1 ? n : 0;
    const double* values = chunk.values + first_lane;
    const uint16_t* columns = chunk.columns + first_lane;
    const uint16_t* rows = chunk.rows + first_lane;
    double* const q = operands.q_rows + chunk.window_row;
    double* const q_low = operands.q_rows_low + chunk.window_row;
    auto high0 = FewElements::load(d, q, rows);
    auto high1 = FewElements::load(d, q, rows + other);
    auto low0 = FewElements::load(d, q_low, rows);
    auto low1 = FewElements::load(d, q_low, rows + other);
    const auto constants0 = low_constants(high0, operands.low_share);
    const auto constants1 = low_constants(high1, operands.low_share);
    for (uint32_t step = 0; step < chunk.steps; ++step, values += sell_lanes, columns += sell_lanes) {
      prefetch_entries(values, columns, chunk.prefetch_distance);
      add_terms(constants0, hn::Mul(hn::LoadU(d, values), Elements::load(d, chunk.p, columns)), high0, low0);
      if constexpr (Registers > 1)
        add_terms(constants1, hn::Mul(hn::LoadU(d, values + n), Elements::load(d, chunk.p, columns + n)),
                  high1, low1);
    }
    double highs[sell_lanes];
    double lows[sell_lanes];
    hn::StoreU(high0, d, highs);
    hn::StoreU(low0, d, lows);
    if constexpr (Registers > 1) {
      hn::StoreU(high1, d, highs + n);
      hn::StoreU(low1, d, lows + n);
    }
    // The first lane last: lanes without a row repeat its row, and have sums to which nothing was added.
    for (auto lane = Registers * n - 1; lane >= 0; --lane) {
      q[rows[lane]] = highs[lane];
      q_low[rows[lane]] = lows[lane];
    }
  }
};

SellLoop loop_for(InstructionSet set) { return sell_loop_of<Form>(set); }

}  // namespace exact_sell

}  // namespace
}  // namespace cg2d::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <string_view>
#include <utility>

namespace cg2d::kernels {

namespace {
namespace exact_vectors {

/// 256 bits: longer registers gain nothing here.
InstructionSet chosen_set() {
  static const auto set =
      choose_instruction_set({}, std::array{InstructionSet::portable, InstructionSet::fma});
  return set;
}

}  // namespace exact_vectors
}  // namespace

double largest_magnitude(std::span<const double> x) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::largest_magnitude, x);
}

double largest_product(std::span<const double> x, std::span<const double> y) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::largest_product, x, y);
}

ExactSum exact_dot(std::span<const double> x, std::span<const double> y, double bound, double most_terms) {
  return CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::dot, x, y,
                     SplitConstants(bound, most_terms));
}

void add_scaled_rounded(double a, std::span<const double> x, std::span<double> y) {
  CG2D_OF_SET(exact_vectors::chosen_set(), exact_vectors::add_scaled, a, x, y);
}

std::unique_ptr<SpmvKernel> make_exact_csr(std::string_view name, CsrBlock block,
                                           const KernelOptions& options) {
  const auto loop = [multiply = CG2D_OF_SET(*options.instruction_set, exact_csr::loop_for),
                     most_terms = options.most_terms](const CsrBlock& rows_block,
                                                      const CsrRowOperands& operands) {
    multiply(most_terms, rows_block, operands);
  };
  return std::make_unique<CsrRowsKernel>(name, loop, std::move(block), options);
}

RowSellLoop exact_row_sell_loop(InstructionSet set) { return CG2D_OF_SET(set, exact_row_sell::loop_for); }
SellLoop exact_sell_loop(InstructionSet set) { return CG2D_OF_SET(set, exact_sell::loop_for); }

}  // namespace cg2d::kernels
#endif
