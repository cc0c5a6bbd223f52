#pragma once

// The product of one block with its part of a vector: the interface of all kernels, and their table.

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cpu_features.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// How a product is made.
struct ProductMode {
  bool is_added = false;  ///< to what q holds, which is overwritten otherwise
  /// Which of `share_count` shares to make. All of them, one after the other, are the product: q is whole
  /// behind the last. About equal where the kernel's format can be cut so; some may be empty.
  int share = 0;
  int share_count = 1;
};

/// Of `count` things, those that are in the share.
struct ShareRange {
  std::int64_t begin;
  std::int64_t end;

  ShareRange(std::int64_t count, const ProductMode& mode)
      : begin(count * mode.share / mode.share_count), end(count * (mode.share + 1) / mode.share_count) {}
};

/// q = A p, or q += A p, for one block. Not thread-safe; uses as many OpenMP threads as it was made for.
class SpmvKernel {
 public:
  SpmvKernel() = default;
  virtual ~SpmvKernel() = default;
  SpmvKernel(const SpmvKernel&) = delete;
  SpmvKernel& operator=(const SpmvKernel&) = delete;
  SpmvKernel(SpmvKernel&&) = delete;
  SpmvKernel& operator=(SpmvKernel&&) = delete;

  /// The kernel's name, as in the table.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Which of its loops runs on this processor, e.g. "avx512".
  [[nodiscard]] virtual std::string_view instruction_set() const = 0;
  /// p: column_count doubles; q: row_count doubles, overwritten; they must not overlap. Repeats its bits.
  void multiply(std::span<const double> p, std::span<double> q) { multiply(p, q, {}); }
  /// The same, added to what q holds, or a share of it. The bits do not depend on the number of shares.
  virtual void multiply(std::span<const double> p, std::span<double> q, const ProductMode& mode) = 0;
  /// Bytes of matrix data that one multiply reads.
  [[nodiscard]] virtual std::int64_t matrix_byte_count() const = 0;
};

/// What can be tuned to a machine. In options: what is left empty is the kernel's own choice, and what it
/// does not know it leaves alone. In a table: the kernel's own choice, empty where it has no such setting.
struct Tuning {
  std::optional<int> critical_vector_length{};  // rows with fewer entries take the scalar loop; >= 0
  std::optional<int> prefetch_distance{};       // in entries; >= 0
  std::optional<int> block_width{};             // columns of a column block; see is_block_width
};

/// The number of columns that 16 bits tell apart.
constexpr int max_block_width = 1 << 16;

/// A power of two from 2^6 to 2^16.
constexpr bool is_block_width(int width) {
  return 1 << 6 <= width && width <= max_block_width && std::has_single_bit(static_cast<unsigned>(width));
}

/// How a kernel is to work.
struct KernelOptions {
  int thread_count = 1;  // OpenMP threads, >= 1
  Tuning tuning{};
  std::optional<InstructionSet>
      instruction_set{};  // of KernelRow::instruction_sets; empty: the kernel's choice
};

/// One kernel. A new one is one file that defines a row, and its entry in kernel_table().
struct KernelRow {
  std::string_view name;
  std::string_view description;
  double bytes_per_nonzero;  ///< of matrix data that a product moves, about
  bool converts;             ///< its format is made from the CSR, and for a moment both are there
  Tuning defaults;
  std::vector<InstructionSet> instruction_sets;  ///< of its loops, those that run on this processor
  /// Why the kernel can't serve on this processor; empty when it can.
  std::string (*why_unavailable)();
  /// Takes the block over. Throws std::bad_alloc, and std::invalid_argument for an instruction set that is
  /// not in the row.
  std::unique_ptr<SpmvKernel> (*make)(CsrBlock block, const KernelOptions& options);
};

/// All kernels; the first one is the reference.
std::span<const KernelRow> kernel_table();
/// The row of that name, or nullptr.
const KernelRow* find_kernel(std::string_view name);
/// What "auto" stands for on this processor.
const KernelRow& default_kernel();

}  // namespace cg2d::kernels
