#pragma once

// Folders for files: those that ranks share out, the room in one, and those that one run owns: no other run writes or removes their files
// meanwhile.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// "DIR1,DIR2"; empty: none. Throws InputError that names the option.
std::vector<std::string> folders_from(std::string_view option, const std::string& text);

/// Rank r takes number r modulo their number. There must be one.
inline const std::string& folder_of_rank(const std::vector<std::string>& folders, int rank) {
  return folders[static_cast<size_t>(rank) % folders.size()];
}

/// Throws RunError (cannot_create) with the folder and errno.
[[noreturn]] void cannot_create_in(const std::string& folder);

/// The device of a folder.
struct FolderRoom {
  uint64_t device = 0;          ///< one number for all folders on it
  int64_t available_bytes = 0;  ///< that this user may still take
};
/// Throws RunError (cannot_create) where there is no such folder.
FolderRoom folder_room(const std::string& folder);

/// The files of all ranks of a node on a device must fit there together. option: for the message, such as --out-of-core. byte_count: of this
/// rank's file. node: comm::NodeMap::node_of(). Collective. Throws RunError (cannot_create), alike on every rank.
void require_room(std::string_view option, const std::string& folder, int64_t byte_count, int node,
                  comm::RankGroup& group);

/// Makes the folder where it is missing, and locks a file in it (flock) during its lifetime. The lock ends with the process, whatever
/// ends it: a file that a killed run has left is no lock. The file tells process, host and time of the run that has locked it.
///
/// Limits of flock(): on NFS it reaches other hosts from NFS 4 on, and before with a lock service (not with the mount options nolock
/// and local_lock); on Lustre with the mount option flock. Where the file system knows no locks, there is none: see is_locked().
class FolderClaim {
 public:
  /// Throws RunError: cannot_create where the folder will not do; folder_in_use where another run has the lock, with one line
  /// that says which. option: names the folder in messages, such as "--checkpoint". lock_name: of the file in the folder that is locked.
  FolderClaim(std::string_view option, const std::string& folder, const std::string& lock_name);
  /// Removes the file.
  ~FolderClaim();
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;

  /// False: the file system has no locks, so nothing keeps others away.
  bool is_locked() const { return is_locked_; }
  /// A warning where it is not; empty else.
  std::string warning() const;

 private:
  bool takes_lock();

  std::string option_;
  std::string folder_;
  std::string lock_path_;
  bool is_locked_ = false;
  Descriptor file_;
};

}  // namespace cg2d
