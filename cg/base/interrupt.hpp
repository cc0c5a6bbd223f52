#pragma once

// SIGINT and SIGTERM as a request to stop, which the run notices at its next outer iteration.

namespace cg2d {

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
