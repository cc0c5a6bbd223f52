#pragma once

// A product that begins with the columns that are already here, while the rest of the operand is under way.

#include <memory>

#include "cg/solver/block_product.hpp"

namespace cg2d {

/// As make_block_product(), but with the block cut into strips of columns by comm::collection_parts(), each
/// with a kernel of its own, so that the product has as many parts as the collection. Where a process column
/// has one rank there is nothing to overlap: it is make_block_product() then.
///
/// Between shares of a strip the communicator may make progress. The partial sums of the strips are
/// added in the order of the parts, which depends on layout and rank only: neither transport nor timing
/// changes a bit. They are not the bits of the product in one part.
std::unique_ptr<BlockProduct> make_overlapped_product(const KernelInfo& kernel, kernels::CsrBlock block,
                                                      const comm::BlockLayout& layout, int rank,
                                                      const kernels::KernelOptions& options);

}  // namespace cg2d
