#pragma once

// A vector of the grid goes over to another layout.

#include <span>

#include "cg/base/process_memory.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// This rank's piece of a vector by another layout of the same grid and length, from its piece by the present one; the pieces of vectors that
/// products take. Collective. Cost: one message to each rank whose new piece has a part of the old one.
HugePageVector moved_piece(std::span<const double> piece, const comm::BlockLayout& from,
                           const comm::BlockLayout& to, comm::RankGroup& group);

}  // namespace cg2d
