// Every grid of 1 to 36 ranks. Reproducible sums: the same bits of zeta and of every residual as on one rank, on every grid, cut, transport,
// kernel, form of the sum and number of threads. What is compared with is computed by one rank alone, so all numbers of ranks agree. And zeta
// of class S by the usual sums.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/npb_facts.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::reproducible_test {
namespace {

using test::group;

/// By rank 0 alone with the plainest kernel.
std::vector<double> expected_figures(const Problem& problem) {
  return test::figures_of_one_rank(problem, {.kernel = "scalar", .is_reproducible = true});
}

/// All combinations that go together, with each transport that serves here.
std::vector<Configuration> all_configs() {
  // Threads of ranks that share cores take long.
  using Texts = std::vector<std::string>;
  return crossed({.is_reproducible = true},
                 {{"kernel", names_where(kernels::kernel_table(),
                                         [](const auto& row) { return row.makes_reproducible; })},
                  {"transport", test::usable_transports()},
                  {"threads", test::is_campaign() ? Texts{"1", "2", "4"} : Texts{"1", "2"}},
                  {"sum_form", names_of(sum_form_table())},
                  {"overlap", {"off", "on"}}});
}

/// A choice of one or two, in the campaign of some more, that goes through all combinations from turn to turn.
std::vector<Configuration> configs(size_t turn) {
  // No divisors in common with the number of kernels, threads, overlaps or forms.
  const size_t stride = test::is_campaign() ? 31 : 61;
  const auto all = all_configs();
  std::vector<Configuration> chosen;
  for (size_t k = turn % stride; k < all.size(); k += stride) chosen.push_back(all[k]);
  return chosen;
}

void expect_same_bits(const Problem& problem, const test::NamedLayout& named, const Configuration& config,
                      const std::vector<double>& expected) {
  SCOPED_TRACE("class " + problem.class_name + ", " + test::describe(named) + ", " +
               configuration_key(config));
  const auto figures = test::figures_of(test::solve(problem, named.layout, config));
  EXPECT_TRUE(test::same_bits(figures, expected))
      << "zeta " << figures.front() << " instead of " << expected.front();
}

/// With many ranks on few cores MPI's collectives take long, and cuts with all rows in one piece the longest.
bool has_many_ranks() {
  constexpr int many_ranks = 12;
  return group().size() > many_ranks;
}

/// The numbers of ranks that are always tested.
bool is_of_few_ranks() { return group().size() <= 4 || group().size() == 6; }

/// In the campaign the first `most` of test::layouts_of(), with many ranks the first one; else 2 or, with many ranks, one
/// of these by turns.
std::vector<test::NamedLayout> chosen_layouts(int64_t n, comm::ProcessGrid grid, size_t turn, int most) {
  const auto all = test::layouts_of(n, grid);
  if (!test::is_campaign())
    return has_many_ranks() ? std::vector{all.at(turn % 2)} : std::vector{all.at(0), all.at(1)};
  return {all.begin(), all.begin() + (has_many_ranks() ? 1 : most)};
}

void expect_same_bits_on_every_grid(const Problem& problem, int most_layouts) {
  const auto expected = expected_figures(problem);
  // Different numbers of ranks begin with different configurations.
  const auto first_turn = static_cast<size_t>(group().size()) * 5;
  auto turn = first_turn;
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& named : chosen_layouts(problem.n, grid, turn, most_layouts)) {
      for (const auto& config : configs(turn++)) expect_same_bits(problem, named, config, expected);
    }
  }
  EXPECT_GT(turn, first_turn);
}

TEST(ReproducibleTest, ClassSHasTheSameBitsEverywhere) {
  const auto problem = test::short_problem("S", 2);
  expect_same_bits_on_every_grid(problem, 4);
  // The bits are those of a right result.
  const auto figures = expected_figures(problem);
  for (size_t step = 0; step < 2; ++step)
    EXPECT_NEAR(figures[2 * step], test::class_s_zetas[step], test::relative_tolerance * figures[0]);
}

TEST(ReproducibleTest, LargerClassesHaveTheSameBitsEverywhere) {
  if (group().size() <= 2 || test::is_campaign())
    expect_same_bits_on_every_grid(test::short_problem("W", 1), 4);
  if (!test::is_campaign() || !is_of_few_ranks())
    GTEST_SKIP() << "classes A and B take 1, 2, 3, 4 and 6 ranks in the campaign";
  for (const auto* name : {"A", "B"}) expect_same_bits_on_every_grid(test::short_problem(name, 1), 1);
}

// ---------------------------------------------------------------- usual sums

/// On many ranks: solver_test.cpp has every transport and kernel on few. One start of the ranks for all their grids: with more ranks than cores
/// MPI takes longer to start them than class S takes. (tests/program/class_grids_test.py starts the program for every grid.)
TEST(AllGridsTest, ClassS) {
  if (is_of_few_ranks()) return;
  const auto& problem = *find_class("S");
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    const auto steps = test::solve(problem, comm::BlockLayout::even(problem.n, grid), {});
    ASSERT_EQ(steps.size(), static_cast<size_t>(problem.niter));
    EXPECT_TRUE(meets_reference(problem, steps.back().zeta));
    test::expect_official_zetas(steps);
  }
}

}  // namespace
}  // namespace cg2d::reproducible_test
