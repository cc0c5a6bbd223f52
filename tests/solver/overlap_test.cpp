// The benchmark's iteration with products that begin before their operand is complete.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cg/solver/npb_iteration.hpp"
#include "support/bits.hpp"
#include "support/layouts.hpp"
#include "support/npb_facts.hpp"
#include "support/npb_reference.hpp"
#include "support/solver_run.hpp"
#include "support/test_extent.hpp"

namespace cg2d::overlap_test {
namespace {

using test::group;
using test::SolverConfig;

/// Class S with fewer steps: faults show in the first two.
Problem short_problem() {
  auto problem = *find_class("S");
  problem.niter = 2;
  return problem;
}

std::vector<double> zetas_of(const std::vector<OuterStep>& steps) {
  std::vector<double> zetas;
  for (const auto& step : steps) zetas.push_back(step.zeta);
  return zetas;
}

void expect_official_zetas(const std::vector<double>& zetas) {
  for (size_t k = 0; k < zetas.size(); ++k) {
    // Another order of additions moves zeta by rounding errors only.
    EXPECT_NEAR(zetas[k], test::class_s_zetas[k], test::relative_tolerance * test::class_s_zetas[k])
        << "outer step " << k + 1;
  }
}

/// visit(layout) for the even cut on every grid of the ranks.
template <typename Visit>
void for_every_grid(const Visit& visit) {
  for (const auto& grid : comm::factorizations(group().size())) {
    SCOPED_TRACE("grid " + grid.name());
    visit(comm::BlockLayout::even(short_problem().n, grid));
  }
}

TEST(OverlapTest, EveryKernelHasTheOfficialZetas) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const auto& kernel : kernels::kernel_table()) {
      if (!kernel.why_unavailable().empty()) continue;
      SCOPED_TRACE("kernel " + std::string(kernel.name));
      expect_official_zetas(
          zetas_of(test::solve(short_problem(), layout, {.kernel = &kernel, .overlaps = true})));
    }
  });
}

TEST(OverlapTest, WithThreads) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"sell", "csr-simd", "symmetric-distinct"}) {
      SCOPED_TRACE("kernel " + std::string(name));
      const SolverConfig config{.kernel = &kernels::kernel_named(name), .thread_count = 2, .overlaps = true};
      const auto zetas = zetas_of(test::solve(short_problem(), layout, config));
      expect_official_zetas(zetas);
      EXPECT_TRUE(test::same_bits(zetas_of(test::solve(short_problem(), layout, config)), zetas));
    }
  });
}

/// Class A is large enough: its strips are multiplied in shares, with work for MPI in between. By default the
/// kernels take turns on the grids.
TEST(OverlapTest, StripsInShares) {
  auto problem = *find_class("A");
  problem.niter = 1;
  const auto grids = comm::factorizations(group().size());
  size_t turn = 0;
  for (const std::string_view name : {"sell", "sell-rows", "csr-simd", "csr-short", "symmetric",
                                      "symmetric-distinct", "symmetric-scalar"}) {
    ++turn;
    for (size_t k = 0; k < grids.size(); ++k) {
      if (!test::is_thorough() && turn % grids.size() != k) continue;
      SCOPED_TRACE("grid " + grids[k].name());
      const auto layout = comm::BlockLayout::even(problem.n, grids[k]);
      SCOPED_TRACE("kernel " + std::string(name));
      const auto whole = test::solve(problem, layout, {.kernel = &kernels::kernel_named(name)});
      const auto overlapped =
          test::solve(problem, layout, {.kernel = &kernels::kernel_named(name), .overlaps = true});
      EXPECT_NEAR(overlapped[0].zeta, whole[0].zeta, test::relative_tolerance * whole[0].zeta);
    }
  }
}

/// Every transport's operand comes in the same parts. Native sums have an order of their own.
TEST(OverlapTest, TransportsHaveTheSameBits) {
  for_every_grid([](const comm::BlockLayout& layout) {
    for (const std::string_view name : {"sell", "symmetric-scalar"}) {
      SCOPED_TRACE("kernel " + std::string(name));
      SolverConfig config{.kernel = &kernels::kernel_named(name), .overlaps = true};
      const auto expected = zetas_of(test::solve(short_problem(), layout, config));
      for (const auto& transport : comm::transport_table()) {
        if (!transport.why_unavailable(group()).empty()) continue;
        SCOPED_TRACE("transport " + std::string(transport.name));
        config.transport = &transport;
        const auto zetas = zetas_of(test::solve(short_problem(), layout, config));
        expect_official_zetas(zetas);
        EXPECT_TRUE(test::same_bits(zetas_of(test::solve(short_problem(), layout, config)), zetas));
        if (transport.counts == comm::CountedTraffic::messages) {
          EXPECT_TRUE(test::same_bits(zetas, expected));
        }
      }
    }
  });
}

TEST(OverlapTest, UnevenAndEmptyPieces) {
  for (const auto& grid : comm::factorizations(group().size())) {
    for (const auto& named : test::layouts_of(short_problem().n, grid)) {
      SCOPED_TRACE(test::describe(named));
      for (const std::string_view kernel : {"sell", "symmetric"}) {
        expect_official_zetas(zetas_of(test::solve(
            short_problem(), named.layout, {.kernel = &kernels::kernel_named(kernel), .overlaps = true})));
      }
    }
  }
}

/// One product on the ranks, for tests of its parts.
struct OneProduct {
  OneProduct(const comm::BlockLayout& layout, std::string_view kernel_name)
      : kernel(kernels::kernel_named(kernel_name)),
        whole(make(layout, false)),
        overlapped(make(layout, true)) {}

  std::unique_ptr<BlockProduct> make(const comm::BlockLayout& layout, bool overlaps) const {
    return make_block_product(kernel, default_source().make(short_problem())->build(layout, group(), 1).block,
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
    NpbIteration solver(matrix, timer, 1, short_problem().shift);
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
