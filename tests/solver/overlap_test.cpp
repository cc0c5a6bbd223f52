// The benchmark's iteration with products that begin before their operand is complete.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/solver/npb_iteration.hpp"
#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::overlap_test {
namespace {

using test::group;
using test::SolverConfig;

/// Class S with fewer steps: faults show in the first two.
const Problem& problem() {
  static const Problem two_steps = test::short_problem("S", 2);
  return two_steps;
}

std::vector<OuterStep> overlapped_solve(const comm::BlockLayout& layout, SolverConfig config) {
  config.overlaps = true;
  SCOPED_TRACE(test::describe(config));
  auto steps = test::solve(problem(), layout, config);
  test::expect_official_zetas(steps);
  return steps;
}

/// visit(layout) for the even cut on every grid of the ranks.
template <typename Visit>
void for_every_grid(const Visit& visit) {
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    visit(comm::BlockLayout::even(problem().n, grid));
  }
}

TEST(OverlapTest, EveryKernelHasTheOfficialZetas) {
  test::for_every_layout(problem().n, group().size(), [](const test::NamedLayout& named) {
    for (const auto* kernel : test::usable_kernels()) {
      // Uneven and empty pieces.
      if (named.name != "even" && kernel->name != "sell" && kernel->name != "symmetric") continue;
      overlapped_solve(named.layout, {.kernel = kernel});
    }
  });
}

/// Class A is large enough: its strips are multiplied in shares, with work for MPI in between. By default the
/// kernels take turns on the grids.
TEST(OverlapTest, StripsInShares) {
  const auto class_a = test::short_problem("A", 1);
  const auto grids = comm::factorizations(group().size());
  size_t turn = 0;
  for (const std::string_view name : {"sell", "sell-rows", "csr-simd", "csr-short", "symmetric",
                                      "symmetric-distinct", "symmetric-scalar"}) {
    ++turn;
    for (size_t k = 0; k < grids.size(); ++k) {
      if (!test::is_thorough() && turn % grids.size() != k) continue;
      SCOPED_TRACE("grid " + grids[k].name());
      const auto layout = comm::BlockLayout::even(class_a.n, grids[k]);
      SCOPED_TRACE("kernel " + std::string(name));
      const auto whole = test::solve(class_a, layout, {.kernel = &kernels::kernel_named(name)});
      const auto overlapped =
          test::solve(class_a, layout, {.kernel = &kernels::kernel_named(name), .overlaps = true});
      EXPECT_NEAR(overlapped[0].zeta, whole[0].zeta, test::relative_tolerance * whole[0].zeta);
    }
  }
}

/// Every transport's operand comes in the same parts, also with threads. Native sums have an order of their own.
TEST(OverlapTest, TransportsHaveTheSameBits) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"sell", "symmetric-scalar"}) {
      SolverConfig config{.kernel = &kernels::kernel_named(name), .thread_count = name == "sell" ? 2 : 1};
      const auto expected = test::figures_of(overlapped_solve(layout, config));
      for (const auto* transport : test::usable_transports()) {
        config.transport = transport;
        const auto figures = test::figures_of(overlapped_solve(layout, config));
        EXPECT_TRUE(test::same_bits(test::figures_of(overlapped_solve(layout, config)), figures)) << name;
        if (transport->follows_schedules()) {
          EXPECT_TRUE(test::same_bits(figures, expected)) << name << ", " << transport->name;
        }
      }
    }
  });
}

}  // namespace
}  // namespace cg2d::overlap_test
