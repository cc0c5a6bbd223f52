// Sums that do not depend on the order of their terms, and the kernels that make them.

#include "kernels/exact_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/product_check.hpp"
#include "support/bits.hpp"

namespace cg2d::kernels::exact_sums_test {
namespace {

TEST(ExactSumsTest, PowersOfTwo) {
  EXPECT_EQ(power_of_two_for(0.0), 0.0);
  EXPECT_EQ(power_of_two_for(1.0), 1.0);
  EXPECT_EQ(power_of_two_for(-4.0), 4.0);
  EXPECT_EQ(power_of_two_for(std::nextafter(4.0, 5.0)), 8.0);
  EXPECT_EQ(power_of_two_for(0.3), 0.5);
  EXPECT_EQ(power_of_two_for(1e-310), 0x1p-1029);
  EXPECT_TRUE(std::isinf(power_of_two_for(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(power_of_two_for(std::numeric_limits<double>::quiet_NaN())));
}

/// Numbers of many magnitudes whose sum is far smaller than they are.
std::vector<double> hard_terms(size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> digits(-1.0, 1.0);
  std::uniform_int_distribution<int> exponents(-40, 10);
  std::vector<double> terms;
  while (terms.size() + 2 <= count) {
    const double term = std::ldexp(digits(engine), exponents(engine));
    terms.push_back(term);
    terms.push_back(-term * (1.0 + std::ldexp(digits(engine), -30)));
  }
  while (terms.size() < count) terms.push_back(digits(engine));
  std::ranges::shuffle(terms, engine);
  return terms;
}

struct Totals {
  double bound;
  double most_terms;
};

Totals totals_of(const std::vector<double>& terms) {
  const double count = power_of_two_for(static_cast<double>(terms.size()));
  return {.bound = power_of_two_for(largest_magnitude(terms)) * count, .most_terms = count};
}

/// The dot product with ones, in parts of random lengths that are added in random order.
double sum_in_parts(const std::vector<double>& terms, const Totals& totals, std::mt19937_64& engine) {
  const std::vector<double> ones(terms.size(), 1.0);
  std::vector<ExactSum> parts;
  for (size_t begin = 0; begin < terms.size();) {
    const auto length = std::min(terms.size() - begin, size_t{1} + engine() % 37);
    parts.push_back(exact_dot(std::span(terms).subspan(begin, length), std::span(ones).subspan(begin, length),
                              totals.bound, totals.most_terms));
    begin += length;
  }
  std::ranges::shuffle(parts, engine);
  ExactSum sum;
  for (const auto& part : parts) {
    sum.high += part.high;
    sum.low += part.low;
  }
  return sum.high + sum.low;
}

/// 64 bits of a sum with its own corrections: exact enough to compare with.
double known_sum(const std::vector<double>& terms) {
  long double sum = 0.0L;
  long double correction = 0.0L;
  for (const double term : terms) {
    const long double next = sum + term;
    correction += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  return static_cast<double>(sum + correction);
}

/// A bound that is larger than it need be costs accuracy only.
TEST(ExactSumsTest, NeitherOrderNorCutsChangeABitAndTheSumIsAccurate) {
  EXPECT_EQ(exact_dot({}, {}, 0.0, 1.0).high, 0.0);
  std::mt19937_64 engine(7);
  std::vector<std::vector<double>> cases;
  for (const size_t count : {1U, 2U, 3U, 17U, 1000U, 4097U})
    cases.push_back(hard_terms(count, static_cast<unsigned>(count)));
  auto& smallest = cases.emplace_back();  // sums of these are exact
  for (int k = 0; k < 100; ++k)
    smallest.push_back(5e-324 * static_cast<double>(engine() % 1000) * (k % 2 == 0 ? 1 : -1));
  for (auto& terms : cases) {
    for (const double looseness : {1.0, 0x1p20}) {
      auto totals = totals_of(terms);
      totals.bound *= looseness;
      const double first = sum_in_parts(terms, totals, engine);
      const double known = known_sum(terms);
      const double n = totals.most_terms;
      EXPECT_NEAR(first, known, n * n * totals.bound * 0x1p-103 + std::abs(known) * 0x1p-52)
          << terms.size() << " terms";
      for (int repeat = 0; repeat < 30; ++repeat) {
        std::ranges::shuffle(terms, engine);
        EXPECT_TRUE(test::same_bits(sum_in_parts(terms, totals, engine), first)) << terms.size() << " terms";
      }
    }
  }
}

/// The terms where running sums cut in another way than constants do: in the middle between two multiples of a unit.
TEST(ExactSumsTest, RunningSumsGiveTheSameBitsAlsoAtTies) {
  constexpr double most_terms = 64.0;
  constexpr double bound = 1.0;
  constexpr double first_unit = bound * 0x1p-50;
  constexpr double second_unit = most_terms * first_unit / 2.0 * 0x1p-51;
  std::mt19937_64 engine(19);
  std::vector<double> terms;
  for (int k = 0; k < 20; ++k) {
    const double sign = engine() % 2 == 0 ? 1.0 : -1.0;
    const auto few = [&] { return static_cast<double>(engine() % 8); };
    terms.push_back(sign * (few() + 0.5) * first_unit);
    terms.push_back(sign * (few() * first_unit + (few() + 0.5) * second_unit));
    terms.push_back(sign * ((few() + 0.5) * first_unit + (few() + 0.5) * second_unit));
  }
  const SplitConstants constants(bound, most_terms);
  const double expected = sum_in_parts(terms, {.bound = bound, .most_terms = most_terms}, engine);
  bool cut_in_two_ways = false;
  std::optional<double> first_high;
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::ranges::shuffle(terms, engine);
    RunningSums<double> sums{.high = constants.high, .low = 0.0};
    for (const double term : terms) add_term(constants.low, term, sums);
    const double high = sums.high - constants.high;
    EXPECT_TRUE(test::same_bits(high + sums.low, expected));
    cut_in_two_ways |= high != first_high.value_or(high);
    first_high = high;
  }
  EXPECT_TRUE(cut_in_two_ways);
}

TEST(ExactVectorsTest, LargestNumbers) {
  EXPECT_EQ(largest_magnitude({}), 0.0);
  EXPECT_EQ(largest_magnitude(std::vector{1.0, -7.0, 3.0}), 7.0);
  EXPECT_EQ(largest_product(std::vector{1.0, -7.0, 3.0}, std::vector{2.0, 1.0, -3.0}), 9.0);
}

/// An element's bits do not depend on where it stands: neither in the vector nor in a register.
TEST(ExactVectorsTest, AnElementHasTheSameBitsAnywhere) {
  const auto x = hard_terms(203, 3);
  const auto y = hard_terms(203, 4);
  auto whole = y;
  add_scaled_rounded(0.3, x, whole);
  for (size_t k = 0; k < x.size(); ++k) {
    std::vector<double> one{y[k]};
    add_scaled_rounded(0.3, std::span(x).subspan(k, 1), one);
    EXPECT_TRUE(test::same_bits(one[0], whole[k])) << k;
  }
}

constexpr int64_t row_count = 83;
constexpr int64_t column_count = 131;

CsrBlock::Rows random_matrix(unsigned seed) {
  std::mt19937_64 engine(seed);
  CsrBlock::Rows rows(row_count);
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto keep =
        engine() % 4;  // a quarter of the rows has one entry in four, and so on; some rows have none
    const auto values = hard_terms(column_count, static_cast<unsigned>(engine()));
    for (int32_t column = 0; column < column_count; ++column) {
      if (row % 11 != 5 && engine() % 4 <= keep)
        rows[row].push_back({.column = column, .value = values[static_cast<size_t>(column)]});
    }
  }
  return rows;
}

/// The columns [begin, end) as a block of their own.
CsrBlock columns_of(CsrBlock::Rows rows, int64_t begin, int64_t end) {
  for (auto& entries : rows) {
    std::erase_if(entries, [&](const auto& entry) { return entry.column < begin || entry.column >= end; });
    for (auto& entry : entries) entry.column -= static_cast<int32_t>(begin);
  }
  return CsrBlock::from_rows(end - begin, rows);
}

std::vector<double> bounds_of(const CsrBlock::Rows& matrix) {
  std::vector<double> bounds;
  for (const auto& entries : matrix) {
    double largest = 0.0;
    for (const auto& entry : entries) largest = std::max(largest, std::abs(entry.value));
    bounds.push_back(power_of_two_for(largest) * power_of_two_for(static_cast<double>(entries.size())));
  }
  return bounds;
}

/// The product as the sum of those with blocks of columns, cut at random.
std::vector<double> product_in_blocks(const KernelRow& kernel, const CsrBlock::Rows& matrix,
                                      const std::vector<double>& p, KernelOptions options,
                                      std::mt19937_64& engine) {
  const auto bounds = bounds_of(matrix);
  options.row_bounds = bounds;
  options.most_terms = 0x1p8;
  std::vector<double> high(matrix.size());
  std::vector<double> low(matrix.size());
  for (int64_t begin = 0; begin < column_count;) {
    const auto end = std::min(column_count, begin + 1 + static_cast<int64_t>(engine() % 90));
    const auto spmv = kernel.make(columns_of(matrix, begin, end), options);
    multiply_shares(
        *spmv,
        {.p_columns = std::span(p).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
         .q_rows = high,
         .q_rows_low = low,
         .p_bound = power_of_two_for(largest_magnitude(p))},
        {.is_added = begin > 0, .share_count = 1 + static_cast<int>(engine() % 3)});
    begin = end;
  }
  for (size_t row = 0; row < high.size(); ++row) high[row] += low[row];
  return high;
}

TEST(ReproducibleKernelsTest, CutsThreadsKernelsAndInstructionSetsChangeNoBitOfTheRightProduct) {
  std::mt19937_64 engine(23);
  size_t kernel_count = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto matrix = random_matrix(seed);
    const auto p = hard_terms(column_count, seed + 100);
    const auto expected = product_in_blocks(kernel_named("scalar"), matrix, p, {}, engine);
    const auto bounds = bounds_of(matrix);
    const auto known = known_sums(matrix, p);
    for (size_t row = 0; row < known.size(); ++row) {
      // exact_sums.hpp: N^2 B / 2^103 for N = 2^8.
      const double bound = bounds[row] * power_of_two_for(largest_magnitude(p));
      EXPECT_NEAR(expected[row], known[row].sum, known[row].rounding + 0x1p-87 * bound) << "row " << row;
    }
    for (const auto& kernel : kernel_table()) {
      if (!kernel.makes_reproducible) continue;
      ++kernel_count;
      for (const auto set : kernel.instruction_sets) {
        for (const int thread_count : {1, 3, 1, 3}) {
          const KernelOptions options{.thread_count = thread_count, .instruction_set = set};
          EXPECT_TRUE(test::same_bits(product_in_blocks(kernel, matrix, p, options, engine), expected))
              << kernel.name << ", " << name_of(set) << ", " << thread_count << " threads, seed " << seed;
        }
      }
    }
  }
  EXPECT_GT(kernel_count, 0U);
}

TEST(ReproducibleKernelsTest, AsksForABoundOfEachRow) {
  const std::vector<double> too_few(3, 1.0);
  EXPECT_THROW(static_cast<void>(default_reproducible_kernel().make(
                   columns_of(random_matrix(1), 0, 10), {.row_bounds = too_few, .most_terms = 8.0})),
               std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::exact_sums_test
