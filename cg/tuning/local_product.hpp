#pragma once

// A product on one rank alone, for measurements.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cg/matrix/random_stream.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// Numbers in (0.5, 1.5), the same in every run.
inline std::vector<double> operand_of(std::int64_t size) {
  RandomStream stream;
  std::vector<double> p(static_cast<std::size_t>(size));
  for (double& value : p) value = 0.5 + RandomStream::number(stream.next());
  return p;
}

/// The block is as the kernel stores it.
class LocalProduct {
 public:
  LocalProduct(const kernels::KernelRow& kernel, kernels::CsrBlock block, int thread_count,
               const kernels::Tuning& tuning)
      : p_columns_(operand_of(block.column_count)),
        p_rows_(operand_of(kernel.stores_half() ? block.row_count : 0)),
        q_rows_(static_cast<std::size_t>(block.row_count)),
        q_columns_(static_cast<std::size_t>(kernel.stores_half() ? block.column_count : 0)),
        kernel_(kernel.make(std::move(block), {.thread_count = thread_count, .tuning = tuning})) {}

  void multiply() {
    kernel_->multiply(
        {.p_columns = p_columns_, .p_rows = p_rows_, .q_rows = q_rows_, .q_columns = q_columns_});
  }

 private:
  std::vector<double> p_columns_;
  std::vector<double> p_rows_;
  std::vector<double> q_rows_;
  std::vector<double> q_columns_;
  std::unique_ptr<kernels::SpmvKernel> kernel_;
};

}  // namespace cg2d
