// The blocks and runs that cg2d tune measures. Times are not checked.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>
#include <algorithm>

#include <functional>
#include <string>
#include <vector>

#include "cg/solver/assembled_operator.hpp"
#include "support/mpi_test.hpp"

namespace cg2d::tune_measure_test {
namespace {

using test::group;

TEST(ConstantRowsBlockTest, EveryRowHasThatManyEntriesInRisingColumns) {
  for (const int64_t length : {1, 7, 64}) {
    SCOPED_TRACE("length " + std::to_string(length));
    const auto block = constant_rows_block(length, 50, 64);
    ASSERT_EQ(block.row_count, 50);
    ASSERT_EQ(block.nonzero_count(), 50 * length);
    for (int64_t row = 0; row < 50; ++row) {
      const auto columns = block.columns_of(row);
      ASSERT_EQ(std::ssize(columns), length);
      EXPECT_TRUE(std::ranges::is_sorted(columns, std::ranges::less_equal()));
      EXPECT_GE(columns.front(), 0);
      EXPECT_LT(columns.back(), 64);
    }
  }
}

TEST(RaceTest, EveryRankCallsEveryWorkEquallyOften) {
  std::vector<int64_t> calls(3, 0);
  std::vector<std::function<void()>> works;
  for (auto& count : calls) works.emplace_back([&count] { ++count; });
  const auto seconds =
      race(group(), works, {.fewest_rounds = 3, .most_rounds = 4, .budget_s = 0.0, .shortest_turn_s = 1e-6})
          .medians();
  ASSERT_EQ(seconds.size(), works.size());
  for (size_t k = 0; k < calls.size(); ++k) {
    EXPECT_GT(seconds[k], 0.0);
    EXPECT_GE(calls[k], 3) << "work " << k;
    EXPECT_EQ(group().minimum(calls[k]), group().maximum(calls[k])) << "ranks that disagree wait for ever";
  }
}

TEST(MeasureRowLengthsTest, GivesACurveWithTheSameCrossoverOnEveryRank) {
  const auto curve = measure_row_lengths(group(), 1).curve;
  ASSERT_GT(curve.size(), 10U);
  for (size_t k = 0; k < curve.size(); ++k) {
    EXPECT_TRUE(curve[k].scalar_ns > 0.0 && curve[k].vector_ns > 0.0);
    if (k > 0) {
      EXPECT_GT(curve[k].row_length, curve[k - 1].row_length);
    }
  }
  const int64_t length = critical_vector_length_of(curve);
  EXPECT_EQ(group().minimum(length), group().maximum(length));
}

/// (The kernels: tests/program/tune_test.py.)
TEST(MeasureCaseTest, HasTheStagesThatAreExpected) {
  const Problem& problem = *find_class("S");
  const auto grid = comm::factorizations(group().size()).back();
  const CaseConfig config{.source = default_source().make(problem),
                          .configuration = {.grid = grid},
                          .shift = problem.shift,
                          .critical_vector_length = 16};
  std::vector<std::string> stages;
  const auto tuned =
      measure_case(group(), config, [&](const std::string& stage) { stages.push_back(stage); });
  std::vector<std::string> planned;
  for (const auto& work : works_of_case(config)) planned.push_back(work.key);
  EXPECT_EQ(stages, planned);
  EXPECT_EQ(stages.size(), tuned.kernels.size() + 2);  // the matrix, each kernel, and the race
  for (const auto& kernel : tuned.kernels) {
    EXPECT_EQ(kernel.tuning.prefetch_distance.has_value(),
              kernels::kernel_named(kernel.name).defaults.prefetch_distance.has_value());
  }
}

}  // namespace
}  // namespace cg2d::tune_measure_test
