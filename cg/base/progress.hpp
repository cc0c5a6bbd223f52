#pragma once

// Progress on stderr, for interactive users: on a terminal one line that rewrites itself, elsewhere plain lines for
// those who ask for them. From rank 0. And how long the rest of a task takes, by the times of its parts that are over.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cg/base/sample.hpp"

namespace cg2d {

/// "1 h 02 min", "3 min 05 s", "12 s".
std::string format_duration(double seconds);

/// A part of a task.
struct Work {
  std::string key;      ///< works with the same key take the same time
  std::string kind{};   ///< the times of works of one kind grow with their amounts
  double amount = 1.0;  ///< in any unit, the same for all works of a task; > 0
};

/// Seconds that works took, and what others are expected to take.
class DurationModel {
 public:
  void add(const Work& work, double seconds);
  /// The median of the works with the same key; without any, the seconds per amount of those of its kind, or else
  /// of all, times its amount. Nothing before the first work.
  std::optional<double> expected(const Work& work) const;

 private:
  struct Rate {
    double seconds = 0.0;
    double amount = 0.0;
  };

  std::map<std::string, std::vector<double>> by_key_;
  std::map<std::string, Rate> by_kind_;
  Rate all_;
};

/// The seconds that works take from works[begun] on, when those before took elapsed_s. Amounts are seconds that they take on a common
/// machine, which counts as much as one second of work.
double expected_rest_s(std::span<const Work> works, size_t begun, double elapsed_s);

/// The text of a progress line, and its times in seconds.
struct ProgressText {
  std::string task{};
  double elapsed_s = 0.0;
  std::optional<double> remaining_s{};

  /// "cg2d: task (16 %, 12 s, about 1 min 05 s left)", shortened to that many columns, times last.
  std::string line(size_t column_count) const;
  /// " (16 %, 12 s, about 1 min 05 s left)".
  std::string times() const;
};

/// Writes one line, after the progress line of a terminal has been erased. A line that cannot be written (a full
/// disk) is lost, but never the run.
void say_on_stderr(const std::string& text) noexcept;
/// Writes one line before the process ends in the midst of a task, to its own stderr where that was redirected: no progress line is drawn
/// after it.
void say_last_on_stderr(const std::string& text) noexcept;

/// Waits until the launcher, which passes on what ranks write to stderr, has read it, for two seconds at most. A
/// rank that aborts takes its launcher along, and the last lines with it.
void wait_for_readers_of_stderr();

/// Who sees progress: those with a terminal, all (--progress), or nobody, who gets no warnings, either (--quiet).
enum class ProgressMode { on_a_terminal, always, quiet };

/// A command's progress on stderr. Objects of one process share one line, which shows the latest text; it
/// goes with the last of them. Local. Cost: a clock reading where nothing is due, else a write of about 100 bytes,
/// which is left out where the terminal does not take it.
class Progress {
 public:
  Progress(ProgressMode mode, int rank);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A step begins, or is over: a line, or the text of the line that rewrites itself.
  void say(const std::string& text) const { show(text, true); }
  /// A step begins, whose end will be a line: shown only by what tells of the time going on.
  void begin(const std::string& text) const { show(text, false); }
  /// As say(), for steps in a timed region, of which the terminal shows one per second. make_text() is called for
  /// those that are shown.
  template <typename MakeText>
  void tick(const MakeText& make_text) const {
    if (is_due()) say(make_text());
  }
  /// The task is expected to end so many seconds from now.
  void expect(double remaining_s) const;
  /// For what the user should know before the work begins; needs not to be asked for.
  void warn(const std::string& text) const;

 private:
  /// has_line: elsewhere than on a terminal.
  void show(const std::string& text, bool has_line) const;
  bool is_due() const;

  bool is_shown_ = false;
  bool warns_ = false;
};

/// The time goes on: to be called about once per second by a thread that waits most of the time. Draws the line on a terminal, or
/// writes a plain one every ten seconds. Never waits.
void show_progress_time();

/// Says the works of a task that are known from the beginning as they begin, and how long the rest may take.
class PlannedProgress {
 public:
  PlannedProgress(const Progress& progress, std::vector<Work> works)
      : progress_(progress), works_(std::move(works)) {}
  /// The work with this key begins, perhaps again with all after it. A key that is not planned is only said.
  void say(const std::string& key);

 private:
  const Progress& progress_;
  std::vector<Work> works_;
  Stopwatch stopwatch_;
};

/// A text for standard output follows: the progress line of a terminal goes, and comes again with the next step.
void make_way_for_output() noexcept;

/// Erases the progress line for good; to be called in signal handlers.
void end_progress_line() noexcept;

}  // namespace cg2d
