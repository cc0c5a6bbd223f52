#pragma once

// The part of a distributed matrix that belongs to one piece of the vectors alone: its rows and its columns.

#include "cg/base/process_memory.hpp"
#include "cg/solver/linear_operator.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// The matrix in the rows and columns of this rank's column piece, where its part of the vectors is, numbered
/// from the first of them. `block`: this rank's whole block (before half of it is dropped).
///
/// The diagonal block of piece k lies in row block k / Px and in column block k / Py, so in one block: that of
/// the rank (k / Px, k / Py), which has the process column of the owner of the piece. On a grid of one process
/// column it is the owner's own block; on others one message goes to the owner. Collective. Cost: 16 bytes
/// per entry that moves. Throws MpiError, std::bad_alloc.
kernels::CsrBlock diagonal_block_of(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                    comm::RankGroup& group);

/// The diagonal of a square block; 0 where an entry is not stored.
HugePageVector diagonal_of(const kernels::CsrBlock& diagonal_block);

/// Throws RunError (not_positive_definite, or not_finite for NaN), on every rank alike, that names the first entry of the whole diagonal that is
/// not positive: with it A is not positive definite. `first_row`: the global number of the piece's first row. Collective. Cost: one sum over
/// all ranks, and some 64 more where there is such an entry.
void require_positive(std::string_view preconditioner, LinearOperator& matrix, ConstPiece diagonal,
                      int64_t first_row);

}  // namespace cg2d
