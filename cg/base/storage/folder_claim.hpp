#pragma once

// A folder, or a rank's place in it, that one run owns: no other run writes or removes its files meanwhile. No MPI.

#include <string>
#include <string_view>

#include "cg/base/storage/whole_io.hpp"

namespace cg2d {

/// Whose a folder is, and for what.
struct ClaimedFolder {
  std::string_view option;  ///< that names the folder, for messages, such as "--checkpoint"
  std::string folder;
  std::string lock_name;  ///< name of the file in it that is locked
};

/// Makes the folder where it is missing, and locks a file in it (flock) during its lifetime. The lock ends with the process, whatever
/// ends it: a file that a killed run has left is no lock. The file tells process, host and time of the run that has locked it.
///
/// Limits of flock(): on NFS it reaches other hosts from NFS 4 on, and before with a lock service (not with the mount options nolock
/// and local_lock); on Lustre with the mount option flock. Where the file system knows no locks, there is none: see is_locked().
class FolderClaim {
 public:
  /// Throws RunError: cannot_create where the folder will not do; folder_in_use where another run has the lock, with one line
  /// that says which.
  explicit FolderClaim(const ClaimedFolder& claimed);
  /// Removes the file.
  ~FolderClaim();
  FolderClaim(const FolderClaim&) = delete;
  FolderClaim& operator=(const FolderClaim&) = delete;

  /// False: the file system has no locks, so nothing keeps others away.
  [[nodiscard]] bool is_locked() const { return is_locked_; }
  /// A warning where it is not; empty else.
  [[nodiscard]] std::string warning() const;

 private:
  bool takes_lock();
  void write_holder() const;
  [[nodiscard]] std::string holder() const;

  std::string option_;
  std::string folder_;
  std::string lock_path_;
  bool is_locked_ = false;
  Descriptor file_;
};

}  // namespace cg2d
