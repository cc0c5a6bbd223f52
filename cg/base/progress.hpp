#pragma once

// Progress lines on stderr, for interactive users.

#include <unistd.h>

#include <cstdio>
#include <string>

namespace cg2d {

/// Writes one line. A line that cannot be written (a full disk) is lost, but never the run.
inline void say_on_stderr(const std::string& text) noexcept {
  std::fprintf(stderr, "cg2d: %s\n", text.c_str());
}

class Progress {
 public:
  /// A terminal gets it without being asked for, too.
  Progress(bool asked, int rank)
      : shown_(rank == 0 && (asked || isatty(STDERR_FILENO) == 1)), warns_(rank == 0) {}
  /// A silent progress, also on a terminal: for callers that print their own.
  struct Silent {};
  explicit Progress(Silent /*tag*/) : shown_(false), warns_(false) {}
  void say(const std::string& text) const {
    if (shown_) say_on_stderr(text);
  }
  /// For what the user should know before the work begins; needs not to be asked for.
  void warn(const std::string& text) const {
    if (warns_) say_on_stderr("warning: " + text);
  }

 private:
  bool shown_;
  bool warns_;
};

}  // namespace cg2d
