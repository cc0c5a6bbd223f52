#include "cg/solver/overlapped_product.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cg/matrix/column_strips.hpp"
#include "cg/matrix/half_storage.hpp"
#include "comm/schedule.hpp"
#include "kernels/half_spmv.hpp"

namespace cg2d {
namespace {

/// A strip is multiplied in shares of about so many entries, some 50 us each, and between them the
/// communicator may work: data that MPI passes on or copies only inside of its calls is not left until the
/// end.
constexpr std::int64_t entries_per_share = 1 << 17;

/// The elements of the range of a vector over all rows, or columns, of the block.
template <typename T>
std::span<T> part_of(std::span<T> vector, const comm::IndexRange& range) {
  return vector.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

/// Kernel: SpmvKernel, or HalfSpmvKernel for symmetric storage.
template <typename Kernel>
class OverlappedProduct final : public BlockProduct {
 public:
  /// make(strip): a kernel for it.
  template <typename MakeKernel>
  OverlappedProduct(kernels::CsrBlock block, const std::vector<std::vector<comm::IndexRange>>& parts,
                    const MakeKernel& make) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      parts_.emplace_back();
      for (const auto& columns : parts[part]) {
        auto entries = take_columns(block, columns);
        Strip strip{.columns = columns, .is_added = has_kernels()};
        // Strips without entries take part only for the columns that they have.
        if (const auto count = entries.nonzero_count(); count > 0) {
          // After the last part nothing is under way.
          if (part + 1 < parts.size())
            strip.share_count = static_cast<int>((count + entries_per_share - 1) / entries_per_share);
          strip.kernel = keep(make(std::move(entries)));
        }
        parts_.back().push_back(std::move(strip));
      }
    }
    // A block without entries gets a kernel that fills the partial sums with zeros.
    if (has_kernels()) return;
    block.column_count = 0;
    parts_.back().push_back({.kernel = keep(make(std::move(block)))});
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
      if (strip.kernel) {
        multiply_strip(strip, communicator);
      } else if constexpr (is_half) {
        std::ranges::fill(part_of(communicator.column_partial(), strip.columns), 0.0);
      }
    }
  }

 private:
  static constexpr bool is_half = std::is_same_v<Kernel, kernels::HalfSpmvKernel>;

  /// Some columns of the block.
  struct Strip {
    comm::IndexRange columns{};
    std::unique_ptr<Kernel> kernel{};  // none where there are no entries
    int share_count = 1;
    bool is_added = false;  // to what the strips before it have left
  };

  [[nodiscard]] bool has_kernels() const { return !kernel_name_.empty(); }

  std::unique_ptr<Kernel> keep(std::unique_ptr<Kernel> kernel) {
    kernel_name_ = kernel->name();
    instruction_set_ = kernel->instruction_set();
    return kernel;
  }

  void multiply_strip(Strip& strip, comm::Communicator& communicator) {
    const auto operand = part_of(communicator.column_block(), strip.columns);
    const auto sums = communicator.partial();
    if constexpr (is_half) {
      strip.kernel->multiply({.p_columns = operand,
                              .p_rows = communicator.row_block(),
                              .q_rows = sums,
                              .q_columns = part_of(communicator.column_partial(), strip.columns),
                              .adds_to_rows = strip.is_added});
      communicator.progress();
    } else {
      for (int share = 0; share < strip.share_count; ++share) {
        strip.kernel->multiply(
            operand, sums, {.is_added = strip.is_added, .share = share, .share_count = strip.share_count});
        communicator.progress();
      }
    }
  }

  std::vector<std::vector<Strip>> parts_;
  std::string_view kernel_name_;
  std::string_view instruction_set_;
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
        std::move(block), parts, [&](kernels::CsrBlock strip) {
          return kernels::find_kernel(kernel.name)->make(std::move(strip), options);
        });
  }
  keep_half(block, layout.row_block(grid.row_of(rank)), layout.column_block(grid.column_of(rank)),
            HalfStorageRule(layout.size(), grid));
  return std::make_unique<OverlappedProduct<kernels::HalfSpmvKernel>>(
      std::move(block), parts, [&](kernels::CsrBlock strip) {
        return kernels::find_half_kernel(kernel.name)->make(std::move(strip), options);
      });
}

}  // namespace cg2d
