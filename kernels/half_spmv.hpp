#pragma once

// The product of one block of a symmetric matrix of which only one entry of each mirrored pair is stored: the
// interface of all such kernels, and their table.
//
// An entry a at (row, column) of the block stands for itself and for its mirror, which belongs to another
// block unless the whole matrix is one: q[row] += a p[column] and q[column] += a p[row]. So a block needs p
// over its columns and its rows, and adds to q over both. An entry on the diagonal of the whole matrix is its
// own mirror: it is stored as a / 2, which is exact, and both halves are added.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d::kernels {

/// No two of them may overlap, but p_columns and p_rows.
struct HalfOperands {
  std::span<const double> p_columns;  // column_count
  std::span<const double> p_rows;     // row_count
  std::span<double> q_rows;           // row_count, overwritten or added to
  std::span<double> q_columns;        // column_count, overwritten
  bool adds_to_rows = false;
};

/// q_rows = A p_columns, or added to it, and q_columns = A^T p_rows for one block. Not thread-safe; uses as
/// many OpenMP threads as it was made for.
class HalfSpmvKernel {
 public:
  HalfSpmvKernel() = default;
  virtual ~HalfSpmvKernel() = default;
  HalfSpmvKernel(const HalfSpmvKernel&) = delete;
  HalfSpmvKernel& operator=(const HalfSpmvKernel&) = delete;
  HalfSpmvKernel(HalfSpmvKernel&&) = delete;
  HalfSpmvKernel& operator=(HalfSpmvKernel&&) = delete;

  /// The kernel's name, as in the table.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Which of its loops runs on this processor, e.g. "fma".
  [[nodiscard]] virtual std::string_view instruction_set() const = 0;
  /// Repeats its bits.
  virtual void multiply(const HalfOperands& operands) = 0;
  /// Bytes of matrix data that one multiply reads.
  [[nodiscard]] virtual std::int64_t matrix_byte_count() const = 0;
};

/// One kernel. A new one is one file that defines a row, and its entry in half_kernel_table().
struct HalfKernelRow {
  std::string_view name;
  std::string_view description;
  double bytes_per_nonzero;  ///< of matrix data that a product moves, about; an entry and its mirror are two
  bool converts;             ///< its format is made from the CSR, and for a moment both are there
  Tuning defaults;
  std::vector<InstructionSet> instruction_sets;  ///< of its loops, those that run on this processor
  /// Why the kernel can't serve on this processor; empty when it can.
  std::string (*why_unavailable)();
  /// Takes the block over. Throws std::bad_alloc, and std::invalid_argument for an instruction set that is
  /// not in the row.
  std::unique_ptr<HalfSpmvKernel> (*make)(CsrBlock block, const KernelOptions& options);
};

/// All kernels; the first one is the reference.
std::span<const HalfKernelRow> half_kernel_table();
/// The row of that name, or nullptr.
const HalfKernelRow* find_half_kernel(std::string_view name);

}  // namespace cg2d::kernels
