#pragma once

// Standard output and standard error of this process that lead elsewhere for a while.

#include <array>
#include <string>

#include "cg/base/storage/open_file.hpp"

namespace cg2d {

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
