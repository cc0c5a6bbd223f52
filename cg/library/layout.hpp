#pragma once

// Grids of ranks and cuts of vectors, where the caller has its own.
//
// A grid is comm::ProcessGrid: {.columns = 2, .rows = 3}, or grid_from("2x3"). comm::BlockLayout is the cut of a
// matrix and of all vectors on it: rank r owns the piece column_piece_of(r) of each vector. Both are in
// comm/block_layout.hpp; on a grid of one process column piece r belongs to rank r.

#include <cstdint>
#include <vector>

#include "cg/base/values.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The borders of pieces, for SolverOptions::piece_starts, where this rank is to own own_row_count elements: the
/// caller's vectors then need not move. On a grid of one process column rank 0 has the first rows, rank 1 the next
/// ones, and so on; on others the pieces stand in the order of the ranks that own them. Collective. Throws
/// InputError, on every rank alike, for a negative number or a grid of another number of ranks.
std::vector<std::int64_t> piece_starts_of(std::int64_t own_row_count, const comm::ProcessGrid& grid,
                                          comm::RankGroup& group);

}  // namespace cg2d
