// Shortlists of grids for ranks of different speed, and what the report says of them.

#include "cg/tuning/trial.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/mpi_test.hpp"

namespace cg2d::grid_trial_test {
namespace {

using test::group;

GridShortlist shortlist_for(const Problem& problem, const std::vector<double>& speeds) {
  const auto matrix = facts_of(problem);
  const Configuration configuration;
  const std::optional<MachineDescription> unknown;
  return make_grid_shortlist(group(), {.matrix = matrix,
                                       .configuration = configuration,
                                       .machine = unknown,
                                       .kernel_for = [](const auto&) { return ChosenKernel{}; },
                                       .speeds = speeds});
}

TEST(GridShortlistTest, WithoutSpeedsItIsTheRules) {
  const auto list = shortlist_for(*find_class("B"), {});
  EXPECT_EQ(list.grids, shortlist_by_rule(facts_of(*find_class("B")), {}, group().size(), 4));
  EXPECT_EQ(list.made_by, "rule");
  EXPECT_TRUE(list.reached.empty());
}

/// Four ranks, one of them four times as slow: a line reaches 3.25 of 3.25; on 2x2 its row or column is slowed, too.
TEST(GridShortlistTest, LongProductsOfUnevenRanksPreferALine) {
  const std::vector<double> speeds{1e9, 1e9, 1e9, 0.25e9};
  const auto list = shortlist_for(*find_class("C"), speeds);
  EXPECT_EQ(list.reached.size(), 3U);
  EXPECT_NEAR(list.share_of({.columns = 1, .rows = 4}), 1.0, 1e-6);
  EXPECT_NEAR(list.share_of({.columns = 4, .rows = 1}), 1.0, 1e-6);
  EXPECT_LT(list.share_of({.columns = 2, .rows = 2}), 0.95);
  EXPECT_EQ(list.grids.back(), (comm::ProcessGrid{.columns = 2, .rows = 2}));
}

TEST(GridShortlistTest, ShortProductsKeepTheGridWithTheLeastMessages) {
  const std::vector<double> speeds{1e12, 1e12, 1e12, 0.25e12};
  const auto list = shortlist_for(*find_class("S"), speeds);
  EXPECT_EQ(list.grids.front(), shortlist_for(*find_class("S"), {}).grids.front());
}

}  // namespace
}  // namespace cg2d::grid_trial_test
