#pragma once

// One number summed over all ranks by MPI itself: what the transports' dot products are compared with.

#include "comm/rank_group.hpp"

namespace cg2d::comm {

/// MPI_Allreduce of one double. Does not give the processor away while it waits: not for ranks that share
/// cores. Collective. Throws MpiError.
double sum_blocking(RankGroup& group, double value);
/// MPI_Iallreduce of one double, waited for in the group's Waiter. Collective. Throws MpiError.
double sum_nonblocking(RankGroup& group, double value);

}  // namespace cg2d::comm
