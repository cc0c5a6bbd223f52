#pragma once

// Bounds that the ranks agree on before a reproducible product (kernels/exact_sums.hpp): the same in any cut
// of the matrix into blocks.

#include <string>
#include <vector>

#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"
#include "kernels/csr_block.hpp"

namespace cg2d {

struct ReproducibleSums {
  /// For each row of this rank's block a power of two, no less than the sum of the magnitudes in the whole row of the matrix.
  std::vector<double> row_bounds;
  /// A power of two, no less than the order of the matrix: sums have no more terms.
  double most_terms = 0.0;
};

/// The bounds of this matrix. Collective over the group, whose ranks have the blocks of the layout; each sends two vectors of the
/// length of its rows over its process row. Throws MpiError, std::bad_alloc.
[[nodiscard]] ReproducibleSums agree_on_sums(const kernels::CsrBlock& block, const comm::BlockLayout& layout,
                                             comm::RankGroup& group);

/// Empty where this process rounds to nearest and keeps numbers below the normal ones, as reproducible sums need; else what is
/// otherwise.
[[nodiscard]] std::string why_not_reproducible_here();

}  // namespace cg2d
