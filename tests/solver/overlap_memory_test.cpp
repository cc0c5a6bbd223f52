// While the strips of a block are made, memory holds no more than the plan of a run predicts.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "cg/solver/block_product.hpp"
#include "cg/tuning/run_plan.hpp"
#include "support/process_memory.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::overlap_memory_test {
namespace {

constexpr int64_t order = 14'000;
constexpr int nonzer =
    20;  // expected are 20 * 21 entries of a row, less those that meet: about as many as here

/// About 33 MB: the rows of one of two process rows, 400 entries each.
kernels::CsrBlock large_csr() { return test::even_csr_block(order / 2, order, 400); }

int64_t planned_block_bytes(const kernels::KernelRow& kernel, const comm::BlockLayout& layout,
                            bool overlaps) {
  Problem problem;
  problem.n = order;
  problem.nonzer = nonzer;
  const Configuration configuration{.kernel = std::string(kernel.name), .overlaps = overlaps};
  return plan_memory(*default_source().make(problem), configuration, layout, 0).block_bytes;
}

TEST(OverlapMemoryTest, StripsTakeWhatThePlanSays) {
  if (!test::reset_peak()) GTEST_SKIP() << "this system does not let a process count its peak memory anew";
  const auto layout = comm::BlockLayout::even(order, {.columns = 1, .rows = 2});
  // Counters of resident memory are exact to some pages per processor, and the heap grows.
  constexpr int64_t slack = 3'000'000;
  for (const auto& kernel : kernels::kernel_table()) {
    if (!kernel.why_unavailable().empty()) continue;
    SCOPED_TRACE(kernel.name);
    const auto before = test::resident_bytes_now();
    auto block = large_csr();
    const auto csr_bytes = block.byte_count();
    EXPECT_TRUE(test::reset_peak());
    const auto product = make_block_product(kernel, std::move(block), layout, 0, {}, true);
    const auto peak = test::peak_bytes_since_reset() - before;
    // Formats fill up some rows.
    const auto planned = static_cast<double>(planned_block_bytes(kernel, layout, true));
    EXPECT_GE(peak, csr_bytes - slack);
    EXPECT_LE(static_cast<double>(peak), 1.1 * planned + slack);
    EXPECT_GE(planned, static_cast<double>(planned_block_bytes(kernel, layout, false)));
    EXPECT_NEAR(static_cast<double>(test::resident_bytes_now() - before),
                static_cast<double>(product->matrix_byte_count()), slack);
  }
}

}  // namespace
}  // namespace cg2d::overlap_memory_test
