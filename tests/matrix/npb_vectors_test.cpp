// The random numbers of the benchmark, and what is known of its vectors before they are drawn; the vectors themselves are in npb_matrix_test.cpp.

#include "cg/matrix/npb_vectors.hpp"

#include <gtest/gtest.h>

#include "cg/matrix/problem.hpp"
#include "cg/matrix/random_stream.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::npb_vectors_test {
namespace {

TEST(NpbVectorsTest, TheEstimateSufficesForEveryClassAndIsNotMuchMore) {
  for (const auto& facts : test::npb_facts) {
    if (facts.out_of_range_pairs < 0) continue;
    const auto& problem = *find_class(facts.class_name);
    const auto needed =
        static_cast<double>(problem.n * problem.nonzer + facts.duplicate_pairs + facts.out_of_range_pairs);
    const auto estimate = static_cast<double>(estimated_pair_count(problem));
    EXPECT_GE(estimate, needed) << "class " << facts.class_name;
    // Six standard deviations are 4 % of class S, and less of larger ones.
    EXPECT_LE(estimate, 1.06 * needed) << "class " << facts.class_name;
  }
}

TEST(NpbVectorsTest, RepetitionsAreThoseWithinTheWindow) {
  StreamShare share;
  share.positions = {5, 7, 5, 5, 9, 7, 4101, 5};  // 4101 meets 5 in a table of 4096 places
  share.values.assign(share.positions.size(), 0.25);
  share.own_count = 5;  // the last three are the halo
  const auto found = find_repetitions(share, 100, 4);
  ASSERT_EQ(found.size(), 2U);  // the two 7 are 4 apart, the last two 5 as well: too far
  EXPECT_EQ(found[0].earlier, 100);
  EXPECT_EQ(found[0].later, 102);
  EXPECT_EQ(found[1].earlier, 102);
  EXPECT_EQ(found[1].later, 103);
  const auto wider = find_repetitions(share, 100, 5);
  ASSERT_EQ(wider.size(), 4U);
  EXPECT_EQ(wider[2].earlier, 101);
  EXPECT_EQ(wider[2].later, 105);
  EXPECT_EQ(wider[3].earlier, 103);
  EXPECT_EQ(wider[3].later, 107);
}

// ---------------------------------------------------------------- the random numbers of the benchmark, against its definition in double precision

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

TEST(RandomStreamTest, ReturnsToItsSeedAfterItsPeriod) {
  RandomStream stream;  // an odd seed, and a multiplier that is 5 modulo 8: period 2^44
  stream.jump(uint64_t{1} << 44);
  EXPECT_EQ(stream.state(), RandomStream::first_seed);
  stream.jump(uint64_t{1} << 43);
  EXPECT_NE(stream.state(), RandomStream::first_seed);
}

}  // namespace
}  // namespace cg2d::npb_vectors_test
