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
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const auto* kernel : test::usable_kernels()) overlapped_solve(layout, {.kernel = kernel});
  });
}

TEST(OverlapTest, WithThreads) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"sell", "csr-simd", "symmetric-distinct"}) {
      const SolverConfig config{.kernel = &kernels::kernel_named(name), .thread_count = 2};
      const auto figures = test::figures_of(overlapped_solve(layout, config));
      EXPECT_TRUE(test::same_bits(test::figures_of(overlapped_solve(layout, config)), figures)) << name;
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

/// Every transport's operand comes in the same parts. Native sums have an order of their own.
TEST(OverlapTest, TransportsHaveTheSameBits) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"sell", "symmetric-scalar"}) {
      SolverConfig config{.kernel = &kernels::kernel_named(name)};
      const auto expected = test::figures_of(overlapped_solve(layout, config));
      for (const auto* transport : test::usable_transports()) {
        config.transport = transport;
        const auto figures = test::figures_of(overlapped_solve(layout, config));
        EXPECT_TRUE(test::same_bits(test::figures_of(overlapped_solve(layout, config)), figures)) << name;
        if (transport->counts == comm::CountedTraffic::messages) {
          EXPECT_TRUE(test::same_bits(figures, expected)) << name << ", " << transport->name;
        }
      }
    }
  });
}

TEST(OverlapTest, UnevenAndEmptyPieces) {
  test::for_every_layout(problem().n, group().size(), [](const test::NamedLayout& named) {
    for (const std::string_view kernel : {"sell", "symmetric"})
      overlapped_solve(named.layout, {.kernel = &kernels::kernel_named(kernel)});
  });
}

/// One product on the ranks, for tests of its parts.
struct OneProduct {
  OneProduct(const comm::BlockLayout& layout, std::string_view kernel_name)
      : kernel(kernels::kernel_named(kernel_name)),
        whole(make(layout, false)),
        overlapped(make(layout, true)) {}

  std::unique_ptr<BlockProduct> make(const comm::BlockLayout& layout, bool overlaps) const {
    return make_block_product(kernel, default_source().make(problem())->build(layout, group(), 1).block,
                              layout, group().rank(), {}, overlaps);
  }

  const kernels::KernelRow& kernel;
  std::unique_ptr<BlockProduct> whole;
  std::shared_ptr<BlockProduct> overlapped;
};

TEST(OverlapTest, TheProductHasThePartsOfTheCollection) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"scalar", "symmetric-scalar"}) {
      const OneProduct product(layout, name);
      EXPECT_EQ(product.whole->part_count(), 1U);
      EXPECT_EQ(product.overlapped->part_count(), comm::collection_parts(layout, group().rank()).size());
      EXPECT_EQ(product.overlapped->kernel().name, name);
      EXPECT_EQ(product.overlapped->is_symmetric(), product.kernel.stores_half());
      // Strips hold the entries of the whole block; each strip has starts for all rows of its own.
      const auto starts = static_cast<int64_t>(sizeof(int64_t)) *
                          (layout.row_block(layout.grid().row_of(group().rank())).size() + 1);
      EXPECT_EQ((product.overlapped->matrix_byte_count() - product.whole->matrix_byte_count()) % starts, 0);
    }
  });
}

TEST(OverlapTest, TellsTheClocksOfProductsWhileTheOperandIsUnderWay) {
  for_every_grid([](const comm::BlockLayout& layout) {
    OneProduct product(layout, "sell");
    const std::shared_ptr communicator = comm::transport_table().front().make(group(), layout, {});
    PhaseTimer timer(true, *communicator);
    AssembledOperator matrix(product.overlapped, communicator, group(), 1, false, &timer);
    NpbIteration solver(matrix, timer, 1, problem().shift);
    static_cast<void>(solver.outer_step());
    const auto of = [&](Phase phase) { return timer.records()[static_cast<size_t>(phase)]; };
    const auto part_count = product.overlapped->part_count();
    constexpr uint64_t product_count = 26;
    // The last one waits until the messages of this rank have been sent.
    EXPECT_EQ(of(Phase::collection).calls, product_count * (part_count > 1 ? part_count + 1 : 1));
    EXPECT_EQ(of(Phase::multiply).calls, product_count * part_count);
    EXPECT_EQ(of(Phase::summation).calls, product_count);
    // Products after the last part hide no communication.
    EXPECT_EQ(of(Phase::collection).hidden_clocks > 0, part_count > 1);
    EXPECT_LT(of(Phase::collection).hidden_clocks, of(Phase::multiply).clocks);
    EXPECT_EQ(of(Phase::multiply).hidden_clocks, 0U);
    const auto planned = comm::collection_traffic(layout, group().rank());
    EXPECT_EQ(communicator->sent(comm::Operation::collect).byte_count,
              static_cast<int64_t>(product_count) * planned.byte_count);
  });
}

}  // namespace
}  // namespace cg2d::overlap_test
