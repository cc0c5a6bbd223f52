// A campaign of bit flips: each harmful one must be found, and what follows must be a clean result or a refusal.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/bits.hpp"
#include "support/guarded_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d {
namespace {

using test::group;
using test::GuardedProblem;

/// The relative change of zeta from which a fault is harmful.
constexpr double harmful_change = 1e-10;

bool is_harmed(const test::GuardedRun& run, const test::GuardedRun& clean) {
  if (run.steps.size() != clean.steps.size() || run.is_refused()) return true;
  return !(std::abs(run.zeta() - clean.zeta()) <= harmful_change * std::abs(clean.zeta()));  // NaN is harm
}

struct Counts {
  int made = 0;
  int harmful = 0;
  int found = 0;
  int harmful_found = 0;
  int refused = 0;
};

/// Grids and configurations in turns.
class Campaign {
 public:
  explicit Campaign(Problem problem) : problem_(std::move(problem)) {}

  void inject(std::uint64_t seed) {
    const auto turn = static_cast<std::size_t>(seed);
    const auto grid_index = turn % grids_.size();
    const auto config = test::config_number(turn / grids_.size() % config_count, kernels_, transports_);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", grid " + grids_[grid_index].name() + ", " +
                 test::describe(config));
    const auto& on_grid = problem_on(grid_index);
    const auto& clean = clean_run(on_grid, config,
                                  grids_[grid_index].name() + test::describe(config) +
                                      std::to_string(static_cast<int>(config.sum_form)));
    const InjectOptions options{.seed = seed};
    const auto free_run = on_grid.run(config, {.injects = true, .inject = options});
    const auto run = on_grid.run(config, {.checks = true, .injects = true, .inject = options});
    ASSERT_EQ(run.report.faults.size(), 1U);
    const auto& fault = run.report.faults.front();
    const bool is_harmful = is_harmed(free_run, clean);
    const bool is_found = !run.report.detections.empty();
    auto& counts = counts_[fault.target];
    counts.made += fault.is_made ? 1 : 0;
    counts.harmful += is_harmful ? 1 : 0;
    counts.found += is_found ? 1 : 0;
    counts.harmful_found += is_harmful && is_found ? 1 : 0;
    counts.refused += run.is_refused() ? 1 : 0;
    EXPECT_TRUE(is_found || !is_harmful) << "not found, and harmful: " << describe(fault);
    expect_good_end(run, clean, fault, is_found);
  }

  void tell() const {
    if (group().rank() != 0) return;
    for (const auto& [target, counts] : counts_)
      std::cout << "  " << name_of(target) << ": " << counts.made << " made, " << counts.harmful
                << " harmful, " << counts.harmful_found << " of these found, " << counts.found
                << " found in all, " << counts.refused << " refused\n";
  }
  [[nodiscard]] int harmful_count() const {
    int count = 0;
    for (const auto& [target, counts] : counts_) count += counts.harmful;
    return count;
  }

 private:
  static constexpr std::size_t config_count = 44;

  const GuardedProblem& problem_on(std::size_t grid_index) {
    auto& problem = problems_[grid_index];
    if (!problem) problem = std::make_unique<GuardedProblem>(problem_, grids_[grid_index]);
    return *problem;
  }
  const test::GuardedRun& clean_run(const GuardedProblem& on_grid, const test::SolverConfig& config,
                                    const std::string& key) {
    auto found = clean_runs_.find(key);
    if (found == clean_runs_.end())
      found = clean_runs_.emplace(key, on_grid.run(config, {.checks = true})).first;
    return found->second;
  }

  /// Damage of the matrix stays. After any other fault that was found the run has the bits of a clean one.
  static void expect_good_end(const test::GuardedRun& run, const test::GuardedRun& clean, const Fault& fault,
                              bool is_found) {
    const bool stays = fault.target == FaultTarget::values || fault.target == FaultTarget::columns;
    EXPECT_EQ(run.is_refused(), stays && is_found) << describe(fault) << ": " << run.reason;
    if (run.is_refused()) return;
    EXPECT_FALSE(is_harmed(run, clean)) << describe(fault);
    if (is_found) {
      EXPECT_TRUE(test::same_bits(run.zeta(), clean.zeta())) << describe(fault);
    }
  }

  Problem problem_;
  std::vector<comm::ProcessGrid> grids_ = comm::factorizations(group().size());
  std::vector<const kernels::KernelRow*> kernels_ = test::usable_kernels();
  std::vector<const comm::TransportRow*> transports_ = test::usable_transports();
  std::map<std::size_t, std::unique_ptr<GuardedProblem>> problems_;
  std::map<std::string, test::GuardedRun> clean_runs_;
  std::map<FaultTarget, Counts> counts_;
};

TEST(FaultCampaignTest, EveryHarmfulFlipIsFound) {
  auto problem = *find_class("S");
  problem.niter = test::by_extent(3, problem.niter);
  Campaign campaign(problem);
  const int seed_count = test::by_extent(300, 3000);
  for (int seed = 1; seed <= seed_count; ++seed) campaign.inject(static_cast<std::uint64_t>(seed));
  campaign.tell();
  EXPECT_GT(campaign.harmful_count(), seed_count / 20) << "a campaign without harm tells nothing";
}

/// So many flips that every attempt meets one, in any array: the run ends, and not by a crash.
TEST(FaultCampaignTest, ManyFlipsEndTheRun) {
  auto problem = *find_class("S");
  problem.niter = 3;
  constexpr int flip_count = 3000;
  for (const auto& grid : comm::factorizations(group().size())) {
    const GuardedProblem on_grid(problem, grid);
    for (const bool checks : {true, false}) {
      const auto run =
          on_grid.run({}, {.checks = checks, .injects = true, .inject = {.seed = 9, .count = flip_count}});
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
}  // namespace cg2d
