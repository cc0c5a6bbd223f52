// Benchmarks and solves of users' systems under guard: no false alarm, the same bits as without a guard, what follows a flip, and the same end
// on all ranks. (Flips in classes S and W: fault_campaign_test.cpp.)

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cg/run/guard/guard.hpp"
#include "support/bits.hpp"
#include "support/guarded_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::guarded_solve_test {
namespace {

using test::group;
using test::GuardedProblem;
using test::GuardedSolver;
using test::GuardedSystemRun;
using test::GuardedTestSystem;

constexpr GuardOptions guarded{.checks = true};

void expect_clean(const test::GuardedRun& run, const Problem& problem) {
  ASSERT_EQ(run.steps.size(), static_cast<size_t>(problem.niter)) << run.reason;
  test::expect_clean_report(run.report);
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
    const GuardedProblem on_grid(problem, grids[index % grids.size()]);
    expect_clean(GuardedSolver(on_grid, config).run(guarded), problem);
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
        if (expected.empty()) expected = test::figures_of(test::solve(problem, on_grid.layout, config));
        const auto run = GuardedSolver(on_grid, config).run(guarded);
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
      GuardedSolver solver(on_grid, config);
      const auto refuse = [&](std::string_view check, kernels::ArrayKind kind, const auto& damage) {
        const auto run = solver.run(guarded, [&](BlockProduct& product) {
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

// ---------------------------------------------------------------- users' systems

/// Systems that differ in everything, by turns: up to 300 iterations, so up to three segments.
GuardedTestSystem::Options system_number(int number) {
  const std::vector<std::string> laplacians{
      "laplace2d:" + std::to_string(20 + number % 37) + "x" + std::to_string(15 + number % 23),
      "laplace3d:" + std::to_string(5 + number % 7) + "x" + std::to_string(6 + number % 5) + "x7",
      "laplace2d:" + std::to_string(60 + number % 40) + "x" + std::to_string(50 + number % 9)};
  return {.laplacian = laplacians[static_cast<size_t>(number) % laplacians.size()],
          .most_scale = number % 4 == 3 ? 30.0 : 1.0 + 0.5 * (number % 3),
          .preconditioner = number % 2 == 0 ? "none" : "jacobi",
          .relative_tolerance = number % 5 == 4 ? 1e-12 : 1e-8,
          .starts_from_guess = number % 7 >= 4};
}

/// A system on a grid with a configuration, by turns.
GuardedTestSystem test_system(int number) {
  static const auto kernels = test::usable_kernels();
  const auto transports = test::usable_transports();
  const auto grids = comm::factorizations(group().size());
  const auto index = static_cast<size_t>(number);
  return {system_number(number), grids[index % grids.size()],
          test::config_number(index, kernels, transports)};
}

bool has_same_x(const GuardedSystemRun& left, const GuardedSystemRun& right) {
  return group().maximum(test::same_bits(left.x, right.x) ? 0.0 : 1.0) == 0.0;
}

TEST(SolveGuardTest, CleanSolvesGiveNoAlarmAndTheSameBits) {
  const int system_count = test::by_extent(12, 60, 600);
  const int first = system_count * group().size();
  int segment_count = 0;
  for (int number = first; number < first + system_count; ++number) {
    SCOPED_TRACE("system " + std::to_string(number) + ", " + system_number(number).laplacian);
    auto system = test_system(number);
    const auto free_run = system.run({});
    const auto run = system.run({.checks = true});
    if (!run.result) {
      ADD_FAILURE() << run.reason;
      continue;
    }
    test::expect_clean_report(run.report);
    EXPECT_EQ(run.result->end, free_run.result->end);
    EXPECT_EQ(run.result->step_count, free_run.result->step_count);
    EXPECT_TRUE(has_same_x(run, free_run));
    segment_count += run.result->step_count / Guard::steps_per_segment;
  }
  EXPECT_GT(segment_count, 0) << "no solve went on from a state that was kept";
}

/// A solve that ends otherwise than the clean one, or says "converged" of an x that is not within twice the tolerance. More iterations are no
/// harm: a flip that is smaller than what rounding may do to r costs some, and the recomputed residual still decides.
bool is_harmed(const GuardedSystemRun& run, const GuardedSystemRun& clean) {
  if (!run.result || run.result->end != clean.result->end) return true;
  return !(run.true_residual <= 2.0 * clean.true_residual + 1e-12 * clean.result->right_hand_side_norm);
}

TEST(SolveGuardTest, FlipsAreFoundOrDoNoHarm) {
  const int flip_count = test::by_extent(30, 200, 2000);
  const int flips_per_system = test::by_extent(5, 10);
  test::FlipTally tally;
  for (int number = 0; number * flips_per_system < flip_count; ++number) {
    auto system = test_system(number);
    const auto clean = system.run({.checks = true});
    for (int k = 0; k < flips_per_system; ++k) {
      const auto seed = static_cast<uint64_t>(1000 * group().size() + number * flips_per_system + k);
      const InjectOptions inject{.seed = seed};
      const auto free_run = system.run({.inject = inject});
      const auto run = system.run({.checks = true, .inject = inject});
      const auto& fault = run.report.faults.front();
      SCOPED_TRACE("system " + std::to_string(number) + ", seed " + std::to_string(seed) + ": " +
                   describe(fault));
      const bool is_found = !run.report.detections.empty();
      const bool stays = fault.target == FaultTarget::values || fault.target == FaultTarget::columns;
      tally.harmful_count += is_harmed(free_run, clean) ? 1 : 0;
      EXPECT_EQ(!run.result, stays && is_found) << run.reason;
      for (const auto& reason : group().gather_all(run.reason)) EXPECT_EQ(reason, run.reason);
      if (!run.result) continue;
      if (is_harmed(run, clean)) tally.missed.push_back(describe(fault));
      if (is_found) {
        EXPECT_TRUE(has_same_x(run, clean));
      }
    }
  }
  tally.judge("solves", flip_count);
}

/// On two ranks this flip changed the numbers of one rank, which then asked for a rounding bound that the other did not: both waited for ever.
TEST(SolveGuardTest, RanksDecideAlikeAfterAFlipThatNobodyFinds) {
  auto system = test_system(30);
  const auto run = system.run({.inject = InjectOptions{.seed = 2303}});
  ASSERT_TRUE(run.result);
  for (const auto end : group().gather_one(run.result->end)) EXPECT_EQ(end, run.result->end);
}

/// Every attempt meets one of so many flips: the solve ends, and not by a crash.
TEST(SolveGuardTest, ManyFlipsEndTheSolve) {
  auto system = test_system(2);
  const auto run = system.run({.checks = true, .inject = InjectOptions{.seed = 3, .count = 2000}});
  EXPECT_FALSE(run.result);
  EXPECT_NE(run.reason.find("soft error"), std::string::npos) << run.reason;
  const auto free_run = system.run({.inject = InjectOptions{.seed = 3, .count = 2000}});
  EXPECT_TRUE(free_run.result);
}

}  // namespace
}  // namespace cg2d::guarded_solve_test
