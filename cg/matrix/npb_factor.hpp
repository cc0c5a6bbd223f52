#pragma once

// The NAS CG matrix as the sum of outer products that defines it: A = V W V^T + diagonal * 1, where the columns of
// V are the random sparse vectors and W their weights.

#include <vector>

#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

/// One rank's part: blocks of V and V^T at the rank's place in the layout, by whose pieces the numbers of the
/// vectors are cut like all other indices.
struct NpbFactor {
  kernels::CsrBlock factor;      ///< V: rows are positions, columns the numbers of vectors
  kernels::CsrBlock transposed;  ///< V^T
  std::vector<double> weights;   ///< weights of the vectors in this rank's column piece
  double diagonal = 0.0;         ///< rcond - shift
};

/// The layout's size must be the order of the matrix, and its grid have a place for each rank. Collective. Cost: n
/// (nonzer + 1) entries of each factor in all, of 16 bytes while they are sent. Throws MpiError, std::bad_alloc.
NpbFactor make_npb_factor(const Problem& problem, const comm::BlockLayout& layout, comm::RankGroup& group);

}  // namespace cg2d
