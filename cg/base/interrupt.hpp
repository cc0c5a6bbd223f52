#pragma once

// SIGINT and SIGTERM: a request to stop where somebody looks at it, and the end with a message elsewhere.

namespace cg2d {

/// How a signal ends a process that nobody watches. A launcher takes a rank that exits before MPI has started for
/// one that has no business with MPI, and lets the others wait for it: there the signal itself must end it.
enum class SignalEnd { by_the_signal, by_exit_code };

/// From this call on, which comes before MPI starts, and again when it has started, a signal ends the process with
/// a line on stderr, unless there is an InterruptWatch. Files that are being written leave nothing behind: they
/// have no names yet, see OutputFile. A file that grows beyond its limit (ulimit -f) is an error of writing, no
/// signal; so is a page of a mapped file that is gone (SIGBUS): one line, and the code cannot_write. is_speaker: whether the line is written; one rank is enough.
void expect_signals(SignalEnd end, bool is_speaker);

/// Catches SIGINT and SIGTERM during its lifetime; a second signal of the same kind ends the process at
/// once.
class InterruptWatch {
 public:
  /// Watches may be nested. One that is not `heeded` never reports a request, and leaves it to the outer
  /// watch.
  explicit InterruptWatch(bool heeded = true);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  [[nodiscard]] bool asked() const;

 private:
  bool heeded_;
};

}  // namespace cg2d
