#pragma once

// Files that get their names when they are complete, or never: a file that is written anew, an unlinked temporary file for data that ends with the
// process, and chunks of data in one. Folders for files: those that ranks share out, the room in one, and those that one run owns: no other run writes
// or removes their files meanwhile.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cg/base/storage/open_file.hpp"
#include "comm/block_layout.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// The mode of a new file, as far as the user's mask lets it.
inline constexpr mode_t all_may_read_and_write = 0666;

/// The folder that a path is in.
std::string folder_of(const std::string& path);

/// Whether a path, through links, leads to an open file: meanwhile it may have been removed or replaced.
bool leads_to(const std::string& path, int descriptor);

/// When a file gets a name.
enum class FileNaming {
  at_the_end,
  temporary_at_once,   ///< for other processes, which open it by this name
  never,               ///< nobody else may read it
  of_another_process,  ///< it is there, and has the name of its path; the other process gives it the final one
};

/// The fate of a file that has the name already.
enum class ExistingFile { is_replaced, is_kept };

/// Open for reading and writing. Nothing is left of a file that has no name, whatever ends the process. Where the file system has none without
/// names, it gets a temporary one at once: that of its path with ".PROCESS-NUMBER" after it, which only a kill leaves; `never`: that goes
/// at once, too. Whatever returns false or nothing leaves the reason in errno.
class UnnamedFile {
 public:
  /// path: the name that it is to get. flags: of open(), left out where the file system refuses them. Not is_open(): errno says why not.
  UnnamedFile(std::string path, FileNaming naming, int flags = 0);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  bool is_open() const { return file_.is_open(); }
  int descriptor() const { return file_.number(); }
  /// The folder stands for a file that is never named.
  const std::string& path() const { return path_; }
  /// Empty: it has no name, or the final one.
  const std::string& temporary_name() const { return name_; }

  /// Throw RunError (cannot_write).
  void write_at(int64_t position, std::span<const std::byte> bytes) const;
  void put_on_disk() const;

  /// A new file gets its name in one step, one that replaces another needs a second name for a moment. Then the name is on the disk;
  /// throws RunError (cannot_write) where the folder does not get there.
  [[nodiscard]] bool take_name(ExistingFile existing = ExistingFile::is_replaced);
  /// Leaves it under a temporary name, which it returns; empty where it can have none.
  std::string keep();

 private:
  void open_as(FileNaming naming, int flags);
  bool link_to(const std::string& name) const;

  std::string path_;
  std::string name_;
  Descriptor file_;
};

/// An UnnamedFile of a new name, whose operations throw RunError (cannot_create, cannot_write). Without take_name() nothing remains.
class NewFile : public UnnamedFile {
 public:
  NewFile(const std::string& folder, const std::string& name);

  /// After what has been appended before.
  void append(std::span<const std::byte> bytes);
  /// Bytes that have been appended.
  int64_t size() const { return size_; }
  /// Asks the file system for room for so many bytes from the begin on. One that cannot promise any must have as many free. Throws
  /// RunError (cannot_create) with what is needed and what is free.
  void reserve(int64_t byte_count) const;
  /// Cuts the file after so many bytes.
  void end_at(int64_t byte_count) const;
  /// Takes its name, which no file may have, and puts it on the disk.
  void take_name();

 private:
  int64_t size_ = 0;
};

/// Removes what killed processes have left in a folder under temporary names. is_mine: of the name that the file was to get. The caller
/// has locked the folder, or its place in it (FolderClaim).
void remove_unfinished_files(const std::string& folder,
                             const std::function<bool(std::string_view name)>& is_mine);

/// Whether reading and writing go past the system's cache, where the file system can do that.
enum class FileCaching { direct, cached };

/// Nothing is left of it, whatever ends the process. Past the cache, position, size and address of what is written must be multiples of the
/// page size.
class ScratchFile : public UnnamedFile {
 public:
  /// Takes the room for so many bytes at once. Throws RunError (cannot_create): the folder will not do, or its device has less room.
  ScratchFile(const std::string& folder, FileCaching caching, int64_t byte_count = 0);

  bool is_direct() const;
  /// Takes the room for these bytes. Where the file system cannot promise any, nothing is done. Throws RunError (cannot_create).
  void take_room(const comm::IndexRange& bytes) const;
};

/// Keeps of each chunk the CRC-32C of what was put, and compares it with what comes back: a device that loses data after it has taken them
/// (thin-provisioned and full, an error when the system's cache is written back) says so to nobody who does not ask. The file goes through
/// that cache. Nothing is left of it, whatever ends the process.
class ScratchChunks {
 public:
  static constexpr size_t chunk_bytes = size_t{1} << 16;

  /// Throws RunError (cannot_create).
  explicit ScratchChunks(const std::string& folder) : file_(folder, FileCaching::cached) {}

  /// The number of a new chunk, which must be put before it is taken back. Throws RunError (cannot_create) where the device has no room.
  size_t add();
  /// chunk_bytes bytes, in place of what was put before. Throws RunError (cannot_write).
  void put(size_t chunk, std::span<const std::byte> bytes);
  /// The bytes that were put last. Throws RunError: cannot_write for an error of the device (74), bad_data where it gives others (65).
  void get(size_t chunk, std::span<std::byte> bytes) const;
  /// The bytes that were put last, for access here and there: up to 64 chunks that were looked at stay in memory. Valid until the next call.
  std::span<const std::byte> look_at(size_t chunk);

 private:
  struct KnownChunk {
    std::optional<size_t> chunk{};
    std::vector<std::byte> bytes{};
  };

  [[noreturn]] void fail(std::string_view what, size_t chunk, int error) const;

  ScratchFile file_;
  size_t chunks_with_room_ = 0;
  std::vector<uint32_t> checksums_;
  std::vector<KnownChunk> known_;  // a chunk at its number modulo their count
};

// ---------------------------------------------------------------- folders

/// "DIR1,DIR2"; empty: none. Throws InputError that names the option.
std::vector<std::string> folders_from(std::string_view option, const std::string& text);

/// Rank r takes number r modulo their number. There must be one.
inline const std::string& folder_of_rank(const std::vector<std::string>& folders, int rank) {
  return folders[static_cast<size_t>(rank) % folders.size()];
}

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
