#pragma once

// A block in memory that is near to the threads that read it.

#include <cstdint>
#include <span>

#include "kernels/csr_block.hpp"

namespace cg2d::kernels {

/// Moves the arrays of a block to fresh pages, each first touched, and so placed, by the thread whose rows
/// lie there: thread k reads the rows borders[k] ... borders[k+1]-1. Whoever made the block may have been
/// another thread. The old pages go as the new ones come, so the peak of memory hardly grows. With one thread
/// nothing is moved. Throws std::bad_alloc. Cost: one copy of the block.
void place_near_threads(CsrBlock& block, std::span<const std::int64_t> borders);

}  // namespace cg2d::kernels
