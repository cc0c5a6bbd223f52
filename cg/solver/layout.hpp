#pragma once

// The cut of a matrix into pieces: every layout of the program is made here.

#include <cstdint>

#include "cg/matrix/matrix_facts.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/block_layout.hpp"

namespace cg2d {

/// The cut of a matrix for a configuration, whose grid must be known: pieces of equal numbers of rows. Local,
/// and the same on every rank. Throws std::invalid_argument for an empty grid.
comm::BlockLayout make_layout(const MatrixFacts& matrix, const Configuration& configuration);

/// The cut of vectors that belong to no matrix, as measurements of messages move them: equal pieces.
comm::BlockLayout equal_pieces(std::int64_t order, const comm::ProcessGrid& grid);

}  // namespace cg2d
