// Facts of a matrix before it is made, the expected row lengths of narrower blocks, and those of blocks that are there.

#include "cg/matrix/matrix_facts.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/npb_reference.hpp"

namespace cg2d::matrix_facts_test {
namespace {

/// The values of the definition (RFC 9923): of nothing, of "a", of "foobar".
TEST(HashOfTextTest, IsFnv1a) {
  EXPECT_EQ(hash_of_text(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of_text("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_of_text("foobar"), 0x85944171f73967e8U);
}

TEST(MatrixKeyTest, IsTheSameWhereTheNonzerosAre) {
  const auto class_s = facts_of(*find_class("S")).key;
  EXPECT_EQ(class_s.name, "S");
  EXPECT_EQ(class_s.order, 1400);
  EXPECT_EQ(class_s.nonzer, 7);
  const auto other_shift = facts_of(test::custom_problem(1400, 7, 3.5, 2)).key;
  EXPECT_EQ(other_shift.name, "U(n 1400, nonzer 7)");
  EXPECT_EQ(other_shift, class_s) << "the shift places no nonzeros, nor does the number of iterations";
  EXPECT_NE(facts_of(test::custom_problem(1401, 7)).key, class_s);
  EXPECT_NE(facts_of(test::custom_problem(1400, 8)).key, class_s);
  EXPECT_EQ(npb_matrix_key("S", 1400, 8).name, "U(n 1400, nonzer 8)") << "that is no class S";
}

TEST(ThinnedTest, EachNonzeroFallsIntoOneOfTheBlocks) {
  const RowLengthDistribution whole{.share = {0.5, 0.0, 0.5}};
  EXPECT_EQ(thinned(whole, 1).share, whole.share);
  const auto half = thinned(whole, 2);
  ASSERT_EQ(half.share.size(), 3U);
  constexpr double rounding = 1e-14;  // rounding of logarithms and exponentials of single digits
  EXPECT_NEAR(half.share[0], 0.5 + 0.5 * 0.25, rounding);
  EXPECT_NEAR(half.share[1], 0.5 * 0.5, rounding);
  EXPECT_NEAR(half.share[2], 0.5 * 0.25, rounding);
}

/// A dense row among short ones, as matrices of users have them.
TEST(ThinnedTest, KeepsAllRowsAndTheirShareOfTheNonzerosAndIsQuickForLongRows) {
  constexpr int longest = 2'000'000;
  RowLengthDistribution whole;
  whole.share.resize(longest + 1);
  whole.share[5] = 0.999;
  whole.share[longest] = 0.001;
  const auto begin = std::chrono::steady_clock::now();
  for (const int columns : {2, 7, 1024}) {
    SCOPED_TRACE(columns);
    const auto narrow = thinned(whole, columns);
    constexpr double rounding = 1e-6;  // rounding of logarithms of factorials of millions
    EXPECT_NEAR(std::accumulate(narrow.share.begin(), narrow.share.end(), 0.0), 1.0, rounding);
    EXPECT_NEAR(narrow.mean() / (whole.mean() / columns), 1.0, rounding);
  }
  // All terms of the long row would be minutes; those that count are some thousand.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// ---------------------------------------------------------------- row lengths of blocks, counted by hand

/// Rows of these lengths.
kernels::CsrBlock block_of(const std::vector<int>& lengths) {
  constexpr int64_t column_count = 20;
  std::vector<std::vector<kernels::CsrBlock::Entry>> rows;
  for (const int length : lengths) {
    auto& row = rows.emplace_back();
    for (int32_t column = 0; column < length; ++column) row.push_back({.column = column, .value = 1.0});
  }
  return kernels::CsrBlock::from_rows(column_count, rows);
}

TEST(RowLengthsTest, CountsRowsAndNonzerosBelowTheCriticalVectorLength) {
  const auto lengths = row_lengths(block_of({7, 3, 8, 0, 12}), 8);
  EXPECT_EQ(lengths.critical_vector_length, 8);
  EXPECT_EQ(lengths.row_count, 5);
  EXPECT_EQ(lengths.nonzero_count, 30);
  EXPECT_EQ(lengths.shortest, 0);
  EXPECT_EQ(lengths.longest, 12);
  EXPECT_EQ(lengths.short_row_count, 3);  // 8 is not below 8
  EXPECT_EQ(lengths.short_row_nonzero_count, 10);
  EXPECT_DOUBLE_EQ(lengths.mean(), 6.0);
}

TEST(RowLengthsTest, MergedIsThatOfAllRows) {
  const auto first = row_lengths(block_of({5, 2, 11}), 6);
  const auto second = row_lengths(block_of({3, 14}), 6);
  const auto none = row_lengths(block_of({}), 6);
  for (const auto& both : {merged(first, second), merged(merged(none, second), first)}) {
    EXPECT_EQ(both.critical_vector_length, 6);
    EXPECT_EQ(both.row_count, 5);
    EXPECT_EQ(both.nonzero_count, 35);
    EXPECT_EQ(both.shortest, 2);
    EXPECT_EQ(both.longest, 14);
    EXPECT_EQ(both.short_row_count, 3);
    EXPECT_EQ(both.short_row_nonzero_count, 10);
  }
}

}  // namespace
}  // namespace cg2d::matrix_facts_test
