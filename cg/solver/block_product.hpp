#pragma once

// One rank's block with its kernel, whole or half-stored: what the rest of the program need not tell apart.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "kernels/csr_block.hpp"
#include "kernels/spmv.hpp"

namespace cg2d {

/// A row of either table of kernels, as far as the choice of one goes.
struct KernelInfo {
  std::string_view name;
  std::string_view description;
  double bytes_per_nonzero = 0.0;  ///< of matrix data that a product moves, about
  bool converts = false;           ///< its format is made from the CSR, and for a moment both are there
  bool is_symmetric = false;       ///< stores one entry of each mirrored pair; needs a mirrored communicator
  kernels::Tuning defaults;
  std::string (*why_unavailable)() = nullptr;
};

/// All kernels: those on whole blocks, then those on half-stored ones.
std::vector<KernelInfo> all_kernels();
/// The kernel of that name, or nothing.
std::optional<KernelInfo> find_kernel_info(std::string_view name);
/// The kernel of that name; it must be there.
KernelInfo kernel_info(std::string_view name);

class BlockProduct {
 public:
  BlockProduct() = default;
  virtual ~BlockProduct() = default;
  BlockProduct(const BlockProduct&) = delete;
  BlockProduct& operator=(const BlockProduct&) = delete;
  BlockProduct(BlockProduct&&) = delete;
  BlockProduct& operator=(BlockProduct&&) = delete;

  [[nodiscard]] virtual std::string_view kernel_name() const = 0;
  [[nodiscard]] virtual std::string_view instruction_set() const = 0;
  [[nodiscard]] virtual bool is_symmetric() const = 0;
  /// Bytes of matrix data that one product reads.
  [[nodiscard]] virtual std::int64_t matrix_byte_count() const = 0;
  /// From the communicator's blocks of p to its partial sums.
  virtual void multiply(comm::Communicator& communicator) = 0;

  /// The parts of the product, those of comm::collection_parts(); 1: it needs the whole column block.
  [[nodiscard]] virtual std::size_t part_count() const { return 1; }
  /// Adds the products of one part of the column block to the partial sums; also of the whole row block,
  /// where it is symmetric. All parts in their order are one multiply(). `collection`: the one that is under
  /// way meanwhile, and makes progress now and then; nullptr: none.
  virtual void multiply_part(std::size_t part, comm::Communicator& communicator,
                             comm::Collection* /*collection*/) {
    if (part == 0) multiply(communicator);
  }
};

/// Takes over this rank's block, the whole of it; for a symmetric kernel half of it is dropped. Throws
/// std::bad_alloc.
std::unique_ptr<BlockProduct> make_block_product(const KernelInfo& kernel, kernels::CsrBlock block,
                                                 const comm::BlockLayout& layout, int rank,
                                                 const kernels::KernelOptions& options);

}  // namespace cg2d
