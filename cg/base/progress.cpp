#include "cg/base/progress.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>

#include "cg/base/child_process.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/values.hpp"

namespace cg2d {

std::string format_duration(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

void DurationModel::add(const Work& work, double seconds) {
  by_key_[work.key].push_back(seconds);
  for (auto* rate : {&by_kind_[work.kind], &all_}) {
    rate->seconds += seconds;
    rate->amount += work.amount;
  }
}

std::optional<double> DurationModel::expected(const Work& work) const {
  if (all_.amount == 0.0) return std::nullopt;
  if (const auto same = by_key_.find(work.key); same != by_key_.end()) return sample_of(same->second).median;
  const auto alike = by_kind_.find(work.kind);
  const auto& rate = alike != by_kind_.end() ? alike->second : all_;
  return rate.seconds / rate.amount * work.amount;
}

double expected_rest_s(std::span<const Work> works, size_t begun, double elapsed_s) {
  double done_s = 1.0;
  double rest_s = 0.0;
  for (size_t k = 0; k < works.size(); ++k) (k < begun ? done_s : rest_s) += works[k].amount;
  return rest_s * (elapsed_s + 1.0) / done_s;
}

// ---------------------------------------------------------------- the display

namespace {

constexpr double terminal_interval_s = 1.0;
constexpr double lines_interval_s = 10.0;
constexpr double shortest_interval_s = 0.1;
constexpr std::string_view erase_line = "\r\033[K";

// A signal handler can reach nothing but flags like these. (Not of a byte: gcc before 13 makes those with locks on RISC-V.)
static_assert(std::atomic<int>::is_always_lock_free);
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> line_is_drawn = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> line_has_ended = 0;

void write_on_stderr(std::string_view text) noexcept {
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

/// Not a terminal that has been stopped (Ctrl-S), where a write would wait, nor a pipe that nobody reads, where it would end the process.
bool stderr_takes_text() {
  pollfd descriptor{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&descriptor, 1, 0) == 1 && descriptor.revents == POLLOUT;
}

/// Characters of UTF-8: all bytes but those after the first of each.
size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

size_t terminal_width() {
  constexpr size_t usual_columns = 80;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return size.ws_col;
}

/// Whether stderr is a terminal that knows escape sequences.
bool has_terminal() {
  const auto kind = environment_variable("TERM");
  return !kind.empty() && kind != "dumb" && isatty(STDERR_FILENO) == 1;
}

}  // namespace

std::string ProgressText::times() const {
  if (!remaining_s) return fmt::format(" ({})", format_duration(elapsed_s));
  const double percent = 100.0 * elapsed_s / (elapsed_s + *remaining_s);
  return fmt::format(" ({:.0f} %, {}, about {} left)", percent, format_duration(elapsed_s),
                     format_duration(*remaining_s));
}

std::string ProgressText::line(size_t column_count) const {
  const auto text = one_line("cg2d: " + task);
  const auto end = times();
  constexpr std::string_view cut = "...";
  if (columns_of(text) + end.size() <= column_count) return text + end;
  const auto room = column_count - std::min(column_count, end.size() + cut.size());
  return fmt::format("{:.{}}", fmt::format("{:.{}}{}{}", text, room, cut, end), column_count);
}

namespace {

/// One line on a terminal that is rewritten, or plain lines: of the process, which has one stderr.
struct ProgressLine {
  std::mutex mutex;  ///< for all that follows
  int user_count = 0;
  bool is_on_terminal = false;
  Stopwatch stopwatch;
  ProgressText text;
  std::optional<double> end_s;  ///< when the task is expected to end, on the stopwatch
  double said_s = 0.0;          ///< the latest text
  double shown_s = 0.0;         ///< the last time

  /// Elsewhere than on a terminal with the times where they say something.
  void draw() {
    constexpr double long_s = 2.0;
    text.elapsed_s = shown_s = stopwatch.seconds();
    // An expectation that has been wrong says nothing.
    text.remaining_s.reset();
    if (end_s && *end_s > shown_s) text.remaining_s = *end_s - shown_s;
    if (text.task.empty() || line_has_ended != 0) return;
    if (!is_on_terminal)
      return write_on_stderr(fmt::format("cg2d: {}{}\n", text.task, shown_s < long_s ? "" : text.times()));
    if (!stderr_takes_text()) return;
    line_is_drawn = 1;
    const auto columns = std::max<size_t>(terminal_width(), 2) - 1;  // a full line would wrap
    write_on_stderr(fmt::format("\r{}\033[K", text.line(columns)));
  }
};

ProgressLine& progress_line() {
  static ProgressLine one;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
  return one;
}

/// False: nothing is shown to this user, nor to others.
bool begin_progress(bool is_asked_for) {
  auto& line = progress_line();
  const std::lock_guard lock(line.mutex);
  if (line.user_count == 0) {
    line.is_on_terminal = has_terminal();
    if (!line.is_on_terminal && !is_asked_for) return false;
    line.stopwatch = {};
    line.text = {};
    line.end_s.reset();
    line.said_s = line.shown_s = 0.0;
  }
  ++line.user_count;
  return true;
}

void erase_progress_line() {
  if (line_is_drawn.exchange(0) != 0) write_on_stderr(erase_line);
}

}  // namespace

void end_progress_line() noexcept {
  line_has_ended = 1;
  if (line_is_drawn != 0) write_on_stderr(erase_line);
}

void say_on_stderr(const std::string& text) noexcept {
  {
    const std::lock_guard lock(progress_line().mutex);
    erase_progress_line();
  }
  std::fprintf(stderr, "cg2d: %s\n", text.c_str());
}

void say_last_on_stderr(const std::string& text) noexcept {
  end_progress_line();
  RedirectedStreams::undo();
  say_on_stderr(text);
}

void wait_for_readers_of_stderr() {
  using namespace std::chrono_literals;
  constexpr int most_waits = 2000;
  struct stat status {};
  const bool is_pipe = fstat(STDERR_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
  int unread = 0;
  for (int k = 0; is_pipe && k < most_waits && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0;
       ++k)
    std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(100ms);  // from the node's proxy to the launcher itself
}

void make_way_for_output() noexcept {
  auto& line = progress_line();
  const std::lock_guard lock(line.mutex);
  if (line.is_on_terminal) line.text.task.clear();
  erase_progress_line();
}

// ---------------------------------------------------------------- who says what

Progress::Progress(ProgressMode mode, int rank) : warns_(rank == 0 && mode != ProgressMode::quiet) {
  is_shown_ = warns_ && begin_progress(mode == ProgressMode::always);
}

Progress::~Progress() {
  if (!is_shown_) return;
  const std::lock_guard lock(progress_line().mutex);
  if (--progress_line().user_count == 0) erase_progress_line();
}

void Progress::show(const std::string& text, bool has_line) const {
  if (!is_shown_) return;
  auto& line = progress_line();
  const std::lock_guard lock(line.mutex);
  line.text.task = text;
  line.said_s = line.stopwatch.seconds();
  // On a terminal a text that comes right after another one is left to show_progress_time().
  const bool is_soon = line_is_drawn != 0 && line.said_s < line.shown_s + shortest_interval_s;
  if (line.is_on_terminal ? !is_soon : has_line) line.draw();
}

bool Progress::is_due() const {
  if (!is_shown_) return false;
  auto& line = progress_line();
  const std::lock_guard lock(line.mutex);
  return !line.is_on_terminal || line.stopwatch.seconds() >= line.said_s + terminal_interval_s;
}

void Progress::expect(double remaining_s) const {
  if (!is_shown_) return;
  auto& line = progress_line();
  const std::lock_guard lock(line.mutex);
  line.end_s = line.stopwatch.seconds() + remaining_s;
}

void Progress::warn(const std::string& text) const {
  if (warns_) say_on_stderr("warning: " + text);
}

void show_progress_time() {
  auto& line = progress_line();
  const std::unique_lock lock(line.mutex,
                              std::try_to_lock);  // a line that another thread is writing is not waited for
  if (!lock || line.user_count == 0) return;
  const double due_s = line.shown_s + (line.is_on_terminal ? terminal_interval_s : lines_interval_s);
  if (line.stopwatch.seconds() >= due_s && stderr_takes_text()) line.draw();
}

void PlannedProgress::say(const std::string& key) {
  if (const auto work = std::ranges::find(works_, key, &Work::key); work != works_.end())
    progress_.expect(
        expected_rest_s(works_, static_cast<size_t>(work - works_.begin()), stopwatch_.seconds()));
  progress_.say(key);
}

}  // namespace cg2d
