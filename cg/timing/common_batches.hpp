#pragma once

// The rate of a work while all ranks do it: ranks share caches and memory, so a rank that works while the
// others rest shows a rate that none of them has in a run.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/rank_group.hpp"

namespace cg2d {

/// Seconds of the best batch. A batch begins with the first rank and ends with the last one, so it takes as
/// long as on the rank where it took longest, and a batch counts as one for all ranks: there is no best batch of one
/// rank. ranks: seconds of each rank, batch by batch, on its own clock, from its begin until it knew that all ranks had ended; at least
/// one of each, and as many for every rank.
double best_batch_s(std::span<const std::vector<double>> ranks);

/// Passes per second of this rank while all ranks work, in their best batch. work(pass_count) does that many
/// passes, local, and returns false for a wrong result. Each rank takes as many passes as make its batches
/// about as long as the others': the ranks then share caches and memory for the whole batch. Collective.
/// Cost: up to 26 batches of 5 ms, or of the slowest rank's pass where that takes longer. Throws RunError
/// with code 70 (on every rank alike) for a wrong result.
double common_pass_rate(comm::RankGroup& group, const std::function<bool(std::int64_t pass_count)>& work);

}  // namespace cg2d
