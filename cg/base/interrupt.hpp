#pragma once

// SIGINT and SIGTERM as a wish that the run notices at its next outer iteration.

namespace cg2d {

/// Catches SIGINT and SIGTERM for as long as it lives; a second signal of the same kind ends the process at
/// once.
class InterruptWatch {
 public:
  /// Watches may be nested. One that is not `heeded` never answers that a wish is there, and leaves it to the
  /// outer one.
  explicit InterruptWatch(bool heeded = true);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  InterruptWatch(InterruptWatch&&) = delete;
  InterruptWatch& operator=(InterruptWatch&&) = delete;

  [[nodiscard]] bool asked() const;

 private:
  bool heeded_;
};

}  // namespace cg2d
