#pragma once

// How long the rest of a task takes, by the times of its parts that are over. Pure: no clock, no output.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cg2d {

/// "1 h 02 min", "3 min 05 s", "12 s".
std::string format_duration(double seconds);

/// A part of a task.
struct Work {
  std::string key;      ///< works with the same key take the same time
  std::string kind;     ///< the times of works of one kind grow with their amounts
  double amount = 1.0;  ///< in any unit, the same for all works of a task; > 0
};

/// Seconds that works took, and what others are expected to take.
class DurationModel {
 public:
  void add(const Work& work, double seconds);
  /// The median of the works with the same key; without any, the seconds per amount of those of its kind, or else
  /// of all, times its amount. Nothing before the first work.
  [[nodiscard]] std::optional<double> expected(const Work& work) const;

 private:
  struct Rate {
    double seconds = 0.0;
    double amount = 0.0;
  };

  std::map<std::string, std::vector<double>> by_key_;
  std::map<std::string, Rate> by_kind_;
  Rate all_;
};

/// A task whose parts are known from the beginning, and announced by their keys when they begin. Amounts are seconds
/// that they take on a common machine, and each kind has already had a work of one second.
class PlannedTask {
 public:
  explicit PlannedTask(std::vector<Work> works);

  /// The work with this key begins, and the one before it is over: the next such work, or an earlier one if there is
  /// none, which is done again with all after it. A key that is not planned changes nothing. now_s: of any clock,
  /// the same for all calls.
  void begin(const std::string& key, double now_s);
  /// Seconds from now_s to the end of the last work.
  [[nodiscard]] double remaining_s(double now_s) const;

 private:
  std::vector<Work> works_;
  std::optional<std::size_t> current_;
  double begin_s_ = 0.0;  // begin of the current work, seconds
  DurationModel times_;
};

}  // namespace cg2d
