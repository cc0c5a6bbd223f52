#pragma once

// Lines on stderr, from rank 0, for people who watch.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace cg2d {

class Progress {
 public:
  /// A terminal gets it without being asked for, too.
  Progress(bool asked, int rank) : shown_(rank == 0 && (asked || isatty(STDERR_FILENO) == 1)) {}
  /// One that says nothing, not even to a terminal: who calls has its own.
  struct Silent {};
  explicit Progress(Silent /*tag*/) : shown_(false) {}
  void say(const std::string& text) const {
    if (shown_) fmt::print(stderr, "cg2d: {}\n", text);
  }

 private:
  bool shown_;
};

}  // namespace cg2d
