// A campaign of bit flips: each harmful one must be found, and what follows must be a clean result or a refusal.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/guarded_run.hpp"
#include "support/sanitizers.hpp"
#include "support/test_extent.hpp"

namespace cg2d::fault_campaign_test {
namespace {

using test::group;
using test::GuardedProblem;

/// The relative change of zeta from which a fault is harmful.
constexpr double harmful_change = 1e-10;

bool is_harmed(const test::GuardedRun& run, const test::GuardedRun& clean) {
  if (run.steps.size() != clean.steps.size() || run.is_refused()) return true;
  return !(std::abs(run.zeta() - clean.zeta()) <= harmful_change * std::abs(clean.zeta()));  // NaN is harm
}

/// Damage of the matrix stays. After any other fault that was found the run has the bits of a clean one.
void expect_good_end(const test::GuardedRun& run, const test::GuardedRun& clean, const Fault& fault,
                     bool is_found) {
  const bool stays = fault.target == FaultTarget::values || fault.target == FaultTarget::columns;
  EXPECT_EQ(run.is_refused(), stays && is_found) << describe(fault) << ": " << run.reason;
  if (run.is_refused()) return;
  EXPECT_FALSE(is_harmed(run, clean)) << describe(fault);
  if (is_found) {
    EXPECT_TRUE(test::same_bits(run.zeta(), clean.zeta())) << describe(fault);
  }
}

/// Grids and configurations in turns, each for some seeds. Zeta counts after the third outer iteration, where it heals less than after the last
/// one.
void expect_that_harm_is_found(const char* class_name, int seed_count) {
  const auto problem = test::short_problem(class_name, 3);
  const auto all_kernels = test::usable_kernels();
  const auto transports = test::usable_transports();
  std::vector<GuardedProblem> problems;
  for (const auto& grid : comm::factorizations(group().size())) problems.emplace_back(problem, grid);
  constexpr int seeds_per_configuration = 5;
  constexpr size_t config_count = 44;
  constexpr uint64_t seeds_of_ranks = 1'000'000;  // other seeds for each number of ranks
  const auto first_seed = seeds_of_ranks * static_cast<uint64_t>(group().size()) + 1;
  test::FlipTally tally;
  for (int done = 0; done < seed_count; done += seeds_per_configuration) {
    const auto turn = static_cast<size_t>(done / seeds_per_configuration);
    const auto& on_grid = problems[turn % problems.size()];
    auto config = test::config_number(turn / problems.size() % config_count, all_kernels, transports);
    config.is_reproducible = config.kernel->makes_reproducible && turn % 2 == 1;
    test::GuardedSolver solver(on_grid, config);
    const auto clean = solver.run({.checks = true});
    test::expect_clean_report(clean.report);
    for (int k = done; k < std::min(done + seeds_per_configuration, seed_count); ++k) {
      const auto seed = first_seed + static_cast<uint64_t>(k);
      const auto place = "seed " + std::to_string(seed) + ", grid " + on_grid.layout.grid().name() + ", " +
                         test::describe(config);
      SCOPED_TRACE(place);
      const auto free_run = solver.run({.inject = InjectOptions{.seed = seed}});
      const auto run = solver.run({.checks = true, .inject = InjectOptions{.seed = seed}});
      ASSERT_EQ(run.report.faults.size(), 1U);
      const auto& fault = run.report.faults.front();
      const bool is_harmful = is_harmed(free_run, clean);
      const bool is_found = !run.report.detections.empty();
      tally.harmful_count += is_harmful ? 1 : 0;
      if (is_harmful && !is_found) {
        tally.missed.push_back(describe(fault) + " (" + place + ")");
      } else {
        expect_good_end(run, clean, fault, is_found);
      }
    }
  }
  tally.judge(std::string("class ") + class_name, seed_count);
}

TEST(FaultCampaignTest, HarmfulFlipsAreFoundInClassS) {
  expect_that_harm_is_found("S", test::with_fewer_sanitized(test::by_extent(120, 600, 3000)));
}

TEST(FaultCampaignTest, HarmfulFlipsAreFoundInClassW) {
  expect_that_harm_is_found("W", test::with_fewer_sanitized(test::by_extent(10, 60, 3000)));
}

/// Every attempt meets one of so many flips, in any array: the run ends, and not by a crash.
TEST(FaultCampaignTest, ManyFlipsEndTheRun) {
  const auto problem = test::short_problem("S", 3);
  constexpr int flip_count = 3000;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    test::GuardedSolver solver(on_grid, {});
    for (const bool checks : {true, false}) {
      const auto run =
          solver.run({.checks = checks, .inject = InjectOptions{.seed = 9, .count = flip_count}});
      if (checks) {
        EXPECT_TRUE(run.is_refused());
        for (const auto& reason : group().gather_all(run.reason)) EXPECT_EQ(reason, run.reason);
      } else {
        EXPECT_FALSE(run.steps.empty());
        EXPECT_TRUE(run.report.detections.empty());
      }
    }
  }
}

}  // namespace
}  // namespace cg2d::fault_campaign_test
