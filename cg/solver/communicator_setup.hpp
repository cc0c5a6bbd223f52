#pragma once

// The communicator of a run, and what it says when there is no room for it.

#include <memory>

#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// Collective. Throws RunError, on every rank alike, where the ranks cannot share as much memory as the
/// transport needs: needed and available bytes. Throws MpiError.
std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      const comm::CommunicatorOptions& options);

}  // namespace cg2d
