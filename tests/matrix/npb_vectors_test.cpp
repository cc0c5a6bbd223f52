// The random vectors, drawn share by share, against the sequential definition.

#include "cg/matrix/npb_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cg/matrix/problem.hpp"
#include "cg/matrix/random_stream.hpp"
#include "support/bits.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::npb_vectors_test {
namespace {

/// The shares of all ranks, and where each begins.
struct DrawnShares {
  std::vector<StreamShare> shares;
  std::vector<int64_t> first_numbers;
  Rejections rejections;
  int64_t drawn_count = 0;
  int window_growths = 0;
  int pair_growths = 0;
};

/// One attempt, as the ranks make it together.
DrawnShares draw_all(const Problem& problem, int share_count, int64_t pair_count, int64_t window) {
  DrawnShares drawn;
  const auto layout = comm::BlockLayout::even(pair_count, {.columns = 1, .rows = share_count});
  std::vector<Repetition> repetitions;
  for (int k = 0; k < share_count; ++k) {
    drawn.shares.push_back(draw_share(problem, layout.piece(k), window));
    drawn.first_numbers.push_back(drawn.drawn_count);
    const auto found = find_repetitions(drawn.shares.back(), drawn.drawn_count, window);
    repetitions.insert(repetitions.end(), found.begin(), found.end());
    drawn.drawn_count += drawn.shares.back().own_count;
  }
  std::ranges::sort(repetitions, {}, &Repetition::later);
  drawn.rejections = resolve_rejections(problem, repetitions);
  return drawn;
}

/// Attempts until window and pairs suffice, starting from the given ones.
DrawnShares draw_until_enough(const Problem& problem, int share_count, int64_t pair_count, int64_t window) {
  int window_growths = 0;
  int pair_growths = 0;
  for (;;) {
    auto drawn = draw_all(problem, share_count, pair_count, window);
    drawn.window_growths = window_growths;
    drawn.pair_growths = pair_growths;
    if (drawn.rejections.longest_vector > window) {
      window *= 2;
      ++window_growths;
    } else if (drawn.drawn_count < needed_number_count(problem, drawn.rejections)) {
      pair_count += pair_count / 4 + 1;
      ++pair_growths;
    } else {
      return drawn;
    }
  }
}

DrawnShares draw_until_enough(const Problem& problem, int share_count) {
  return draw_until_enough(problem, share_count, estimated_pair_count(problem), problem.nonzer + 8);
}

void expect_vectors(const Problem& problem, const DrawnShares& drawn,
                    const test::ReferenceVectors& reference) {
  int64_t next_vector = 0;
  for (size_t k = 0; k < drawn.shares.size(); ++k) {
    const auto vectors = build_vectors(problem, drawn.shares[k], drawn.first_numbers[k], drawn.rejections);
    EXPECT_EQ(vectors.first, next_vector) << "share " << k;
    for (int64_t v = 0; v < vectors.count; ++v) {
      const auto& expected = reference.vectors[static_cast<size_t>(next_vector++)];
      std::vector<int32_t> positions;
      std::vector<double> values;
      for (const auto& [position, value] : expected) {
        positions.push_back(position);
        values.push_back(value);
      }
      ASSERT_TRUE(std::ranges::equal(vectors.positions_of(v), positions)) << "vector " << vectors.first + v;
      ASSERT_TRUE(test::same_bits(vectors.values_of(v), values)) << "vector " << vectors.first + v;
    }
  }
  EXPECT_EQ(next_vector, problem.n);
  EXPECT_EQ(static_cast<int64_t>(drawn.rejections.numbers.size()), reference.duplicate_pairs);
}

/// For any number of shares, of which some of the small problems' are empty.
void expect_any_shares_give_the_reference(const Problem& problem) {
  const auto reference = test::draw_reference_vectors(problem);
  for (const int share_count : {1, 2, 3, 7, 16}) {
    SCOPED_TRACE("n " + std::to_string(problem.n) + ", nonzer " + std::to_string(problem.nonzer) + ", " +
                 std::to_string(share_count) + " shares");
    const auto drawn = draw_until_enough(problem, share_count);
    expect_vectors(problem, drawn, reference);
  }
}

TEST(NpbVectorsTest, AwkwardProblemsFromAnyNumberOfShares) {
  for (const auto& problem : test::awkward_problems()) expect_any_shares_give_the_reference(problem);
}

TEST(NpbVectorsTest, AWindowThatIsTooShortAndTooFewPairsAreNoticed) {
  // Every vector of a full problem needs all n positions: about n ln n pairs, far beyond nonzer + 8.
  const auto problem = test::custom_problem(64, 64);
  const auto reference = test::draw_reference_vectors(problem);
  for (const int share_count : {1, 5}) {
    const auto drawn = draw_until_enough(problem, share_count);
    EXPECT_GT(drawn.window_growths, 0);
    expect_vectors(problem, drawn, reference);
  }
  const auto& class_s = *find_class("S");
  const auto drawn = draw_until_enough(class_s, 4, class_s.n * class_s.nonzer / 2, class_s.nonzer + 8);
  EXPECT_GT(drawn.pair_growths, 0);
  expect_vectors(class_s, drawn, test::draw_reference_vectors(class_s));
}

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
