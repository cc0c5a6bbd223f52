#pragma once

// Folders for files: those that ranks share out, and the room in one.

#include <string_view>

#include "comm/rank_group.hpp"

namespace cg2d {

/// "DIR1,DIR2"; empty: none. Throws InputError that names the option.
std::vector<std::string> folders_from(std::string_view option, const std::string& text);

/// Rank r takes number r modulo their number. There must be one.
inline const std::string& folder_of_rank(const std::vector<std::string>& folders, int rank) {
  return folders[static_cast<std::size_t>(rank) % folders.size()];
}

/// Throws RunError (cannot_create) with the folder and errno.
[[noreturn]] void cannot_create_in(const std::string& folder);

/// The device of a folder.
struct FolderRoom {
  std::uint64_t device = 0;          ///< one number for all folders on it
  std::int64_t available_bytes = 0;  ///< that this user may still take
};
/// Throws RunError (cannot_create) where there is no such folder.
FolderRoom folder_room(const std::string& folder);

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
