#pragma once

// Short measurements for the choice of the temporal block.

#include <cstdint>

#include "cg/stencil/block_choice.hpp"
#include "cg/stencil/plane_store.hpp"
#include "cg/stencil/stencil_method.hpp"
#include "cg/stencil/stencil_report.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The settings of a trial.
struct BlockTrialPlan {
  const StencilMethod& method;
  StencilWork work;
  int most_block = 1;            ///< longest block that memory, steps and slabs allow
  std::int64_t plane_count = 0;  ///< planes of this rank's slab
  int planes_at_once = 1;
  PlaneStore* store = nullptr;  ///< nullptr: reading and writing take no time
};

/// All ranks measure at the same time, and the slowest one counts. Planes of the store are overwritten. Collective. Throws
/// RunError on every rank alike, MpiError, std::bad_alloc. Takes a few seconds at most, unless the device is slow.
BlockChoice try_blocks(const BlockTrialPlan& plan, comm::RankGroup& group);

}  // namespace cg2d
