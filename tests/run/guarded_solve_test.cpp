// Solves under guard: no false alarm, the same bits as without a guard, and the same end on all ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/bits.hpp"
#include "support/guarded_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::guarded_solve_test {
namespace {

using test::group;
using test::GuardedProblem;

constexpr GuardOptions guarded{.checks = true};

void expect_clean(const test::GuardedRun& run, const Problem& problem) {
  ASSERT_EQ(run.steps.size(), static_cast<size_t>(problem.niter)) << run.reason;
  test::expect_clean_report(run.report);
}

void expect_no_alarm(const Problem& problem, size_t configs_per_grid) {
  const auto all_kernels = test::usable_kernels();
  const auto transports = test::usable_transports();
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (size_t k = 0; k < configs_per_grid; ++k, ++number) {
      const auto config = test::config_number(number, all_kernels, transports);
      SCOPED_TRACE("class " + problem.class_name + ", grid " + grid.name() + ", " + test::describe(config));
      expect_clean(on_grid.run(config, guarded), problem);
    }
  }
}

TEST(GuardedSolveTest, ClassSGivesNoAlarm) {
  expect_no_alarm(test::short_problem("S", test::by_extent(5, 5, 15)),
                  static_cast<size_t>(test::by_extent(10, 20, 44)));
}

TEST(GuardedSolveTest, ClassWGivesNoAlarm) {
  expect_no_alarm(test::short_problem("W", test::by_extent(2, 2, 15)),
                  static_cast<size_t>(test::by_extent(2, 4, 22)));
}

/// Shifts that make the matrix nearly singular, or its condition good; and other sizes.
TEST(GuardedSolveTest, OtherProblemsGiveNoAlarm) {
  const auto all_kernels = test::usable_kernels();
  const auto transports = test::usable_transports();
  const auto grids = comm::factorizations(group().size());
  const int problem_count = test::by_extent(12, 250, 2500);
  const int first_number = problem_count * group().size();  // other problems for each number of ranks
  for (int number = first_number; number < first_number + problem_count; ++number) {
    auto problem = test::short_problem("S", 3);
    problem.class_name = "U";
    problem.n = 400 + 37 * number % 1500;
    problem.nonzer = 3 + number % 9;
    problem.shift = 3.0 + 1.7 * (number % 23);
    const auto index = static_cast<size_t>(number);
    const auto config = test::config_number(index, all_kernels, transports);
    SCOPED_TRACE("problem " + std::to_string(number) + ", " + test::describe(config));
    expect_clean(GuardedProblem(problem, grids[index % grids.size()]).run(config, guarded), problem);
  }
}

/// Nor any bit of reproducible sums, which are the same on every grid with every transport.
TEST(GuardedSolveTest, AGuardChangesNoBit) {
  const auto problem = test::short_problem("S", 3);
  const auto transports = test::usable_transports();
  std::vector<double> reproducible;
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (const auto* const kernel : test::usable_kernels()) {
      const bool is_default =
          kernel == &kernels::default_kernel() || kernel == &kernels::default_kernel(kernels::Storage::half);
      const auto expect_bits = [&](const test::SolverConfig& config, std::vector<double>& expected) {
        SCOPED_TRACE("grid " + grid.name() + ", " + test::describe(config));
        if (expected.empty()) expected = test::figures_of(test::solve(problem, on_grid.layout(), config));
        const auto run = on_grid.run(config, guarded);
        expect_clean(run, problem);
        EXPECT_TRUE(test::same_bits(test::figures_of(run.steps), expected));
      };
      std::vector<double> usual;
      if (is_default) expect_bits({.kernel = kernel}, usual);
      if (!kernel->makes_reproducible) continue;
      expect_bits({.kernel = kernel,
                   .transport = transports[number % transports.size()],
                   .overlaps = number % 2 == 1,
                   .is_reproducible = true},
                  reproducible);
      ++number;
    }
  }
}

/// The run ends in the first outer iteration that meets the damage, with the same words on every rank.
void expect_refusal(const test::GuardedRun& run, std::string_view check, int damaged_rank) {
  EXPECT_TRUE(run.is_refused());
  EXPECT_NE(run.reason.find(check), std::string::npos) << run.reason;
  EXPECT_NE(run.reason.find("rank " + std::to_string(damaged_rank) + ","), std::string::npos) << run.reason;
  EXPECT_EQ(run.report.detections.size(), 2U);
  EXPECT_EQ(run.report.rollback_count, 1);
  for (const auto& reason : group().gather_all(run.reason)) EXPECT_EQ(reason, run.reason);
}

/// The first array of a kind that has elements.
std::span<std::byte> array_of(BlockProduct& product, kernels::ArrayKind kind) {
  for (const auto& array : product.stored_arrays()) {
    if (array.kind == kind && !array.bytes.empty()) return array.bytes;
  }
  return {};
}

TEST(GuardedSolveTest, DamageThatStaysEndsTheRunOnAllRanks) {
  const auto problem = test::short_problem("S", 2);
  const int damaged_rank = group().size() - 1;
  const bool is_mine = group().rank() == damaged_rank;
  const auto transports = test::usable_transports();
  size_t number = 0;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (const auto* const kernel : test::usable_kernels()) {
      const test::SolverConfig config{.kernel = kernel,
                                      .transport = transports[number % transports.size()],
                                      .overlaps = number % 2 == 1,
                                      .is_reproducible = kernel->makes_reproducible && number % 3 == 0};
      ++number;
      SCOPED_TRACE("grid " + grid.name() + ", " + test::describe(config));
      const auto refuse = [&](std::string_view check, kernels::ArrayKind kind, const auto& damage) {
        const auto run = on_grid.run(config, guarded, [&](BlockProduct& product) {
          if (is_mine) damage(array_of(product, kind));
        });
        expect_refusal(run, check, damaged_rank);
      };
      // A column number far out of range: a product with it would crash.
      refuse("(column-range)", kernels::ArrayKind::columns, [](std::span<std::byte> columns) {
        std::ranges::fill(columns.first(2), std::byte{0xff});
        columns[columns.size() >= 4 ? 3 : 1] = std::byte{0x7f};
      });
      // The lowest bit of a value, which no sum shows.
      refuse("(matrix-bytes)", kernels::ArrayKind::values,
             [](std::span<std::byte> values) { values[0] ^= std::byte{1}; });
      // The largest bit of an exponent.
      refuse("(block-product)", kernels::ArrayKind::values,
             [](std::span<std::byte> values) { values[7] ^= std::byte{0x40}; });
    }
  }
}

}  // namespace
}  // namespace cg2d::guarded_solve_test
