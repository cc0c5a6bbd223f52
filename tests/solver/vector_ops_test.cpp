// Vector operations against plain loops, on one to three threads, around the length from which threads are
// used.

#include "cg/solver/vector_ops.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cg/machine/blas/blas_library.hpp"
#include "support/bits.hpp"

namespace cg2d::vector_ops_test {
namespace {

class VectorOpsTest : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() { keep_blas_on_one_thread(); }

  VectorOps ops_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Threads, VectorOpsTest, testing::Values(1, 2, 3),
                         [](const auto& threads) { return std::to_string(threads.param); });

/// Empty, one, fewer than threads, prime, and around 8192, where the parallel loops begin. Short ones after long ones, which leave sums of all threads.
const std::vector<size_t> sizes{100'003, 0, 1, 24'577, 2, 3, 7, 1009, 8191, 8192, 8193};

/// Integers of up to 10 bits: products and sums of 100 003 of them are exact.
std::vector<double> integers(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(size);
  for (auto& value : values) value = static_cast<double>(random() % 1024) - 512.0;
  return values;
}

/// Signs and magnitudes mixed.
std::vector<double> awkward(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(size);
  for (auto& value : values) {
    value = std::ldexp(static_cast<double>(random() % 2048) - 1023.5, static_cast<int>(random() % 40) - 20);
  }
  return values;
}

TEST_P(VectorOpsTest, DotIsWithinRoundingExactForIntegersAndRepeatsItsBits) {
  for (const auto size : sizes) {
    for (const bool is_exact : {true, false}) {
      const auto x = is_exact ? integers(size, 1) : awkward(size, 3);
      const auto y = is_exact ? integers(size, 2) : awkward(size, 4);
      long double expected = 0.0L;
      long double magnitude = 0.0L;
      for (size_t k = 0; k < size; ++k) {
        expected += static_cast<long double>(x[k]) * y[k];
        magnitude += std::abs(static_cast<long double>(x[k]) * y[k]);
      }
      const auto before = ops_.dot_work();
      const double dot = ops_.dot(x, y);
      const auto elements = static_cast<int64_t>(size);
      EXPECT_EQ(ops_.dot_work() - before,
                (VectorWork{.call_count = 1, .byte_count = 16 * elements, .flop_count = 2 * elements}));
      static_cast<void>(ops_.dot(x, x));
      EXPECT_EQ(ops_.dot_work() - before,
                (VectorWork{.call_count = 2, .byte_count = 24 * elements, .flop_count = 4 * elements}))
          << "a square reads one vector";
      // The bound of a sum of `size` products in any order (Higham 2002, section 3.1).
      const auto tolerance =
          static_cast<long double>(size) * std::numeric_limits<double>::epsilon() * magnitude;
      EXPECT_LE(std::abs(dot - expected), is_exact ? 0.0L : tolerance) << "size " << size;
      for (int repeat = 0; repeat < 5; ++repeat)
        EXPECT_TRUE(test::same_bits(ops_.dot(x, y), dot)) << "size " << size;
    }
  }
  EXPECT_EQ(ops_.update_work(), VectorWork{});
}

struct Update {
  const char* name;
  int64_t vector_count;  ///< read, and written: one that is both counts twice
  int64_t flop_count;    ///< per element
  void (*run)(VectorOps& ops, ConstPiece x, ConstPiece y, Piece z);
  double (*expected)(double x, double y, double z);
  bool only_writes = false;  ///< what z was is not read
};

const std::vector<Update> updates{
    {"add_scaled", 3, 2, [](VectorOps& ops, ConstPiece x, ConstPiece, Piece z) { ops.add_scaled(3.0, x, z); },
     [](double x, double, double z) { return z + 3.0 * x; }},
    {"scale_and_add", 3, 2,
     [](VectorOps& ops, ConstPiece x, ConstPiece, Piece z) { ops.scale_and_add(x, -5.0, z); },
     [](double x, double, double z) { return x - 5.0 * z; }},
    {"scale_and_add by 0", 3, 2,
     [](VectorOps& ops, ConstPiece x, ConstPiece, Piece z) { ops.scale_and_add(x, 0.0, z); },
     [](double x, double, double) { return x; }},
    {"add", 3, 1, [](VectorOps& ops, ConstPiece x, ConstPiece y, Piece z) { ops.add(x, y, z); },
     [](double x, double y, double) { return x + y; }, true},
    {"multiply", 3, 1, [](VectorOps& ops, ConstPiece x, ConstPiece y, Piece z) { ops.multiply(x, y, z); },
     [](double x, double y, double) { return x * y; }, true},
    {"set_scaled", 2, 1, [](VectorOps& ops, ConstPiece x, ConstPiece, Piece z) { ops.set_scaled(0.5, x, z); },
     [](double x, double, double) { return 0.5 * x; }, true},
    {"combine", 4, 5,
     [](VectorOps& ops, ConstPiece x, ConstPiece y, Piece z) {
       ops.combine({0.5, x}, {-2.0, y}, 4.0, z);
     },
     [](double x, double y, double z) { return 0.5 * x - 2.0 * y + 4.0 * z; }},
    {"copy", 2, 0, [](VectorOps& ops, ConstPiece x, ConstPiece, Piece z) { ops.copy(x, z); },
     [](double x, double, double) { return x; }, true},
    {"fill", 1, 0, [](VectorOps& ops, ConstPiece, ConstPiece, Piece z) { ops.fill(2.5, z); },
     [](double, double, double) { return 2.5; }, true}};

TEST_P(VectorOpsTest, UpdatesOfIntegersAreExactAndCountEachVectorThatTheyReadOrWrite) {
  for (const auto size : sizes) {
    const auto x = integers(size, 6);
    const auto y = integers(size, 7);
    for (const auto& update : updates) {
      auto z = update.only_writes ? std::vector<double>(size, std::numeric_limits<double>::quiet_NaN())
                                  : integers(size, 8);
      auto expected = z;
      for (size_t k = 0; k < size; ++k) expected[k] = update.expected(x[k], y[k], z[k]);
      const auto before = ops_.update_work();
      update.run(ops_, x, y, z);
      EXPECT_EQ(z, expected) << update.name << ", size " << size;
      const auto elements = static_cast<int64_t>(size);
      EXPECT_EQ(ops_.update_work() - before, (VectorWork{.call_count = 1,
                                                         .byte_count = update.vector_count * 8 * elements,
                                                         .flop_count = update.flop_count * elements}))
          << update.name;
    }
  }
}

/// The numbers of a step and of its next direction.
constexpr std::array length{0.3};
constexpr std::array factor{-0.7};

TEST_P(VectorOpsTest, AStepIsTwoUpdates) {
  for (const auto size : sizes) {
    const auto z = awkward(size, 32);
    const auto q = awkward(size, 23);
    auto p = awkward(size, 33);
    auto x = awkward(size, 34);
    auto r = awkward(size, 25);
    auto expected_p = p;
    auto expected_x = x;
    auto expected_r = r;
    const auto before = ops_.update_work();
    ops_.add_scaled(0.3, p, expected_x);
    ops_.add_scaled(-0.3, q, expected_r);
    const auto between = ops_.update_work();
    ops_.step_along(0.3, p, q, x, r);
    EXPECT_EQ(ops_.update_work() - between, between - before) << "size " << size;
    EXPECT_TRUE(test::same_bits(x, expected_x)) << "size " << size;
    EXPECT_TRUE(test::same_bits(r, expected_r)) << "size " << size;

    ops_.add_scaled(0.3, p, expected_x);
    ops_.scale_and_add(z, -0.7, expected_p);
    const auto before_turn = ops_.update_work();
    ops_.step_and_turn(length, factor, z, p, x);
    EXPECT_TRUE(test::same_bits(x, expected_x)) << "size " << size;
    EXPECT_TRUE(test::same_bits(p, expected_p)) << "size " << size;
    const auto elements = static_cast<int64_t>(size);
    EXPECT_EQ(ops_.update_work() - before_turn,
              (VectorWork{.call_count = 2, .byte_count = 5 * 8 * elements, .flop_count = 4 * elements}));
  }
}

TEST_P(VectorOpsTest, OperationsWithADiagonalAreTheSeparateOnes) {
  for (const auto size : sizes) {
    const auto d = integers(size, 35);
    const auto q = integers(size, 36);
    auto r = integers(size, 37);
    auto p = awkward(size, 38);
    auto x = awkward(size, 39);
    auto expected_r = r;
    std::vector<double> z(size);
    ops_.add_scaled(-2.0, q, expected_r);
    ops_.multiply(d, expected_r, z);
    // All of it is exact but x and p, whose bits are those of the same operations.
    const auto sums = ops_.step_residual(2.0, q, d, r);
    EXPECT_EQ(r, expected_r) << "size " << size;
    EXPECT_EQ(sums[0], ops_.dot(expected_r, z)) << "size " << size;
    EXPECT_EQ(sums[1], ops_.dot(expected_r, expected_r)) << "size " << size;
    auto expected_p = p;
    auto expected_x = x;
    ops_.step_and_turn(length, factor, z, expected_p, expected_x);
    ops_.step_and_turn(length, factor, r, p, x, d);
    EXPECT_TRUE(test::same_bits(x, expected_x)) << "size " << size;
    EXPECT_TRUE(test::same_bits(p, expected_p)) << "size " << size;
  }
}

}  // namespace
}  // namespace cg2d::vector_ops_test
