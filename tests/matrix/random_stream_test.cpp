// The random numbers of the benchmark, against its definition in double precision.

#include "cg/matrix/random_stream.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cg/matrix/problem.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::random_stream_test {
namespace {

TEST(RandomStreamTest, DrawsWhatTheDefinitionDraws) {
  RandomStream stream;
  double state = test::randlc_seed;
  for (int draw = 0; draw < 100'000; ++draw) {
    const double expected = test::randlc(state, test::randlc_multiplier);
    const auto drawn = stream.next();
    ASSERT_EQ(drawn, static_cast<uint64_t>(state)) << "draw " << draw;
    ASSERT_EQ(RandomStream::number(drawn), expected) << "draw " << draw;  // both exact
  }
  EXPECT_EQ(stream.state(), static_cast<uint64_t>(state));
}

TEST(RandomStreamTest, FirstDrawByHand) {
  // 5^13 * 314159265 mod 2^46 = 383495196533203125 mod 70368744177664
  EXPECT_EQ(RandomStream().next(), 383'495'196'533'203'125ULL % (1ULL << 46));
}

TEST(RandomStreamTest, JumpingEqualsStepping) {
  RandomStream stepped;
  uint64_t steps = 0;
  for (const uint64_t target :
       {0U, 1U, 2U, 3U, 4U, 7U, 8U, 63U, 64U, 65U, 1000U, 4096U, 99'991U, 1U << 20U}) {
    for (; steps < target; ++steps) stepped.next();
    RandomStream jumped;
    jumped.jump(target);
    EXPECT_EQ(jumped.state(), stepped.state()) << "jump of " << target;
  }
}

TEST(RandomStreamTest, JumpsAddUp) {
  // Jumps as far as class F reaches, and beyond.
  for (const uint64_t first : {uint64_t{12'345}, uint64_t{5'000'000'000}, uint64_t{1} << 43}) {
    for (const uint64_t second : {uint64_t{0}, uint64_t{1}, uint64_t{7'777'777'777}}) {
      RandomStream twice;
      twice.jump(first);
      twice.jump(second);
      RandomStream once;
      once.jump(first + second);
      EXPECT_EQ(twice.state(), once.state());
    }
  }
}

TEST(RandomStreamTest, ReturnsToItsSeedAfterItsPeriod) {
  RandomStream stream;  // an odd seed, and a multiplier that is 5 modulo 8: period 2^44
  stream.jump(uint64_t{1} << 44);
  EXPECT_EQ(stream.state(), RandomStream::first_seed);
  stream.jump(uint64_t{1} << 43);
  EXPECT_NE(stream.state(), RandomStream::first_seed);
}

TEST(RandomStreamTest, LeadingBitsAreThePosition) {
  RandomStream stream(1);
  for (int draw = 0; draw < 1000; ++draw) {
    const auto state = stream.next();
    for (const int bits : {0, 1, 11, 17, 26, 31}) {
      const double expected = std::floor(std::ldexp(RandomStream::number(state), bits));
      EXPECT_EQ(RandomStream::leading_bits(state, bits), static_cast<uint64_t>(expected));
    }
  }
}

TEST(RandomStreamTest, FinalSeedsOfTheClassesAreAsManyPairsAway) {
  // One draw is discarded, and each pair takes two, whether it is kept or dropped.
  for (const auto& facts : test::npb_facts) {
    if (facts.duplicate_pairs < 0) continue;
    const auto& problem = *find_class(facts.class_name);
    const int64_t pairs = problem.n * problem.nonzer + facts.duplicate_pairs + facts.out_of_range_pairs;
    RandomStream stream;
    stream.jump(1 + 2 * static_cast<uint64_t>(pairs));
    EXPECT_EQ(stream.state(), facts.final_seed) << "class " << facts.class_name;
  }
}

}  // namespace
}  // namespace cg2d::random_stream_test
