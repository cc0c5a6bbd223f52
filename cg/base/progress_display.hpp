#pragma once

// Where progress is shown, and how: the terminal of stderr with its line, or plain lines.

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cg/base/sample.hpp"

namespace cg2d {

/// The text of a progress line, and its times in seconds.
struct ProgressText {
  std::string task{};
  std::string part{};  ///< part of the task; may be empty
  double elapsed_s = 0.0;
  std::optional<double> remaining_s{};

  /// "cg2d: task, part (12 s, about 1 min 05 s left)", shortened to that many columns, times last.
  [[nodiscard]] std::string line(std::size_t column_count) const;
  /// " (12 s, about 1 min 05 s left)".
  [[nodiscard]] std::string times() const;
};

/// Whether the arguments of a launcher, from the first one to that which names the program, leave the terminal as it
/// is: no files for the output of ranks, no marks at the beginning of lines.
bool passes_lines_on(std::string_view command_line, std::string_view program_name);

/// A descriptor of the terminal that shows what this process writes to stderr, or nothing: stderr itself, or that of
/// the launchers above, which pass it on (mpiexec reads stderr of its ranks by pipes). None where TERM is "dumb" or not
/// set, or where a launcher writes to a file, or changes lines.
std::optional<int> find_terminal();

/// Waits until the other end of a pipe has read all of it, for two seconds at most.
void wait_until_read(int pipe);

/// A text is about one of these. Only `task` has a plain line.
enum class ProgressStep { task, task_without_line, part };

/// One line on a terminal that is rewritten, or plain lines. A thread shows the time going on, once a second (in plain
/// lines every ten), where nothing else does, except in timed regions. Local; safe to use from several threads.
class ProgressDisplay {
 public:
  /// terminal: as find_terminal() returns it; none: plain lines.
  explicit ProgressDisplay(std::optional<int> terminal);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(ProgressStep step, const std::string& text);
  /// Draws the current text with the time as it is now, where a second has passed. Only on a terminal.
  void draw_time();
  void expect(double remaining_s);
  /// Whether a step in a timed region is to be shown.
  [[nodiscard]] bool is_due();
  /// A timed region begins (1) or ends (-1).
  void change_region_depth(int change);
  /// True: there was a line.
  bool erase();
  /// Nothing is drawn while it is held.
  void set_held(bool is_held);
  [[nodiscard]] bool has_terminal() const { return terminal_.has_value(); }

 private:
  void show_time();
  void draw();
  [[nodiscard]] ProgressText text() const;

  std::optional<int> terminal_;
  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  Stopwatch stopwatch_;
  ProgressText text_;
  std::optional<double> end_s_;  // when the task is expected to end, on the stopwatch
  double said_s_ = 0.0;          // the latest text
  double shown_s_ = 0.0;         // the last time
  int region_depth_ = 0;
  bool is_held_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace cg2d
