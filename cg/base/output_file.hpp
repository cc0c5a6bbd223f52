#pragma once

// Files: texts that are read whole, files that are written atomically, on one rank or for all, files that grow by lines, and which of the files
// that the options of a command name may be the same.

#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/storage/open_file.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

class UnnamedFile;

/// cg2d/profile.json in $XDG_CACHE_HOME or else in $HOME/.cache; empty if neither is set.
std::optional<std::string> default_profile_path();

/// The text of a file, without a byte order mark; empty if there is no such file. Throws InputError, without the name of the file,
/// when it cannot be read, or has more than 1 GB; a device or a pipe, which need not end, more than 250 MB.
std::optional<std::string> text_of_file(const std::string& path);

/// The same for a file that must be there. Throws InputError that begins with the name, such as "--config cg2d.toml".
std::string text_of_named_file(const std::string& name, const std::string& path);

/// The file that a path leads to through symbolic links, which may be missing: to be replaced or opened without
/// following links any more. Throws RunError (cannot_create) at a link of another user, neither this one, nor
/// root, nor the owner of the folder: it could lead to any file of this user (as fs.protected_symlinks, proc(5)).
std::string output_target(const std::string& path);

/// Whether the file at a path, if there is one, can get a successor by rename(2), as far as that can be known before: not a mount point, nor
/// another user's file in a folder with the sticky bit.
bool can_be_replaced(const std::string& path);

/// Gives a file that is to replace the target its permissions; root also its owner. Nothing without a target.
void keep_permissions(const std::string& target, int descriptor);

/// Opens those of the descriptors 0 to 2 that are closed, so that no file of MPI or of a run gets their numbers: reading 0 and
/// writing 1 or 2 fails as before (EBADF). For the start of a program.
void secure_standard_descriptors();

/// Throw RunError (cannot_create, cannot_write) with the reason in errno.
[[noreturn]] void cannot_create(const std::string& path);
[[noreturn]] void cannot_write(const std::string& path);

/// The name of standard output among the files that a command writes; a file of that name is "./-".
inline constexpr std::string_view standard_output_name = "-";

/// Writes to an UnnamedFile, puts it on the disk and gives it the name of the target in commit(); without commit() nothing remains. A target
/// that is there keeps its permissions. Where it cannot be replaced (a mount point, another user's file in a folder with the sticky bit, a
/// folder that cannot be written), commit() writes it in place, from memory. One that is no regular file (a pipe, a device) is written
/// directly; an empty path and "-" are standard output.
///
/// A loss is noticed by what write(), fsync() and rename() tell. A text of less than 2 MiB that cannot be written goes to the first of $TMPDIR
/// (or /tmp), the current folder and $HOME that takes it, at last to standard output where it may, and the error says where.
class OutputFile {
 public:
  /// Throws RunError (cannot_create) when the file can neither be made nor written, so that a run fails before it computes for
  /// hours, not after; cannot_write where standard output is closed.
  explicit OutputFile(std::string path, bool may_go_to_standard_output = true);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws RunError (cannot_write).
  void write(std::string_view text);
  /// After this call the file is complete on disk under its final name. Throws RunError (cannot_write): where the result is
  /// then.
  void commit();

 private:
  void write_out();
  /// place: where the result is; empty: where another folder takes it.
  [[noreturn]] void fail(int reason, std::string place = {}) const;

  std::string path_;
  std::unique_ptr<UnnamedFile>
      file_;             // none: standard output, a pipe, a device, or a file that is written in place
  Descriptor device_;    // a pipe, a device, or in commit() a file in place
  int descriptor_ = -1;  // where texts go, of one of these or standard output; none until commit(): in place
  std::string text_;     // all, or its last part: 2 MiB or more are written before, but for a place
  bool may_go_to_standard_output_;
  bool is_all_ = true;
  bool is_ended_ = false;  // no part follows
};

/// Replaces the text of a file by that which `make` makes of it, reading it anew. Locked against other processes
/// that do the same, on file systems with locks: of two additions none is lost. Throws RunError, that of `make`
/// and of rendered(), too.
void update_file(const std::string& path, const std::function<std::string()>& make);

/// Returns the text that `make` makes of results, locally. Any exception of `make` other than RunError and
/// std::bad_alloc is a defect, and thrown as RunError (internal), so that every rank learns the reason.
template <typename Make>
std::invoke_result_t<Make> rendered(const Make& make) {
  try {
    return make();
  } catch (const RunError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw RunError(ExitCode::internal,
                   std::string("defect of cg2d: the results cannot be written as text: ") + error.what());
  }
}

/// The output file, opened on rank 0 only; null on the others. Collective. Throws RunError.
inline std::unique_ptr<OutputFile> open_output(const std::string& path, comm::RankGroup& group,
                                               bool may_go_to_standard_output = true) {
  std::unique_ptr<OutputFile> file;
  agree_on(group, [&] {
    if (group.rank() == 0) file = std::make_unique<OutputFile>(path, may_go_to_standard_output);
  });
  return file;
}

/// Writes and commits the text that `make` makes on rank 0. Collective. Throws RunError, that of `make` and
/// of rendered(), too.
template <typename Make>
void write_output(OutputFile* file, comm::RankGroup& group, const Make& make) {
  agree_on(group, [&] {
    if (file == nullptr) return;
    file->write(rendered(make));
    file->commit();
  });
}

/// Opens the file, and writes the output to it.
template <typename Make>
void write_output(const std::string& path, comm::RankGroup& group, const Make& make) {
  write_output(open_output(path, group).get(), group, make);
}

/// Makes all of the steps, each of which writes an output: one that cannot be written takes no other along. Throws the first failure
/// (RunError), after rank 0 has said the others on stderr. Collective, as each of the steps.
void write_each(comm::RankGroup& group, std::initializer_list<std::function<void()>> steps);

// ---------------------------------------------------------------- lines

/// The number of bytes in whole lines: a writer that was killed leaves a part of the last one.
size_t complete_lines(std::string_view text);

/// The lines of a text, without their ends.
std::vector<std::string_view> lines_of(std::string_view text);

/// Open for appending, and locked against a second writer during its life. All of its text is in memory, too: a file that was
/// removed, replaced or cut off meanwhile is found at the next line, and written anew.
class LineFile {
 public:
  /// Opens or makes the file. writer: in the message about a second one, "another sweep". is_fresh: the file is emptied. Throws
  /// RunError: cannot_create; usage, with a whole message, for a file that is no regular one or in use.
  LineFile(std::string path, std::string_view writer, bool is_fresh);

  /// All that the file is to hold.
  const std::string& text() const { return text_; }
  /// Drops an incomplete last line of the text. Throws RunError (cannot_write).
  void drop_cut_line();

  /// Adds a line, without its end. Where the file takes it, it outlives this process when this returns; sync() tells.
  void append(std::string_view line);
  /// All lines are on disk, and the name leads to them, when this returns. Else it throws RunError (cannot_write), which says where
  /// all lines are: in the first other folder that takes them (see OutputFile), where further ones follow.
  void sync();
  /// Removes the file, if its name still leads to it.
  void remove() const;

 private:
  /// Returns what is in the file.
  std::string open(bool is_fresh);
  void write_rest();

  std::string path_;
  std::string writer_;
  Descriptor file_;
  std::string text_;
  size_t written_ = 0;  // bytes of the text that are in the file
};

// ---------------------------------------------------------------- names

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
