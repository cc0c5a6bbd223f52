#include "cg/overlapped_product.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/column_strips.hpp"
#include "cg/half_storage.hpp"
#include "cg/vector_ops.hpp"
#include "comm/huge_page_vector.hpp"
#include "comm/schedule.hpp"
#include "kernels/half_spmv.hpp"

namespace cg2d {
namespace {

/// The columns of the range, as the offset of a vector over all columns of the block.
template <typename T>
std::span<T> part_of(std::span<T> vector, const comm::IndexRange& columns) {
  return vector.subspan(static_cast<std::size_t>(columns.begin), static_cast<std::size_t>(columns.size()));
}

/// Kernel: SpmvKernel, or HalfSpmvKernel for symmetric storage.
template <typename Kernel>
class OverlappedProduct final : public BlockProduct {
 public:
  /// make(strip): a kernel for it.
  template <typename MakeKernel>
  OverlappedProduct(kernels::CsrBlock block, const std::vector<std::vector<comm::IndexRange>>& parts,
                    int thread_count, const MakeKernel& make)
      : vectors_(thread_count) {
    for (const auto& ranges : parts) {
      parts_.emplace_back();
      for (const auto& columns : ranges) {
        auto strip = take_columns(block, columns);
        // Strips without entries take part only for the columns that they have.
        add(columns, strip.nonzero_count() > 0 ? make(std::move(strip)) : nullptr);
      }
    }
    if (kernel_count_ > 1) scratch_.resize(static_cast<std::size_t>(block.row_count));
    // Of a block without entries: a kernel that fills the partial sums with zeros.
    if (kernel_count_ == 0) {
      block.column_count = 0;
      add({}, make(std::move(block)));
    }
  }

  [[nodiscard]] std::string_view kernel_name() const override { return kernel_name_; }
  [[nodiscard]] std::string_view instruction_set() const override { return instruction_set_; }
  [[nodiscard]] bool is_symmetric() const override { return is_half; }
  [[nodiscard]] std::int64_t matrix_byte_count() const override {
    std::int64_t bytes = 0;
    for (const auto& part : parts_) {
      for (const auto& strip : part) bytes += strip.kernel ? strip.kernel->matrix_byte_count() : 0;
    }
    return bytes;
  }
  [[nodiscard]] std::size_t part_count() const override { return parts_.size(); }

  void multiply(comm::Communicator& communicator) override {
    for (std::size_t part = 0; part < parts_.size(); ++part) multiply_part(part, communicator);
  }

  void multiply_part(std::size_t part, comm::Communicator& communicator) override {
    for (auto& strip : parts_[part]) {
      if (!strip.kernel) {
        if constexpr (is_half) std::ranges::fill(part_of(communicator.column_partial(), strip.columns), 0.0);
        continue;
      }
      const auto sums = communicator.partial();
      if (!strip.is_added) {
        multiply_strip(strip, communicator, sums);
        continue;
      }
      // Kernels overwrite. The addition moves 40 bytes per row and strip, within the second-level cache in
      // all classes up to C (class B on 1x4: 1.5 MB for a product, beside 36 MB of matrix from memory).
      multiply_strip(strip, communicator, scratch_);
      vectors_.add_scaled(1.0, scratch_, sums);
    }
  }

 private:
  static constexpr bool is_half = std::is_same_v<Kernel, kernels::HalfSpmvKernel>;

  /// Some columns of the block.
  struct Strip {
    comm::IndexRange columns;
    std::unique_ptr<Kernel> kernel;  // none where there are no entries
    bool is_added = false;           // to what the strips before it have left
  };

  void multiply_strip(Strip& strip, comm::Communicator& communicator, std::span<double> sums) {
    const auto operand = part_of(communicator.column_block(), strip.columns);
    if constexpr (is_half) {
      strip.kernel->multiply({.p_columns = operand,
                              .p_rows = communicator.row_block(),
                              .q_rows = sums,
                              .q_columns = part_of(communicator.column_partial(), strip.columns)});
    } else {
      strip.kernel->multiply(operand, sums);
    }
  }

  /// To the last part so far.
  void add(const comm::IndexRange& columns, std::unique_ptr<Kernel> kernel) {
    const bool is_added = kernel_count_ > 0;
    if (kernel) {
      kernel_name_ = kernel->name();
      instruction_set_ = kernel->instruction_set();
      ++kernel_count_;
    }
    parts_.back().push_back({.columns = columns, .kernel = std::move(kernel), .is_added = is_added});
  }

  std::vector<std::vector<Strip>> parts_;
  int kernel_count_ = 0;
  std::string_view kernel_name_;
  std::string_view instruction_set_;
  VectorOps vectors_;
  comm::HugePageVector scratch_;  // partial sums of one strip
};

}  // namespace

std::unique_ptr<BlockProduct> make_overlapped_product(const KernelInfo& kernel, kernels::CsrBlock block,
                                                      const comm::BlockLayout& layout, int rank,
                                                      const kernels::KernelOptions& options) {
  const auto grid = layout.grid();
  if (grid.rows == 1) return make_block_product(kernel, std::move(block), layout, rank, options);
  const auto parts = comm::collection_parts(layout, rank);
  if (!kernel.is_symmetric) {
    return std::make_unique<OverlappedProduct<kernels::SpmvKernel>>(
        std::move(block), parts, options.thread_count, [&](kernels::CsrBlock strip) {
          return kernels::find_kernel(kernel.name)->make(std::move(strip), options);
        });
  }
  keep_half(block, layout.row_block(grid.row_of(rank)), layout.column_block(grid.column_of(rank)),
            HalfStorageRule(layout.size(), grid));
  return std::make_unique<OverlappedProduct<kernels::HalfSpmvKernel>>(
      std::move(block), parts, options.thread_count, [&](kernels::CsrBlock strip) {
        return kernels::find_half_kernel(kernel.name)->make(std::move(strip), options);
      });
}

}  // namespace cg2d
