#pragma once

// The contract of a transport on the ranks that run.

#include <cstdint>

#include "cg/run/check/check.hpp"
#include "comm/block_layout.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Products and sums of whole numbers, whose results are exact, through a mirrored communicator: the number of elements
/// on this rank that are not what they must be. Collective. Throws MpiError.
std::int64_t wrong_element_count(comm::Communicator& communicator, const comm::BlockLayout& layout, int rank);

/// The wrong elements of all ranks on one grid, with every form of the sum that the transport has, on even pieces and on
/// pieces some of which are empty; none are allowed. ranks_per_node: as in CommunicatorOptions. Collective. Throws
/// MpiError.
CheckResult check_transport(const comm::TransportRow& row, const comm::ProcessGrid& grid, int ranks_per_node,
                            comm::RankGroup& group);

}  // namespace cg2d
