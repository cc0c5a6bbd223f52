#pragma once

// Lines on stderr, for people who watch.

#include <unistd.h>

#include <cstdio>
#include <string>

namespace cg2d {

/// One line of the program. One that cannot be written (a full disk) is lost, and never the run with it.
inline void say_on_stderr(const std::string& text) noexcept {
  std::fprintf(stderr, "cg2d: %s\n", text.c_str());
}

class Progress {
 public:
  /// A terminal gets it without being asked for, too.
  Progress(bool asked, int rank) : shown_(rank == 0 && (asked || isatty(STDERR_FILENO) == 1)) {}
  /// One that says nothing, not even to a terminal: who calls has its own.
  struct Silent {};
  explicit Progress(Silent /*tag*/) : shown_(false) {}
  void say(const std::string& text) const {
    if (shown_) say_on_stderr(text);
  }

 private:
  bool shown_;
};

}  // namespace cg2d
