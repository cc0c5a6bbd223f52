#pragma once

// The random vectors of the NAS CG matrix, drawn by all ranks together: no rank walks the whole stream.

#include <cstdint>

#include "cg/matrix/matrix_source.hpp"
#include "cg/matrix/npb_vectors.hpp"
#include "cg/matrix/problem.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Part number `part` of [0, total), cut into part_count parts that differ in size by one at most.
comm::IndexRange share_of(std::int64_t total, int part, int part_count);

struct DrawnVectors {
  SparseVectors vectors;  ///< those that begin in this rank's share of the stream
  SourceFacts facts;      ///< of the whole stream
};

/// Every rank draws an equal share of the random numbers. Collective. Throws MpiError, std::bad_alloc.
DrawnVectors draw_vectors(const Problem& problem, comm::RankGroup& group);

}  // namespace cg2d
