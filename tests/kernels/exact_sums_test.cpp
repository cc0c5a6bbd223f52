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

#include "kernels/spmv.hpp"
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

TEST(ExactSumsTest, NeitherOrderNorCutsChangeABit) {
  std::mt19937_64 engine(7);
  for (const size_t count : {1U, 2U, 3U, 17U, 1000U, 4097U}) {
    auto terms = hard_terms(count, static_cast<unsigned>(count));
    const auto totals = totals_of(terms);
    const double expected = sum_in_parts(terms, totals, engine);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::ranges::shuffle(terms, engine);
      EXPECT_TRUE(test::same_bits(sum_in_parts(terms, totals, engine), expected)) << count << " terms";
    }
  }
}

TEST(ExactSumsTest, AreMoreAccurateThanTheirTermsNeed) {
  std::mt19937_64 engine(11);
  for (const size_t count : {10U, 1000U, 4096U}) {
    const auto terms = hard_terms(count, static_cast<unsigned>(count));
    const auto totals = totals_of(terms);
    // 64 bits of a sorted sum by falling magnitudes with its own corrections: exact enough to compare with.
    long double sum = 0.0L;
    long double correction = 0.0L;
    for (const double term : terms) {
      const long double next = sum + term;
      correction += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
      sum = next;
    }
    const auto expected = static_cast<double>(sum + correction);
    const double n = totals.most_terms;
    const double allowed = n * n * totals.bound * 0x1p-103 + std::abs(expected) * 0x1p-52;
    EXPECT_NEAR(sum_in_parts(terms, totals, engine), expected, allowed) << count << " terms";
  }
}

/// A bound that is larger than it need be costs accuracy only.
TEST(ExactSumsTest, ALooseBoundIsStillReproducible) {
  std::mt19937_64 engine(13);
  auto terms = hard_terms(999, 5);
  auto totals = totals_of(terms);
  const double tight = sum_in_parts(terms, totals, engine);
  totals.bound *= 0x1p20;
  const double loose = sum_in_parts(terms, totals, engine);
  EXPECT_NEAR(loose, tight,
              totals.bound * totals.most_terms * totals.most_terms * 0x1p-103 + std::abs(tight) * 0x1p-52);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::ranges::shuffle(terms, engine);
    EXPECT_TRUE(test::same_bits(sum_in_parts(terms, totals, engine), loose));
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

TEST(ExactSumsTest, SmallestNumbersAndNone) {
  EXPECT_EQ(exact_dot({}, {}, 0.0, 1.0).high, 0.0);
  std::mt19937_64 engine(17);
  std::vector<double> terms;
  for (int k = 0; k < 100; ++k)
    terms.push_back(5e-324 * static_cast<double>(engine() % 1000) * (k % 2 == 0 ? 1 : -1));
  const auto totals = totals_of(terms);
  double expected = 0.0;
  for (const double term : terms) expected += term;  // exact: multiples of the smallest number
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::ranges::shuffle(terms, engine);
    EXPECT_EQ(sum_in_parts(terms, totals, engine), expected);
  }
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

struct Matrix {
  int64_t row_count;
  int64_t column_count;
  std::vector<std::vector<CsrBlock::Entry>> rows;
};

Matrix random_matrix(unsigned seed) {
  std::mt19937_64 engine(seed);
  Matrix matrix{.row_count = 83, .column_count = 131, .rows = {}};
  for (int64_t row = 0; row < matrix.row_count; ++row) {
    auto& entries = matrix.rows.emplace_back();
    const auto keep =
        engine() % 4;  // a quarter of the rows has one entry in four, and so on; some rows have none
    const auto values = hard_terms(static_cast<size_t>(matrix.column_count), static_cast<unsigned>(engine()));
    for (int64_t column = 0; column < matrix.column_count; ++column) {
      if (row % 11 != 5 && engine() % 4 <= keep)
        entries.push_back(
            {.column = static_cast<int32_t>(column), .value = values[static_cast<size_t>(column)]});
    }
  }
  return matrix;
}

/// The columns [begin, end) as a block of their own.
CsrBlock columns_of(const Matrix& matrix, int64_t begin, int64_t end) {
  auto rows = matrix.rows;
  for (auto& entries : rows) {
    std::erase_if(entries, [&](const auto& entry) { return entry.column < begin || entry.column >= end; });
    for (auto& entry : entries) entry.column -= static_cast<int32_t>(begin);
  }
  return CsrBlock::from_rows(end - begin, rows);
}

std::vector<double> bounds_of(const Matrix& matrix) {
  std::vector<double> bounds;
  for (const auto& entries : matrix.rows) {
    double largest = 0.0;
    for (const auto& entry : entries) largest = std::max(largest, std::abs(entry.value));
    bounds.push_back(power_of_two_for(largest) * power_of_two_for(static_cast<double>(entries.size())));
  }
  return bounds;
}

/// The product as the sum of those with blocks of columns, cut at random.
std::vector<double> product_in_blocks(const KernelRow& kernel, const Matrix& matrix,
                                      const std::vector<double>& p, int thread_count,
                                      std::optional<InstructionSet> set, std::mt19937_64& engine) {
  const auto bounds = bounds_of(matrix);
  const auto rows = static_cast<size_t>(matrix.row_count);
  std::vector<double> high(rows);
  std::vector<double> low(rows);
  bool is_first = true;
  for (int64_t begin = 0; begin < matrix.column_count;) {
    const auto end = std::min(matrix.column_count, begin + 1 + static_cast<int64_t>(engine() % 90));
    const auto spmv = kernel.make(
        columns_of(matrix, begin, end),
        {.thread_count = thread_count, .instruction_set = set, .row_bounds = bounds, .most_terms = 0x1p8});
    ProductMode mode{.is_added = !is_first, .share_count = 1 + static_cast<int>(engine() % 3)};
    for (mode.share = 0; mode.share < mode.share_count; ++mode.share) {
      spmv->multiply(
          {.p_columns = std::span(p).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
           .q_rows = high,
           .q_rows_low = low,
           .p_bound = power_of_two_for(largest_magnitude(p))},
          mode);
    }
    is_first = false;
    begin = end;
  }
  for (size_t row = 0; row < rows; ++row) high[row] += low[row];
  return high;
}

TEST(ReproducibleKernelsTest, CutsThreadsKernelsAndInstructionSetsChangeNoBit) {
  std::mt19937_64 engine(23);
  size_t kernel_count = 0;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const auto matrix = random_matrix(seed);
    const auto p = hard_terms(static_cast<size_t>(matrix.column_count), seed + 100);
    const auto expected = product_in_blocks(kernel_named("scalar"), matrix, p, 1, {}, engine);
    EXPECT_TRUE(std::ranges::any_of(expected, [](double element) { return element != 0.0; }));
    for (const auto& kernel : kernel_table()) {
      if (!kernel.makes_reproducible) continue;
      ++kernel_count;
      for (const int thread_count : {1, 3}) {
        std::vector<std::optional<InstructionSet>> sets(kernel.instruction_sets.begin(),
                                                        kernel.instruction_sets.end());
        sets.emplace_back();
        for (const auto& set : sets) {
          for (int repeat = 0; repeat < 2; ++repeat) {
            EXPECT_TRUE(
                test::same_bits(product_in_blocks(kernel, matrix, p, thread_count, set, engine), expected))
                << kernel.name << ", " << thread_count << " threads, seed " << seed;
          }
        }
      }
    }
  }
  EXPECT_GT(kernel_count, 0U);
}

TEST(ReproducibleKernelsTest, AreAsRightAsUsualOnes) {
  std::mt19937_64 engine(29);
  const auto matrix = random_matrix(3);
  const auto p = hard_terms(static_cast<size_t>(matrix.column_count), 9);
  const auto exact = product_in_blocks(default_reproducible_kernel(), matrix, p, 1, {}, engine);
  const auto bounds = bounds_of(matrix);
  std::vector<double> usual(exact.size());
  reference_kernel(Storage::whole)
      .make(columns_of(matrix, 0, matrix.column_count), {})
      ->multiply({.p_columns = p, .q_rows = usual});
  for (size_t row = 0; row < exact.size(); ++row) {
    double magnitude = 0.0;
    for (const auto& entry : matrix.rows[row])
      magnitude += std::abs(entry.value * p[static_cast<size_t>(entry.column)]);
    // exact_sums.hpp: N^2 B / 2^103 for N = 2^8.
    const double bound = bounds[row] * power_of_two_for(largest_magnitude(p));
    EXPECT_NEAR(exact[row], usual[row],
                0x1p-52 * static_cast<double>(matrix.column_count) * magnitude + 0x1p-87 * bound);
  }
}

TEST(ReproducibleKernelsTest, AsksForABoundOfEachRow) {
  const auto matrix = random_matrix(1);
  const std::vector<double> too_few(3, 1.0);
  EXPECT_THROW(static_cast<void>(default_reproducible_kernel().make(
                   columns_of(matrix, 0, 10), {.row_bounds = too_few, .most_terms = 8.0})),
               std::invalid_argument);
}

}  // namespace
}  // namespace cg2d::kernels::exact_sums_test
