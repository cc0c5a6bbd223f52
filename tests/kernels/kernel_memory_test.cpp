// While a kernel makes its format, memory holds the block and the format for a moment, and nothing else of
// that size; afterwards the block is freed.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"
#include "support/process_memory.hpp"
#include "support/random_blocks.hpp"

namespace cg2d::kernels::kernel_memory_test {
namespace {

using test::peak_bytes_since_reset;
using test::reset_peak;
using test::resident_bytes_now;

/// 33.7 MB: rows of 200 entries, about as many in every column block.
CsrBlock large_csr() { return test::even_csr_block(14'000, 14'000, 200); }

/// All sizes are relative to the resident memory before the block was made.
struct Footprint {
  int64_t csr = 0;
  int64_t format = 0;  ///< by the kernel's own account
  int64_t peak = 0;    ///< resident, at most, from the finished block on
  int64_t after = 0;   ///< resident, with the finished kernel
};

Footprint footprint_of(const KernelRow& row, int thread_count) {
  const auto before = resident_bytes_now();
  auto block = large_csr();
  Footprint footprint{.csr = block.byte_count()};
  EXPECT_TRUE(reset_peak());
  const auto kernel = row.make(std::move(block), {.thread_count = thread_count});
  footprint.peak = peak_bytes_since_reset() - before;
  footprint.after = resident_bytes_now() - before;
  footprint.format = kernel->matrix_byte_count();
  return footprint;
}

TEST(KernelMemoryTest, BlockAndFormatAndNothingElse) {
  if (!reset_peak()) GTEST_SKIP() << "this system does not let a process count its peak memory anew";
  // Counters of resident memory are exact to some pages per processor; thread stacks and the heap grow.
  constexpr int64_t slack = 3'000'000;
  constexpr double most = 1.3;
  for (const auto& row : kernel_table()) {
    for (const int thread_count : {1, 2}) {
      SCOPED_TRACE(std::string(row.name) + ", threads: " + std::to_string(thread_count));
      const auto footprint = footprint_of(row, thread_count);
      EXPECT_GE(footprint.csr, 30'000'000);
      const auto needed = footprint.csr + (row.converts ? footprint.format : 0);
      EXPECT_LE(static_cast<double>(footprint.peak), most * static_cast<double>(needed));
      EXPECT_GE(footprint.peak, needed - slack) << "what is measured does not hold what must be there";
      EXPECT_NEAR(static_cast<double>(footprint.after), static_cast<double>(footprint.format), slack);
    }
  }
}

}  // namespace
}  // namespace cg2d::kernels::kernel_memory_test
