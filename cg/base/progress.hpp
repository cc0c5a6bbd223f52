#pragma once

// Progress lines on stderr, for interactive users.

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace cg2d {

/// Writes one line. A line that cannot be written (a full disk) is lost, but never the run.
inline void say_on_stderr(const std::string& text) noexcept {
  std::fprintf(stderr, "cg2d: %s\n", text.c_str());
}

/// Waits until the launcher, which passes on what ranks write to stderr, has read it, for two seconds at most. A
/// rank that aborts takes its launcher along, and the last lines with it.
inline void wait_for_readers_of_stderr() {
  using namespace std::chrono_literals;
  constexpr int most_waits = 100;
  int unread = 0;
  for (int k = 0; k < most_waits && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; ++k)
    std::this_thread::sleep_for(20ms);
  std::this_thread::sleep_for(100ms);  // from the node's proxy to the launcher itself
}

/// Who sees progress: those with a terminal, all (--progress), or nobody, who gets no warnings, either (--quiet).
enum class ProgressMode { on_a_terminal, always, quiet };

class Progress {
 public:
  Progress(ProgressMode mode, int rank)
      : shown_(rank == 0 && (mode == ProgressMode::always ||
                             (mode == ProgressMode::on_a_terminal && isatty(STDERR_FILENO) == 1))),
        warns_(rank == 0 && mode != ProgressMode::quiet) {}
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
