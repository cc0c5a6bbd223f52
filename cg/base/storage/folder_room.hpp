#pragma once

// The room for files in a folder. No MPI.

#include <cstdint>
#include <string>

namespace cg2d {

/// The device of a folder.
struct FolderRoom {
  std::uint64_t device = 0;          ///< one number for all folders on it
  std::int64_t available_bytes = 0;  ///< that this user may still take
};
/// Throws RunError (cannot_create) where there is no such folder.
FolderRoom folder_room(const std::string& folder);

}  // namespace cg2d
