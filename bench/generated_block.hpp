#pragma once

// Blocks of the NAS CG matrices in one process, made by the parts of the real generator.

#include "cg/matrix/npb_vectors.hpp"
#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d::bench {

/// All random vectors of a problem. Throws std::runtime_error for a problem that the estimates of the
/// generator do not fit (no class is one).
SparseVectors draw_all_vectors(const Problem& problem);

/// The block of one rank of the layout. `vectors`: all of the problem.
kernels::CsrBlock generate_block(const Problem& problem, const SparseVectors& vectors,
                                 const comm::BlockLayout& layout, int rank);

}  // namespace cg2d::bench
