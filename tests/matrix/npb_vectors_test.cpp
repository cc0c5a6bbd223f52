// The random vectors, drawn share by share, against the sequential definition.

#include "cg/matrix/npb_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/bits.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"

namespace cg2d::npb_vectors_test {
namespace {

/// The shares of all ranks, and where each begins.
struct DrawnShares {
  std::vector<StreamShare> shares;
  std::vector<int64_t> first_pairs;
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
    drawn.first_pairs.push_back(layout.piece(k).begin);
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

/// The pair that the last needed number is must be the definition's last one.
void expect_last_pair(const Problem& problem, const DrawnShares& drawn,
                      const test::ReferenceVectors& reference) {
  const int64_t last_number = needed_number_count(problem, drawn.rejections) - 1;
  int64_t last_pair = -1;
  for (size_t k = 0; k < drawn.shares.size(); ++k) {
    const int64_t local = last_number - drawn.first_numbers[k];
    if (local < 0 || local >= drawn.shares[k].own_count) continue;
    EXPECT_EQ(last_pair, -1) << "the last pair belongs to two shares";
    last_pair = pair_of_number(problem, drawn.first_pairs[k], local);
  }
  EXPECT_EQ(last_pair + 1,
            problem.n * problem.nonzer + reference.duplicate_pairs + reference.out_of_range_pairs);
}

void expect_any_shares_give_the_reference(const Problem& problem) {
  const auto reference = test::draw_reference_vectors(problem);
  for (const int share_count : {1, 2, 3, 7, 16}) {
    SCOPED_TRACE("n " + std::to_string(problem.n) + ", nonzer " + std::to_string(problem.nonzer) + ", " +
                 std::to_string(share_count) + " shares");
    const auto drawn = draw_until_enough(problem, share_count);
    expect_vectors(problem, drawn, reference);
    expect_last_pair(problem, drawn, reference);
  }
}

TEST(NpbVectorsTest, ClassSFromAnyNumberOfShares) { expect_any_shares_give_the_reference(*find_class("S")); }

TEST(NpbVectorsTest, ClassWFromAnyNumberOfShares) { expect_any_shares_give_the_reference(*find_class("W")); }

TEST(NpbVectorsTest, AwkwardProblemsFromAnyNumberOfShares) {
  for (const auto& problem : test::awkward_problems()) expect_any_shares_give_the_reference(problem);
}

TEST(NpbVectorsTest, ManyTinyProblems) {
  // Every (n, nonzer) up to 12: dense vectors repeat positions all the time.
  for (int64_t n = 1; n <= 12; ++n) {
    for (int nonzer = 1; nonzer <= n; ++nonzer) {
      const auto problem = test::custom_problem(n, nonzer);
      SCOPED_TRACE("n " + std::to_string(n) + ", nonzer " + std::to_string(nonzer));
      const auto drawn = draw_until_enough(problem, 3);
      const auto reference = test::draw_reference_vectors(problem);
      expect_vectors(problem, drawn, reference);
      expect_last_pair(problem, drawn, reference);
    }
  }
}

TEST(NpbVectorsTest, TheReferenceMeetsTheFacts) {
  for (const auto& facts : test::npb_facts) {
    if (facts.class_name == "B" || facts.duplicate_pairs < 0) continue;
    const auto reference = test::draw_reference_vectors(*find_class(facts.class_name));
    EXPECT_EQ(reference.duplicate_pairs, facts.duplicate_pairs) << "class " << facts.class_name;
    EXPECT_EQ(reference.out_of_range_pairs, facts.out_of_range_pairs) << "class " << facts.class_name;
    EXPECT_EQ(reference.final_seed, facts.final_seed) << "class " << facts.class_name;
  }
}

TEST(NpbVectorsTest, AWindowThatIsTooShortIsNoticed) {
  // Every vector of a full problem needs all n positions: about n ln n pairs, far beyond nonzer + 8.
  const auto problem = test::custom_problem(64, 64);
  const auto reference = test::draw_reference_vectors(problem);
  for (const int share_count : {1, 5}) {
    const auto drawn = draw_until_enough(problem, share_count);
    EXPECT_GT(drawn.window_growths, 0);
    expect_vectors(problem, drawn, reference);
  }
}

TEST(NpbVectorsTest, TooFewPairsAreNoticed) {
  const auto& problem = *find_class("S");
  const auto drawn = draw_until_enough(problem, 4, problem.n * problem.nonzer / 2, problem.nonzer + 8);
  EXPECT_GT(drawn.pair_growths, 0);
  expect_vectors(problem, drawn, test::draw_reference_vectors(problem));
}

TEST(NpbVectorsTest, MoreSharesThanPairsLeaveSomeEmpty) {
  const auto problem = test::custom_problem(2, 1);
  const auto drawn = draw_until_enough(problem, 200);  // fewer pairs than that are drawn
  const auto empty_count =
      std::ranges::count_if(drawn.shares, [](const auto& share) { return share.own_count == 0; });
  EXPECT_GT(empty_count, 0);
  expect_vectors(problem, drawn, test::draw_reference_vectors(problem));
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

TEST(NpbVectorsTest, WeightsFallFromOneToAlmostRcond) {
  const auto& problem = *find_class("S");
  const auto weights = vector_weights(problem, 0, problem.n);
  ASSERT_EQ(weights.size(), 1400U);
  EXPECT_EQ(weights.front(), 1.0);
  for (const size_t i : {1U, 7U, 700U, 1399U}) {
    const double exact = std::exp(static_cast<double>(i) / 1400.0 * std::log(0.1));
    EXPECT_NEAR(weights[i], exact, 1e-13);  // a rounding per multiplication
  }
}

TEST(NpbVectorsTest, WeightsOfAShareAreThoseOfTheWhole) {
  const auto& problem = *find_class("W");
  const auto whole = vector_weights(problem, 0, problem.n);
  const auto part = vector_weights(problem, 4321, 99);
  ASSERT_EQ(part.size(), 99U);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 4321));
}

}  // namespace
}  // namespace cg2d::npb_vectors_test
