#include "cg/base/interrupt.hpp"

#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string_view>
#include <thread>

#include "cg/base/errors.hpp"
#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

// A signal handler can reach nothing but a flag like these.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t interrupt_asked = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t writes_a_line = 0;
// The handlers belong to the process, so their users are counted for the process.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int watch_count = 0;
// Where nobody watches: as in any program, unless expect_signals() has been called.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
void (*handler_without_watch)(int) = SIG_DFL;

// The time of the process, which a TimeLimit bounds.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::optional<std::chrono::steady_clock::time_point> time_limit;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
bool time_limit_was_reported = false;

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t end_asked = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t code_of_fault = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
bool ignores_hangup = false;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<int> end_pause_count = 0;

/// An eventfd that wakes the thread which waits for a request: handlers may write to it.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
int end_request = -1;

extern "C" void record_interrupt(int) { interrupt_asked = 1; }

void say_interrupted() {
  constexpr std::string_view line = "cg2d: interrupted by a signal before there was a result\n";
  end_progress_line();
  if (writes_a_line != 0) static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
}

extern "C" void end_by_signal(int signal) {
  say_interrupted();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // waits until the handler returns
}

/// A launcher may end all ranks and drop what it has not yet read as soon as one of them ends: the line needs a moment.
/// All ranks take the same one, since a launcher kills those that are left and may report their end as the program's.
extern "C" void end_by_exit_code(int) {
  constexpr int wait_ms = 300;
  say_interrupted();
  poll(nullptr, 0, wait_ms);  // may be called in a handler
  _exit(static_cast<int>(ExitCode::interrupted));
}

extern "C" void leave_after_fault(int) { _exit(code_of_fault); }

/// Only this rank may know of it, and a launcher that kills the others would report their end as the program's: so MPI ends all, although this
/// is no call for a handler: one that hangs or fails in it leaves by itself. Where all ranks meet it, the one that speaks is first.
extern "C" void end_by_fault(int signal, siginfo_t* info, void* /*context*/) {
  constexpr std::string_view page_line =
      "cg2d: a page of a mapped file is gone (SIGBUS): its device has failed or is full, or the file has "
      "been cut off\n";
  constexpr std::string_view processor_line =
      "cg2d: this processor lacks an instruction of the program or its libraries (SIGILL): they were built "
      "for another one; build them for this one\n";
  const bool is_page = signal == SIGBUS;
  const auto line = is_page ? page_line : processor_line;
  const auto code = static_cast<int>(is_page ? ExitCode::cannot_write : ExitCode::unavailable);
  constexpr int wait_ms = 300;
  constexpr unsigned limit_s = 5;
  std::signal(signal, SIG_DFL);
  if (is_page ? info->si_code != BUS_ADRERR : info->si_code <= 0)
    return;  // an access is repeated, and ends the process
  if (writes_a_line == 0) poll(nullptr, 0, 2 * wait_ms);
  end_progress_line();
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  if (handler_without_watch == &end_by_signal) {
    if (is_page) return;
    _exit(code);  // as all ranks on such processors do
  }
  poll(nullptr, 0, wait_ms);
  int is_finalized = 0;
  if (MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized != 0) _exit(code);
  code_of_fault = code;
  for (const int end : {SIGALRM, SIGSEGV}) std::signal(end, &leave_after_fault);
  alarm(limit_s);
  silence_stderr();
  MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

/// The thread that ends the process may be stuck itself: a second signal does not need it.
extern "C" void ask_for_end(int signal) {
  if (end_asked != 0) return end_by_exit_code(signal);
  end_asked = 1;
  stop_waiting_for_end_request();
}

void set_handler(int signal, void (*handler)(int), int flags) {
  if (signal == SIGHUP && ignores_hangup) handler = SIG_IGN;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void set_handlers_without_watch() {
  for (const int signal : ending_signals) set_handler(signal, handler_without_watch, 0);
}

void watch_faults() {
  struct sigaction action {};
  action.sa_sigaction = &end_by_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGBUS, SIGILL}) sigaction(signal, &action, nullptr);
}

}  // namespace

void expect_signals(SignalEnd end, bool is_speaker) {
  writes_a_line = is_speaker ? 1 : 0;
  if (end_request < 0) end_request = eventfd(0, EFD_CLOEXEC);
  std::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG
  watch_faults();
  handler_without_watch = end == SignalEnd::by_the_signal  ? &end_by_signal
                          : end == SignalEnd::by_exit_code ? &end_by_exit_code
                                                           : &ask_for_end;
  set_handlers_without_watch();
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGUSR1);
  pthread_sigmask(end == SignalEnd::by_the_signal ? SIG_BLOCK : SIG_UNBLOCK, &held, nullptr);
}

void keep_hangup_ignored() {
  ignores_hangup = true;
  std::signal(SIGHUP, SIG_IGN);
}

bool wait_for_end_request(std::chrono::milliseconds longest) {
  pollfd request{.fd = end_request, .events = POLLIN, .revents = 0};
  if (end_asked == 0) poll(&request, 1, static_cast<int>(longest.count()));
  return end_asked != 0;
}

void stop_waiting_for_end_request() {
  const std::uint64_t one = 1;
  static_cast<void>(!write(end_request, &one, sizeof(one)));
}

EndPause::EndPause() { ++end_pause_count; }
EndPause::~EndPause() { --end_pause_count; }

void wait_for_end_pauses() {
  using namespace std::chrono_literals;
  constexpr int most_looks = 1000;
  for (int look = 0; look < most_looks && end_pause_count > 0; ++look) std::this_thread::sleep_for(10ms);
}

InterruptWatch::InterruptWatch(bool heeded) : heeded_(heeded) {
  if (watch_count++ > 0) return;
  interrupt_asked = 0;
  for (const int signal : ending_signals) {
    // Batch systems and the kernel (SIGXCPU, each second) may say again that time is nearly over.
    const bool ends_at_once = signal == SIGINT || signal == SIGTERM;
    set_handler(signal, &record_interrupt, (ends_at_once ? static_cast<int>(SA_RESETHAND) : 0) | SA_RESTART);
  }
}

InterruptWatch::~InterruptWatch() {
  if (--watch_count == 0) set_handlers_without_watch();
}

bool InterruptWatch::asked() const {
  if (!heeded_) return false;
  if (interrupt_asked != 0) return true;
  if (!time_limit || std::chrono::steady_clock::now() < *time_limit) return false;
  time_limit_was_reported = true;
  return true;
}

TimeLimit::TimeLimit(std::optional<double> limit_s) {
  time_limit_was_reported = false;
  if (!limit_s) return;
  using Clock = std::chrono::steady_clock;
  time_limit =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*limit_s));
}

TimeLimit::~TimeLimit() { time_limit.reset(); }

bool TimeLimit::was_reported() const {  // NOLINT(readability-convert-member-functions-to-static)
  return time_limit_was_reported;
}

std::string_view interruption() {
  // The limit of another rank may have begun a moment before.
  constexpr std::chrono::seconds moment{1};
  const bool is_over_time =
      interrupt_asked == 0 && time_limit && std::chrono::steady_clock::now() + moment >= *time_limit;
  return is_over_time ? "stopped at its time limit" : "interrupted by a signal";
}

}  // namespace cg2d
