#pragma once

// Room for files that all ranks of a node write at the same time.

#include <cstdint>
#include <string>

#include "comm/rank_group.hpp"

namespace cg2d {

/// The room that one rank needs for its file.
struct RoomNeeded {
  std::string option;  ///< for the message, such as --out-of-core
  std::string folder;
  std::int64_t byte_count = 0;
  int node = 0;  ///< comm::NodeMap::node_of()
};
/// The files of all ranks of a node on a device must fit there together. Collective. Throws RunError (cannot_create), alike on every rank.
void require_room(const RoomNeeded& needed, comm::RankGroup& group);

}  // namespace cg2d
