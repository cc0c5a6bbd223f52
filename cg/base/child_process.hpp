#pragma once

// Another program, run to its end, files that are installed beside this one, and standard output and standard error of this process that lead
// elsewhere for a while.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cg/base/storage/open_file.hpp"

namespace cg2d {

/// The path of this program. Throws RunError (unavailable).
std::string own_program();
/// A file in a folder that is installed beside this program, or in the tree where it was built: folder_from_program is relative to the
/// program's folder, and built_folder to that of a program that is not installed. Throws RunError (unavailable) that begins with `subject`
/// and ends with `remedy` where it is in neither.
std::string file_beside_program(std::string_view folder_from_program, std::string_view built_folder,
                                std::string_view file, std::string_view subject, std::string_view remedy);

/// How another program ended: by its exit code, by a signal, or it could not be started.
struct ChildEnd {
  bool is_started = true;
  int signal = 0;
  int code = 0;
};

/// Runs words[0] with the other words, found as a shell finds it, with nothing on its standard input and without the variables of a launcher
/// of MPI ranks, and waits for it. A signal that ends this process ends that one, too. Open descriptors without O_CLOEXEC are the other
/// program's, too. Throws RunError (unavailable) that begins with `subject` where no process can be started.
ChildEnd run_child(std::vector<std::string> words, std::string_view subject);

/// An unlinked file in memory.
class MemoryFile {
 public:
  /// Throws RunError (cannot_create).
  MemoryFile();

  int descriptor() const { return file_.number(); }
  /// All that has been written to it. Throws RunError (cannot_write), when it cannot be read.
  std::string text() const;

 private:
  Descriptor file_;
};

/// The descriptors 1 and 2 lead to these open files during its lifetime. They belong to the process: of objects that are there at the same
/// time, the last one goes first.
class RedirectedStreams {
 public:
  /// Throws RunError (cannot_create).
  RedirectedStreams(int output, int errors);
  ~RedirectedStreams();
  RedirectedStreams(const RedirectedStreams&) = delete;
  RedirectedStreams& operator=(const RedirectedStreams&) = delete;

  /// The process's own streams again, at once: for its last words. From any thread; nothing where no stream is redirected.
  static void undo() noexcept;

 private:
  void lead_back() const noexcept;

  std::array<int, 2> kept_{};  // copies of what the descriptors led to
};

}  // namespace cg2d
