#pragma once

// A block cut into strips of columns, one after the other, so that little of it is in memory twice.

#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// Moves the entries in the columns of the range from the block to a new one, which has all rows and counts
/// its columns from the begin of the range. The block keeps its other entries and its column numbers. Cost:
/// one pass over the entries that stay; for a moment those that leave are in memory twice, unless none stays.
/// Throws std::bad_alloc.
kernels::CsrBlock take_columns(kernels::CsrBlock& block, const comm::IndexRange& columns);

}  // namespace cg2d
