// Memory lies near the thread that touches it first, which must be the thread that uses it; and the strips of a block take what the plan says.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cg/solver/assembled_operator.hpp"
#include "cg/tuning/run_plan.hpp"
#include "kernels/spmv.hpp"
#include "support/mpi_test.hpp"
#include "support/npb_reference.hpp"
#include "support/process_memory.hpp"
#include "support/random_blocks.hpp"
#include "support/solver_run.hpp"

namespace cg2d::first_touch_test {
namespace {

// While strips are made, memory holds no more than the plan of a run predicts. First: the heap is as the start of the process left it.

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

// The windows of a format in column blocks take memory whether they have entries or not: with short rows more than the entries.
TEST(FormatMemoryTest, FormatsOfShortRowsTakeWhatThePlanSays) {
  constexpr int64_t n = 1'000'000;
  const auto layout = comm::BlockLayout::even(n, {.columns = 1, .rows = 1});
  for (const auto* name : {"csr-short", "sell"}) {
    SCOPED_TRACE(name);
    const auto plan =
        plan_memory({.key = {.order = n}, .nonzero_count = double{n}}, 0, {.kernel = name}, layout, 0);
    const auto product =
        make_block_product(kernels::kernel_named(name), test::even_csr_block(n, n, 1), layout, 0, {});
    EXPECT_LE(static_cast<double>(product->matrix_byte_count()),
              1.1 * static_cast<double>(plan.format_bytes));
    EXPECT_GT(plan.block_bytes, plan.format_bytes);
  }
}

// ---------------------------------------------------------------- first touch

constexpr int thread_count = 3;

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/// Number of pages that each thread of a team was the first to touch in `work`, by its faults.
std::vector<int64_t> touched_pages(const std::function<void()>& work) {
  std::vector<int64_t> faults(thread_count);
  const auto count = [&](int sign) {
#pragma omp parallel num_threads(thread_count)
    {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      faults[static_cast<size_t>(omp_get_thread_num())] += sign * usage.ru_minflt;
    }
  };
  count(+1);  // the threads exist, and have allocated their own memory
  count(-1);
  count(-1);
  work();
  count(+1);
  return faults;
}

class FirstTouchTest : public testing::Test {
 protected:
  /// One fault for each small page, wherever it is.
  static void SetUpTestSuite() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  static void TearDownTestSuite() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
};

TEST_F(FirstTouchTest, EachThreadMakesItsPartOfAKernelsFormat) {
  auto problem = test::custom_problem(6000, 5, 10.0, 1);
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  for (const auto& kernel : kernels::kernel_table()) {
    SCOPED_TRACE(std::string(kernel.name));
    // Generated on one thread, which has touched all of it.
    auto block = default_source().make(problem)->build(layout, test::group(), 1).block;
    std::unique_ptr<BlockProduct> product;
    const auto pages = touched_pages([&] {
      product = make_block_product(kernel, std::move(block), layout, 0, {.thread_count = thread_count});
    });
    const auto share = product->matrix_byte_count() / thread_count / static_cast<int64_t>(page_size());
    EXPECT_GE(share, 20);
    for (const auto count : pages) EXPECT_GE(count, share / 2);
  }
}

TEST_F(FirstTouchTest, EachThreadTouchesItsPartOfTheSolversVectors) {
  auto problem = test::custom_problem(100'000, 1, 10.0, 1);
  const auto layout = comm::BlockLayout::even(problem.n, {.columns = 1, .rows = 1});
  for (const auto* name : {"sell", "symmetric"}) {
    SCOPED_TRACE(name);
    const auto matrix = test::assembled(default_source().make(problem)->build(layout, test::group(), 1).block,
                                        layout, {.kernel = name, .thread_count = thread_count});
    const auto share =
        static_cast<int64_t>(static_cast<size_t>(problem.n) * sizeof(double) / thread_count / page_size());
    std::unique_ptr<NpbIteration> solver;
    const auto pages_of_x =
        touched_pages([&] { solver = std::make_unique<NpbIteration>(*matrix, problem.shift); });
    const auto others = touched_pages([&] { static_cast<void>(solver->outer_step()); });
    for (const auto count : pages_of_x) EXPECT_GE(count, share - 2);
    for (const auto count : others) EXPECT_GE(count, 4 * (share - 2)) << "z, r, p and q";
  }
}

}  // namespace
}  // namespace cg2d::first_touch_test
