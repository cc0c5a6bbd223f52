#pragma once

// SIGINT and SIGTERM as a wish that the run notices at its next outer iteration.

namespace cg2d {

/// Catches SIGINT and SIGTERM for as long as it lives; a second signal of the same kind ends the process at
/// once.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  InterruptWatch(InterruptWatch&&) = delete;
  InterruptWatch& operator=(InterruptWatch&&) = delete;

  [[nodiscard]] bool asked() const;
};

}  // namespace cg2d
