#pragma once

// The product of one rank's block, in one part or in several.

#include <memory>
#include <string_view>

#include "cg/base/process_memory.hpp"
#include "cg/solver/vector_ops.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// The options, with the place of the rank's rows among its columns.
kernels::KernelOptions placed(kernels::KernelOptions options, const comm::BlockLayout& layout, int rank);

/// One rank's block with its kernel, or with one kernel per strip of columns: hands the communicator's
/// vectors over to them. Local, except that it lets the communicator make progress between parts.
class BlockProduct {
 public:
  /// The parts of the column block, each as ranges of columns that are not empty.
  using Parts = std::vector<std::vector<comm::IndexRange>>;

  /// Takes over the block, as the kernel stores it. Every range of columns gets a kernel of its own. Throws
  /// std::bad_alloc.
  BlockProduct(const kernels::KernelRow& kernel, kernels::CsrBlock block, const Parts& parts,
               const kernels::KernelOptions& options);

  /// The whole block with a kernel for so many vectors that is there already: one of the row's, or one that works as such.
  BlockProduct(const kernels::KernelRow& row, std::unique_ptr<kernels::SpmvKernel> kernel,
               int64_t column_count, int vector_count);

  const kernels::KernelRow& kernel() const { return kernel_; }
  /// The instruction set of the loop that runs, e.g. "avx512".
  std::string_view instruction_set() const { return instruction_set_; }
  /// With half storage, which needs a mirrored communicator.
  bool is_symmetric() const { return kernel_.stores_half(); }
  /// Bytes of matrix data that one product reads.
  int64_t matrix_byte_count() const;
  /// The arrays of the matrix data, in the kernel's format; see kernels::SpmvKernel. Cost of the second one: a pass over
  /// the column numbers.
  [[nodiscard]] std::vector<kernels::StoredArray> stored_arrays();
  bool has_columns_in_range() const;
  size_t part_count() const { return part_count_; }

  /// With sums that do not depend on their order; then the communicator's partial sums are the first of two halves.
  bool is_reproducible() const { return most_terms_ > 0.0; }
  /// KernelOptions::most_terms.
  double most_terms() const { return most_terms_; }
  /// Before each product that is reproducible: Operands::p_bound.
  void set_operand_bound(double bound) { operand_bound_ = bound; }
  /// The second halves of the partial sums after a reproducible product, as long as the row block.
  std::span<const double> low_partial() const { return low_partial_; }

  /// Vectors that one product takes at once; then the communicator has a layout with so many elements per row
  /// (comm::BlockLayout::with_elements_times).
  int vector_count() const { return vector_count_; }

  /// The product with one part of the column block, and with the whole row block where it is symmetric, from the communicator's
  /// blocks of p to its partial sums. All parts in their order are the whole product. `collection`: the one that is under way meanwhile, and makes
  /// progress now and then; nullptr: none.
  void multiply_part(size_t part, comm::Communicator& communicator, comm::Collection* collection);
  /// Zeros in place of the whole product, for a block that must not be multiplied.
  void clear(comm::Communicator& communicator) const;

 private:
  /// Some columns of the block.
  struct Strip {
    size_t part = 0;
    comm::IndexRange columns{};
    std::unique_ptr<kernels::SpmvKernel> kernel{};  // none where there are no entries
    kernels::ProductMode mode{};
  };

  const kernels::KernelRow& kernel_;
  int vector_count_;
  double most_terms_;
  double operand_bound_ = 0.0;
  HugePageVector low_partial_;
  size_t part_count_ = 1;
  std::string_view instruction_set_;  // empty until the first kernel is made
  std::vector<Strip> strips_;         // in the order of the parts
};

/// Makes the product in one part, which needs the whole column block. Takes over this rank's block, the whole
/// of it; for a symmetric kernel half of it is dropped. Throws std::bad_alloc.
///
/// overlaps: the block is cut into strips of columns by comm::collection_parts(), so that the product
/// has as many parts as the collection, and begins with the columns that are already here while the rest of
/// the operand is under way. Where a process column has one rank there is nothing to overlap: one part.
///
/// Between shares of a strip the communicator may make progress. The partial sums of the strips are added in
/// the order of the parts, which depends on layout and rank only: neither transport nor timing changes a bit.
/// They are not the bits of the product in one part.
std::unique_ptr<BlockProduct> make_block_product(const kernels::KernelRow& kernel, kernels::CsrBlock block,
                                                 const comm::BlockLayout& layout, int rank,
                                                 const kernels::KernelOptions& options,
                                                 bool overlaps = false);

/// The least work of one product of a rank's block: the matrix, p and q; a multiplication and an addition for each
/// nonzero and vector.
VectorWork work_of_block_product(comm::Communicator& communicator, const BlockProduct& product,
                                 int64_t nonzero_count);

}  // namespace cg2d
