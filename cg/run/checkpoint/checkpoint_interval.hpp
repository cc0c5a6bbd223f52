#pragma once

// How often an iteration is saved.

#include <cmath>
#include <optional>
#include <string>

namespace cg2d {

/// The mean time between failures of a job that `auto` assumes: a day.
inline constexpr double assumed_failure_interval_s = 24.0 * 3600.0;

/// The interval between two checkpoints at which writing them and repeating lost work together cost least: J. W. Young, A First Order
/// Approximation to the Optimum Checkpoint Interval, Communications of the ACM 17(9), 1974. write_s: the time to write one.
inline double young_interval_s(double write_s, double failure_interval_s = assumed_failure_interval_s) {
  return std::sqrt(2.0 * write_s * failure_interval_s);
}

/// --checkpoint, --checkpoint-interval and --restart.
struct CheckpointOptions {
  std::string folder{};                ///< empty: nothing is saved
  std::optional<double> interval_s{};  ///< empty: Young's, by the measured time to write a checkpoint
  std::string restart{};               ///< the folder to go on from; empty: from the beginning

  [[nodiscard]] bool is_used() const { return !folder.empty() || !restart.empty(); }
};

/// The time from one checkpoint to the next.
class CheckpointInterval {
 public:
  explicit CheckpointInterval(std::optional<double> fixed_s) : fixed_s_(fixed_s) {}

  /// A checkpoint has been written, or rehearsed, in that time.
  void record_written(double write_s) { write_s_ = write_s; }
  [[nodiscard]] double seconds() const { return fixed_s_.value_or(young_interval_s(write_s_)); }
  [[nodiscard]] bool is_automatic() const { return !fixed_s_; }
  [[nodiscard]] double write_s() const { return write_s_; }

 private:
  std::optional<double> fixed_s_;
  double write_s_ = 0.0;
};

/// Checkpoints that an iteration has written, for its report.
struct CheckpointFacts {
  std::string folder;
  int count = 0;            ///< written
  double total_s = 0.0;     ///< the time they took; part of the timed region
  double write_s = 0.0;     ///< the last one's, or the rehearsal's
  double interval_s = 0.0;  ///< between two of them
  bool is_automatic = false;
  std::string failure;  ///< why the last attempt failed; empty: it did not
};

}  // namespace cg2d
