#pragma once

// A block cut into strips of columns, one after the other, so that little of it is in memory twice.

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Takes the entries in the columns of the range out of the block, into a block of its own with all rows,
/// whose columns count from the range's begin. The block keeps the others, and its own column numbers. Cost:
/// one pass over the entries that stay; for a moment those that leave are in memory twice, unless nothing
/// stays. Throws std::bad_alloc.
kernels::CsrBlock take_columns(kernels::CsrBlock& block, const comm::IndexRange& columns);

}  // namespace cg2d
