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

TEST(KernelMemoryTest, BlockAndFormatAndNothingElse) {
  if (!reset_peak()) GTEST_SKIP() << "this system does not let a process count its peak memory anew";
  // Counters of resident memory are exact to some pages per processor; thread stacks and the heap grow.
  constexpr int64_t slack = 3'000'000;
  constexpr double most = 1.3;
  for (const auto& row : kernel_table()) {
    for (const int thread_count : {1, 2}) {
      SCOPED_TRACE(std::string(row.name) + ", threads: " + std::to_string(thread_count));
      const auto before = resident_bytes_now();
      auto block = test::even_csr_block(14'000, 14'000, 200);  // about as many in every column block
      const auto csr_bytes = block.byte_count();
      EXPECT_GE(csr_bytes, 30'000'000);
      EXPECT_TRUE(reset_peak());
      const auto kernel = row.make(std::move(block), {.thread_count = thread_count});
      const auto peak = peak_bytes_since_reset() - before;
      const auto after = resident_bytes_now() - before;
      const auto format_bytes = kernel->matrix_byte_count();
      const auto needed = csr_bytes + (row.converts ? format_bytes : 0);
      EXPECT_LE(static_cast<double>(peak), most * static_cast<double>(needed));
      EXPECT_GE(peak, needed - slack) << "what is measured does not hold what must be there";
      EXPECT_NEAR(static_cast<double>(after), static_cast<double>(format_bytes), slack);
    }
  }
}

}  // namespace
}  // namespace cg2d::kernels::kernel_memory_test
