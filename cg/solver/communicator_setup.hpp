#pragma once

// Makes the communicator of a run, with a message for users where memory does not suffice.

#include <memory>

#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The transport's communicator. Collective. Throws RunError with needed and available bytes, on every rank
/// alike, where the ranks cannot share the memory that the transport needs. Throws MpiError.
std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      const comm::CommunicatorOptions& options);

}  // namespace cg2d
