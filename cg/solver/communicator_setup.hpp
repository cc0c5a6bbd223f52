#pragma once

// Makes the communicator of a run, with a message for users where memory does not suffice.

#include <memory>

#include "comm/communicator.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The same options with the program's memory for the buffers.
comm::CommunicatorOptions with_page_memory(comm::CommunicatorOptions options);

/// A communicator with the program's memory for its buffers. Collective. Throws RunError, on every rank
/// alike, where the ranks cannot share as much memory as the transport needs: needed and available bytes.
/// Throws MpiError.
std::unique_ptr<comm::Communicator> make_communicator(const comm::TransportRow& transport,
                                                      comm::RankGroup& group, const comm::BlockLayout& layout,
                                                      const comm::CommunicatorOptions& options);

}  // namespace cg2d
