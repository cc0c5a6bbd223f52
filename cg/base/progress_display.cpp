#include "cg/base/progress_display.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cg/base/progress.hpp"
#include "cg/base/values.hpp"

namespace cg2d {
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

/// A terminal that has been stopped (Ctrl-S), or a launcher that does not read: a write would wait.
bool stderr_takes_text() {
  pollfd descriptor{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&descriptor, 1, 0) == 1 && (descriptor.revents & POLLOUT) != 0;
}

/// UTF-8: the bytes of a character after its first.
bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t columns_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

std::string first_columns(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && seen++ == count) break;
  }
  return text.substr(0, end);
}

/// Names of files may hold anything, and the line is one line.
std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char byte) { return byte < ' ' || byte == 0x7f; }, '?');
  return text;
}

std::size_t width_of(int terminal) {
  constexpr std::size_t usual_columns = 80;
  winsize size{};
  if (ioctl(terminal, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return size.ws_col;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The fields of /proc/ID/stat, proc(5): the name may hold blanks and parentheses.
struct ProcessFacts {
  std::string name{};
  int parent = 0;
};
ProcessFacts facts_of_process(int process) {
  const auto text = text_of(fmt::format("/proc/{}/stat", process));
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 >= text.size()) return {};
  return {.name = text.substr(begin + 1, end - begin - 1), .parent = std::atoi(text.c_str() + end + 4)};
}

bool is_launcher(const std::string& name) {
  constexpr std::array starts{"mpiexec", "mpirun", "hydra_", "orte", "prte"};
  return std::ranges::any_of(starts, [&](const char* start) { return name.starts_with(start); });
}

/// The first of the launchers that are the parents of this process, each the parent of the next one; 0: none.
int topmost_launcher() {
  int launcher = 0;
  for (int process = getppid(); process > 1;) {
    const auto facts = facts_of_process(process);
    if (!is_launcher(facts.name)) break;
    launcher = process;
    process = facts.parent;
  }
  return launcher;
}

}  // namespace

void wait_until_read(int pipe) {
  using namespace std::chrono_literals;
  constexpr int most_waits = 2000;
  struct stat status {};
  if (fstat(pipe, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  int unread = 0;
  for (int k = 0; k < most_waits && ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0; ++k)
    std::this_thread::sleep_for(1ms);
}

bool passes_lines_on(std::string_view command_line, std::string_view program_name) {
  for (const std::string_view word : split_at(command_line, '\0')) {
    if (word.substr(word.rfind('/') + 1) == program_name) return true;
    if (word == "-l") return false;
    if (!word.starts_with('-')) continue;
    for (const std::string_view mark : {"output", "outfile", "errfile", "prepend", "merge", "xml"}) {
      if (word.find(mark) != std::string_view::npos) return false;
    }
  }
  return true;
}

std::optional<int> find_terminal() {
  if (const auto kind = environment_variable("TERM"); kind.empty() || kind == "dumb") return std::nullopt;
  if (isatty(STDERR_FILENO) == 1) return STDERR_FILENO;
  struct stat status {};
  if (fstat(STDERR_FILENO, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
    return std::nullopt;
  const int launcher = topmost_launcher();
  if (launcher == 0) return std::nullopt;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).filename().string();
  if (!passes_lines_on(text_of(fmt::format("/proc/{}/cmdline", launcher)), program)) return std::nullopt;
  const auto path = fmt::format("/proc/{}/fd/{}", launcher, STDERR_FILENO);
  // Only a character device is opened: opening others may wait, or change them.
  if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return std::nullopt;
  const int terminal = open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (terminal >= 0 && isatty(terminal) == 1) return terminal;
  if (terminal >= 0) close(terminal);
  return std::nullopt;
}

std::string ProgressText::times() const {
  if (!remaining_s) return fmt::format(" ({})", format_duration(elapsed_s));
  return fmt::format(" ({}, about {} left)", format_duration(elapsed_s), format_duration(*remaining_s));
}

std::string ProgressText::line(std::size_t column_count) const {
  const auto text = printable("cg2d: " + task + (part.empty() ? "" : ", " + part));
  const auto end = times();
  constexpr std::string_view cut = "...";
  if (columns_of(text) + end.size() <= column_count) return text + end;
  const auto room = column_count - std::min(column_count, end.size() + cut.size());
  return first_columns(first_columns(text, room).append(cut) + end, column_count);
}

ProgressDisplay::ProgressDisplay(std::optional<int> terminal) : terminal_(terminal) {
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

ProgressDisplay::~ProgressDisplay() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  if (erase()) wait_until_read(STDERR_FILENO);
  if (terminal_ && *terminal_ != STDERR_FILENO) close(*terminal_);
}

void ProgressDisplay::show(ProgressStep step, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (step == ProgressStep::part) {
    text_.part = text;
  } else {
    text_.task = text;
    text_.part.clear();
  }
  said_s_ = stopwatch_.seconds();
  // On a terminal a text that comes right after another one is left to the thread.
  const bool is_shown = terminal_ ? line_is_drawn == 0 || said_s_ >= shown_s_ + shortest_interval_s
                                  : step == ProgressStep::task;
  if (is_shown) draw();
}

void ProgressDisplay::draw_time() {
  const std::lock_guard lock(mutex_);
  if (terminal_ && stopwatch_.seconds() >= shown_s_ + terminal_interval_s) draw();
}

void ProgressDisplay::expect(double remaining_s) {
  const std::lock_guard lock(mutex_);
  end_s_ = stopwatch_.seconds() + remaining_s;
}

bool ProgressDisplay::is_due() {
  if (!terminal_) return true;
  const std::lock_guard lock(mutex_);
  return stopwatch_.seconds() >= said_s_ + terminal_interval_s;
}

/// The thread wakes now to sleep until the end, not in the region.
void ProgressDisplay::change_region_depth(int change) {
  {
    const std::lock_guard lock(mutex_);
    region_depth_ += change;
  }
  changed_.notify_one();
}

bool ProgressDisplay::erase() {
  const std::lock_guard lock(mutex_);
  if (line_is_drawn.exchange(0) == 0) return false;
  write_on_stderr(erase_line);
  return true;
}

void ProgressDisplay::set_held(bool is_held) {
  const std::lock_guard lock(mutex_);
  is_held_ = is_held;
}

/// The thread's work.
void ProgressDisplay::show_time() {
  const double interval_s = terminal_ ? terminal_interval_s : lines_interval_s;
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (region_depth_ > 0) {
      changed_.wait(lock, [this] { return is_over_ || region_depth_ == 0; });
      continue;
    }
    const double due_s = std::max(0.0, shown_s_ + interval_s - stopwatch_.seconds());
    if (due_s > 0.0 || text_.task.empty() || is_held_) {
      changed_.wait_for(lock, std::chrono::duration<double>(std::max(due_s, shortest_interval_s)));
      continue;
    }
    draw();
  }
}

ProgressText ProgressDisplay::text() const {
  auto text = text_;
  text.elapsed_s = stopwatch_.seconds();
  // An expectation that has been wrong says nothing.
  if (end_s_ && *end_s_ > text.elapsed_s) text.remaining_s = *end_s_ - text.elapsed_s;
  return text;
}

/// Elsewhere than on a terminal with the times where they say something.
void ProgressDisplay::draw() {
  constexpr double long_s = 2.0;
  const auto now = text();
  shown_s_ = now.elapsed_s;
  if (!terminal_)
    return write_on_stderr(fmt::format("cg2d: {}{}\n", now.task, now.elapsed_s < long_s ? "" : now.times()));
  if (is_held_ || line_has_ended != 0 || !stderr_takes_text()) return;
  const auto columns = width_of(*terminal_);  // one stays free: a full line would wrap
  line_is_drawn = 1;
  write_on_stderr(fmt::format("\r{}\033[K", now.line(std::max<std::size_t>(columns, 2) - 1)));
}

void end_progress_line() noexcept {
  line_has_ended = 1;
  if (line_is_drawn != 0) write_on_stderr(erase_line);
}

}  // namespace cg2d
