#include "cg/base/progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "cg/base/errors.hpp"
#include "cg/base/redirected_streams.hpp"
#include "cg/base/sample.hpp"
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

PlannedTask::PlannedTask(std::vector<Work> works) : works_(std::move(works)) {
  // A first work that is over in no time must not leave none for all others.
  std::set<std::string> kinds;
  for (const auto& work : works_) {
    if (kinds.insert(work.kind).second) times_.add({.key = "", .kind = work.kind}, 1.0);
  }
}

void PlannedTask::begin(const std::string& key, double now_s) {
  const auto first = works_.begin() + static_cast<std::ptrdiff_t>(current_ ? *current_ + 1 : 0);
  auto found = std::ranges::find(first, works_.end(), key, &Work::key);
  if (found == works_.end()) found = std::ranges::find(works_, key, &Work::key);
  if (found == works_.end()) return;
  if (current_) times_.add(works_[*current_], now_s - begin_s_);
  current_ = static_cast<std::size_t>(found - works_.begin());
  begin_s_ = now_s;
}

double PlannedTask::remaining_s(double now_s) const {
  double seconds = 0.0;
  for (std::size_t k = current_ ? *current_ + 1 : 0; k < works_.size(); ++k)
    seconds += times_.expected(works_[k]).value();
  if (current_) seconds += std::max(0.0, times_.expected(works_[*current_]).value() - (now_s - begin_s_));
  return seconds;
}

// ---------------------------------------------------------------- the display

namespace {

constexpr double terminal_interval_s = 1.0;
constexpr double lines_interval_s = 10.0;
constexpr double shortest_interval_s = 0.1;
constexpr std::string_view erase_line = "\r\033[K";

// A signal handler can reach nothing but flags like these. (Not of a byte: gcc before 13 makes those with locks on RISC-V.)
using Flag = std::atomic<int>;
static_assert(Flag::is_always_lock_free);
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Flag line_is_drawn = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Flag line_has_ended = 0;

void write_on_stderr(std::string_view text) noexcept {
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

/// A terminal that has been stopped (Ctrl-S): a write would wait.
bool stderr_takes_text() {
  pollfd descriptor{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

/// Characters of UTF-8: all bytes but those after the first of each.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::size_t terminal_width() {
  constexpr std::size_t usual_columns = 80;
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return size.ws_col;
}

/// Whether stderr is a terminal that knows escape sequences.
bool has_terminal() {
  const auto kind = environment_variable("TERM");
  return !kind.empty() && kind != "dumb" && isatty(STDERR_FILENO) == 1;
}

/// The display of this process: a process has one stderr. It lives as long as somebody shows progress.
std::weak_ptr<ProgressDisplay>& the_display() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static std::weak_ptr<ProgressDisplay> display;
  return display;
}

}  // namespace

std::string ProgressText::times() const {
  if (!remaining_s) return fmt::format(" ({})", format_duration(elapsed_s));
  return fmt::format(" ({}, about {} left)", format_duration(elapsed_s), format_duration(*remaining_s));
}

std::string ProgressText::line(std::size_t column_count) const {
  const auto text = one_line("cg2d: " + task + (part.empty() ? "" : ", " + part));
  const auto end = times();
  constexpr std::string_view cut = "...";
  if (columns_of(text) + end.size() <= column_count) return text + end;
  const auto room = column_count - std::min(column_count, end.size() + cut.size());
  return fmt::format("{:.{}}", fmt::format("{:.{}}{}{}", text, room, cut, end), column_count);
}

/// One line on a terminal that is rewritten, or plain lines. A thread shows the time going on, once a second (in plain
/// lines every ten), where nothing else does, except in timed regions. Local; safe to use from several threads.
class ProgressDisplay {
 public:
  ProgressDisplay() {
    // Signals go to the thread that computes, whose handlers they have.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] { show_time(); });
      pthread_setname_np(thread_.native_handle(), "progress");
    } catch (const std::system_error&) {  // no room for a thread: only what is said is shown
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~ProgressDisplay() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    erase();
  }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  [[nodiscard]] bool is_on_terminal() const { return is_on_terminal_; }
  /// has_line: elsewhere than on a terminal.
  void show(const std::string& text, bool is_part, bool has_line) {
    const std::lock_guard lock(mutex_);
    if (!is_part) text_.task = text;
    text_.part = is_part ? text : std::string();
    said_s_ = stopwatch_.seconds();
    // On a terminal a text that comes right after another one is left to the thread.
    const bool is_soon = line_is_drawn != 0 && said_s_ < shown_s_ + shortest_interval_s;
    if (is_on_terminal_ ? !is_soon : has_line) draw();
  }
  /// Draws the current text with the time as it is now, where a second has passed. Only on a terminal.
  void draw_time() {
    const std::lock_guard lock(mutex_);
    if (is_on_terminal_ && stopwatch_.seconds() >= shown_s_ + terminal_interval_s) draw();
  }
  void expect(double remaining_s) {
    const std::lock_guard lock(mutex_);
    end_s_ = stopwatch_.seconds() + remaining_s;
  }
  /// Whether a step in a timed region is to be shown.
  [[nodiscard]] bool is_due() {
    const std::lock_guard lock(mutex_);
    return !is_on_terminal_ || stopwatch_.seconds() >= said_s_ + terminal_interval_s;
  }
  /// A timed region begins (1) or ends (-1). The thread wakes now to sleep until the end, not in the region.
  void change_region_depth(int change) {
    {
      const std::lock_guard lock(mutex_);
      region_depth_ += change;
    }
    changed_.notify_one();
  }
  /// until_next_text: none is drawn again before, on a terminal.
  void erase(bool until_next_text = false) {
    const std::lock_guard lock(mutex_);
    if (until_next_text && is_on_terminal_) text_.task.clear();
    if (line_is_drawn.exchange(0) != 0) write_on_stderr(erase_line);
  }

 private:
  /// The thread's work.
  void show_time() {
    const double interval_s = is_on_terminal_ ? terminal_interval_s : lines_interval_s;
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      const double due_s = shown_s_ + interval_s - stopwatch_.seconds();
      if (region_depth_ > 0) {
        changed_.wait(lock, [this] { return is_over_ || region_depth_ == 0; });
      } else if (due_s > 0.0) {
        changed_.wait_for(lock, std::chrono::duration<double>(std::max(due_s, shortest_interval_s)));
      } else {
        draw();
      }
    }
  }

  /// Elsewhere than on a terminal with the times where they say something.
  void draw() {
    constexpr double long_s = 2.0;
    text_.elapsed_s = shown_s_ = stopwatch_.seconds();
    // An expectation that has been wrong says nothing.
    text_.remaining_s.reset();
    if (end_s_ && *end_s_ > shown_s_) text_.remaining_s = *end_s_ - shown_s_;
    if (text_.task.empty() || line_has_ended != 0) return;
    if (!is_on_terminal_)
      return write_on_stderr(fmt::format("cg2d: {}{}\n", text_.task, shown_s_ < long_s ? "" : text_.times()));
    if (!stderr_takes_text()) return;
    line_is_drawn = 1;
    const auto columns = std::max<std::size_t>(terminal_width(), 2) - 1;  // a full line would wrap
    write_on_stderr(fmt::format("\r{}\033[K", text_.line(columns)));
  }

  const bool is_on_terminal_ = has_terminal();
  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  Stopwatch stopwatch_;
  ProgressText text_;
  std::optional<double> end_s_;  // when the task is expected to end, on the stopwatch
  double said_s_ = 0.0;          // the latest text
  double shown_s_ = 0.0;         // the last time
  int region_depth_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

void end_progress_line() noexcept {
  line_has_ended = 1;
  if (line_is_drawn != 0) write_on_stderr(erase_line);
}

void say_on_stderr(const std::string& text) noexcept {
  if (const auto display = the_display().lock()) display->erase();
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

void silence_stderr() noexcept {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

void make_way_for_output() noexcept {
  if (const auto display = the_display().lock()) display->erase(true);
}

// ---------------------------------------------------------------- who says what

Progress::Progress(ProgressMode mode, int rank) {
  if (rank != 0 || mode == ProgressMode::quiet) return;
  warns_ = true;
  display_ = the_display().lock();
  if (display_ || (mode != ProgressMode::always && !has_terminal())) return;
  display_ = std::make_shared<ProgressDisplay>();
  the_display() = display_;
}

void Progress::say(const std::string& text) const {
  if (display_) display_->show(text, is_part_, !is_part_);
}

void Progress::begin(const std::string& text) const {
  if (display_) display_->show(text, is_part_, false);
}

bool Progress::is_due() const {
  return display_ && (!is_part_ || display_->is_on_terminal()) && display_->is_due();
}

void Progress::show_time() const {
  if (display_) display_->draw_time();
}

void Progress::expect(double remaining_s) const {
  if (!display_ || (is_part_ && !whole_s_)) return;
  display_->expect(is_part_ ? whole_s_(remaining_s) : remaining_s);
}

void Progress::warn(const std::string& text) const {
  if (warns_) say_on_stderr("warning: " + text);
}

Progress::TimedRegion::TimedRegion(const Progress& progress) : display_(progress.display_.get()) {
  if (display_ != nullptr) display_->change_region_depth(1);
}

Progress::TimedRegion::~TimedRegion() {
  if (display_ != nullptr) display_->change_region_depth(-1);
}

void PlannedProgress::say(const std::string& key) {
  const double now_s = stopwatch_.seconds();
  task_.begin(key, now_s);
  progress_.expect(task_.remaining_s(now_s));
  progress_.say(key);
}

}  // namespace cg2d
