#pragma once

// Files that the options of a command name, and which of them may be the same.

#include <span>
#include <string>

namespace cg2d {

/// The use that a command makes of a file that an option names.
enum class FileUse {
  reads,
  reads_first,  ///< read before anything is written: a file with `writes_last` may replace it
  writes,       ///< whole and at once, to standard output, too, as with `writes_last`
  writes_last,
  updates,  ///< written, and read by this command or by a later one
  folder,   ///< a folder of files with names of their own: options may share it
  fills,    ///< a folder of files with names that options may have in common
};
/// A file that an option names; the path is empty where it is not given.
struct FileOption {
  std::string option;
  std::string path;
  FileUse use = FileUse::writes;
};
/// A text that is the same for all names of a file, through links, too, and for no other file; empty for devices and pipes, which
/// may be shared. Of a file that is not there yet it is the path without links. Reads the file system of the calling rank.
std::string file_identity(const std::string& path);

/// Throws InputError for an option that names standard output ("-") for a file that must be one on disk.
void require_files_on_disk(std::span<const FileOption> options);

/// Throws InputError when two options name the same file, through links, too, and one of them would silently replace
/// it, or make a folder of it. Devices and pipes may be shared, standard output ("-") may not. As file_identity().
void require_different_files(std::span<const FileOption> options);

}  // namespace cg2d
