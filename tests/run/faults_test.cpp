// The draw of faults, their text, and the checks that need no solver.

#include "cg/run/guard/guard.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "cg/base/errors.hpp"

namespace cg2d::faults_test {
namespace {

TEST(InjectOptionsTest, SeedAndCount) {
  EXPECT_EQ(inject_options_from("7").seed, 7U);
  EXPECT_EQ(inject_options_from("7").count, 1);
  EXPECT_EQ(inject_options_from("0:300").seed, 0U);
  EXPECT_EQ(inject_options_from("0:300").count, 300);
  EXPECT_EQ(inject_options_from("18446744073709551615").seed, ~uint64_t{0});
  for (const auto* text : {"", ":", "7:", ":7", "-1", "7:0", "7:-1", "7:1000001", "x", "7:x", "7:1:1", " 7",
                           "18446744073709551616"})
    EXPECT_THROW(static_cast<void>(inject_options_from(text)), InputError) << text;
}

TEST(FaultTest, ASeedDrawsTheSameFaultsInEveryArrayWithinARunOrASolve) {
  const InjectOptions options{.seed = 5, .count = 2000};
  struct Work {
    int outer_steps;
    int products;
  };
  for (const auto& [outer_steps, products] : {Work{15, 26}, Work{of_a_solve, 100}}) {
    const auto faults = draw_faults(options, 4, outer_steps, products);
    const auto again = draw_faults(options, 4, outer_steps, products);
    const auto others = draw_faults({.seed = 6, .count = 2000}, 4, outer_steps, products);
    ASSERT_EQ(faults.size(), 2000U);
    std::set<FaultTarget> targets;
    size_t different = 0;
    int early_count = 0;
    for (size_t k = 0; k < faults.size(); ++k) {
      const auto& place = faults[k].place;
      EXPECT_EQ(faults[k].draw, again[k].draw);
      EXPECT_EQ(faults[k].target, again[k].target);
      EXPECT_EQ(place.rank, again[k].place.rank);
      different += faults[k].draw != others[k].draw ? 1 : 0;
      EXPECT_TRUE(place.rank >= 0 && place.rank < 4);
      EXPECT_TRUE(place.outer_step >= std::min(outer_steps, 1) && place.outer_step <= outer_steps);
      EXPECT_TRUE(place.product >= 1 && place.product <= products);
      targets.insert(faults[k].target);
      early_count += place.product <= 10 ? 1 : 0;
      if (k > 0) {
        EXPECT_LE(faults[k - 1].place.outer_step, place.outer_step);
      }
    }
    EXPECT_GT(different, 1900U);
    EXPECT_EQ(targets.size(), fault_targets.size() - 1) << "z, or x of a solve";
    if (outer_steps == of_a_solve) {
      EXPECT_NEAR(early_count, 1040, 150);  // ln 11 / ln 101 of them, six standard deviations
    }
  }
  for (const auto& fault : draw_faults(options, 1, of_a_solve, 1)) EXPECT_EQ(fault.place.product, 1);
  EXPECT_EQ(describe(Fault{.place = {.rank = 1, .outer_step = of_a_solve, .product = 7},
                           .target = FaultTarget::x,
                           .is_made = true,
                           .element = 3,
                           .bit = 62}),
            "rank 1, iteration 7: x[3], bit 62");
}

TEST(FaultTest, AFlipChangesOneBitOnceOnItsRankOnly) {
  std::vector<Fault> faults{{.place = {.rank = 1, .outer_step = 2, .product = 3},
                             .target = FaultTarget::r,
                             .draw = (5U << 8U) | 62U}};
  std::vector<double> vector(8, 1.0);
  const std::vector arrays{kernels::stored_array(kernels::ArrayKind::values, std::span(vector))};
  make_faults(faults, FaultTarget::r, {.rank = 0, .outer_step = 2, .product = 3}, arrays);
  EXPECT_EQ(describe(faults[0]), "rank 1, outer iteration 2, product 3: r, not made");
  make_faults(faults, FaultTarget::p, {.rank = 1, .outer_step = 2, .product = 3}, arrays);
  make_faults(faults, FaultTarget::r, {.rank = 1, .outer_step = 2, .product = 2}, arrays);
  EXPECT_EQ(vector, std::vector<double>(8, 1.0));
  make_faults(faults, FaultTarget::r, {.rank = 1, .outer_step = 2, .product = 3}, arrays);
  make_faults(faults, FaultTarget::r, {.rank = 1, .outer_step = 2, .product = 3}, arrays);
  std::vector<double> expected(8, 1.0);
  expected[5] = std::numeric_limits<double>::infinity();  // the highest bit of the exponent
  EXPECT_EQ(vector, expected);
  EXPECT_TRUE(faults[0].is_made);
  EXPECT_EQ(describe(faults[0]), "rank 1, outer iteration 2, product 3: r[5], bit 62");
  faults[0].is_made = false;
  make_faults(faults, FaultTarget::r, faults[0].place,
              {kernels::stored_array(kernels::ArrayKind::values, std::span<double>())});
  EXPECT_FALSE(faults[0].is_made) << "a vector without elements has no fault";
}

TEST(CheckedErrorTest, NotANumberFails) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE((CheckedError{.error = 0.0, .tolerance = 0.0}.holds()));
  EXPECT_TRUE((CheckedError{.error = 1.0, .tolerance = 2.0}.holds()));
  EXPECT_FALSE((CheckedError{.error = 2.0, .tolerance = 1.0}.holds()));
  EXPECT_FALSE((CheckedError{.error = nan, .tolerance = 1.0}.holds()));
  EXPECT_FALSE((CheckedError{.error = 1.0, .tolerance = nan}.holds()));
  EXPECT_FALSE((CheckedError{.error = 1.0, .tolerance = infinity}.holds()));
}

TEST(BlockedSumsTest, AnyNumberOfElements) {
  for (const size_t size : {0U, 1U, 7U, 8U, 511U, 512U, 513U, 5000U}) {
    const auto sums = blocked_sums(size, [](size_t k, double& first, double& second) {
      first += static_cast<double>(k);
      second += 1.0;
    });
    const auto count = static_cast<double>(size);
    EXPECT_EQ(sums.first, size == 0 ? 0.0 : count * (count - 1.0) / 2.0);
    EXPECT_EQ(sums.second, count);
  }
}

TEST(MatrixChecksumTest, EachBitOfEachPieceCounts) {
  std::vector<double> values(20'000, 1.5);
  std::array<int32_t, 3> columns{1, 2, 3};
  for (const int thread_count : {1, 2}) {
    const MatrixChecksum seal(
        {kernels::stored_array(kernels::ArrayKind::values, std::span<double>(values)),
         kernels::stored_array(kernels::ArrayKind::columns, std::span<int32_t>(columns))},
        thread_count);
    EXPECT_TRUE(seal.holds(0, 1));
    columns[2] ^= 1;
    EXPECT_FALSE(seal.holds(0, 1));
    columns[2] ^= 1;
    constexpr int share_count = 3;
    for (const size_t place : {0U, 9'999U, 19'999U}) {
      const double before = values[place];
      values[place] = std::nextafter(before, 2.0);
      EXPECT_FALSE(seal.holds(0, 1));
      int broken_count = 0;
      for (int share = 0; share < share_count; ++share)
        broken_count += seal.holds(share, share_count) ? 0 : 1;
      EXPECT_EQ(broken_count, 1);
      values[place] = before;
    }
    EXPECT_TRUE(seal.holds(0, 1));
  }
}

}  // namespace
}  // namespace cg2d::faults_test
