#pragma once

// Files: texts that are read whole, files that are written whole or not at all, on one rank or for all.

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "comm/rank_group.hpp"

namespace cg2d {

/// cg2d/profile.json in $XDG_CACHE_HOME or else in $HOME/.cache; empty if neither is set.
std::optional<std::string> default_profile_path();

/// The text of a file; empty if there is no such file. Throws InputError, without the name of the file,
/// when it cannot be read.
std::optional<std::string> text_of_file(const std::string& path);

/// The file that a path leads to through symbolic links, which may be missing: to be replaced or opened without
/// following links any more. Throws RunError (cannot_create) at a link of another user, neither this one, nor
/// root, nor the owner of the folder: it could lead to any file of this user (as fs.protected_symlinks, proc(5)).
std::string output_target(const std::string& path);

/// Gives a file that is to replace the target its permissions; root also its owner. Nothing without a target.
void keep_permissions(const std::string& target, int descriptor);

/// Throw RunError (cannot_create, cannot_write) with the reason in errno.
[[noreturn]] void cannot_create(const std::string& path);
[[noreturn]] void cannot_write(const std::string& path);

/// Writes to a file without a name and gives it that of the target in commit(); without commit() nothing remains,
/// after a kill neither. File systems that have no such files get a temporary one beside the target, which a kill
/// leaves. A target that is there keeps its permissions. One that is no regular file (a pipe, a device) is
/// written directly; an empty path is standard output.
class OutputFile {
 public:
  /// Throws RunError (cannot_create) when the file can't be made, so that a run fails before it computes for
  /// hours, not after.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws RunError (cannot_write).
  void write(std::string_view text);
  /// After this call the file is complete on disk under its final name. Throws RunError (cannot_write).
  void commit();

 private:
  void open_beside();
  void put_in_place();
  [[noreturn]] void fail() const;

  std::string path_;
  bool is_in_place_ = true;     // written directly, or committed
  std::string temporary_path_;  // empty: the file has no name yet, or is in place
  std::FILE* file_ = nullptr;
};

/// Replaces the text of a file by that which `make` makes of it, reading it anew. Locked against other processes
/// that do the same, on file systems with locks: of two additions none is lost. Throws RunError, that of `make`
/// and of rendered(), too.
void update_file(const std::string& path, const std::function<std::string()>& make);

/// A file that an option names; the path is empty where it is not given.
struct FileOption {
  std::string option;
  std::string path;
};
/// Throws InputError when two options name the same file, through links, too: one would silently replace the
/// other. Devices and pipes may be shared.
void require_different_files(std::span<const FileOption> options);

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
inline std::unique_ptr<OutputFile> open_output(const std::string& path, comm::RankGroup& group) {
  std::unique_ptr<OutputFile> file;
  agree_on(group, [&] {
    if (group.rank() == 0) file = std::make_unique<OutputFile>(path);
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

}  // namespace cg2d
