#include "cg/base/interrupt.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

// A signal handler can reach nothing but flags like these. NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)

/// Bits of the signals that watches have been told of.
volatile std::sig_atomic_t watched_signals = 0;
volatile std::sig_atomic_t writes_a_line = 0;
volatile std::sig_atomic_t end_asked = 0;
volatile std::sig_atomic_t code_of_abort = 0;
/// When a watch was told of one that was new.
std::atomic<std::chrono::steady_clock::rep> told_at = 0;
/// Handlers belong to the process, so their users are counted for the process.
std::atomic<int> watch_count = 0;
/// How a signal ends the process where nobody watches.
std::atomic<SignalEnd> end_without_watch = SignalEnd::by_the_signal;
bool ignores_hangup = false;
/// An eventfd that wakes the thread which waits for a request: handlers may write to it.
int end_request = -1;
/// The time of the process, which a TimeLimit bounds.
std::optional<std::chrono::steady_clock::time_point> time_limit;
bool time_limit_was_reported = false;

// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// A launcher may end all ranks and drop what it has not yet read as soon as one of them ends: the line needs a moment.
/// All ranks take the same one, since a launcher kills those that are left and may report their end as the program's.
constexpr int moment_ms = 300;

extern "C" void take_signal(int signal) {
  if (watch_count > 0) {
    const int bit = 1 << signal;
    const bool is_again = (watched_signals & bit) != 0;
    watched_signals = watched_signals | bit;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    if (!is_again) told_at = now.count();
    // `timeout mpiexec ...` signals the launcher and its group, and the launcher passes both on at once: that is one request.
    const bool is_echo = now - std::chrono::steady_clock::duration(told_at) < std::chrono::seconds(1);
    // Batch systems and the kernel (SIGXCPU, each second) may say again that time is nearly over.
    if (!is_again || is_echo || (signal != SIGINT && signal != SIGTERM)) return;
    std::signal(signal, SIG_DFL);
    std::raise(signal);  // waits until the handler returns
    return;
  }
  // The thread that ends the process may be stuck itself: a second signal does not need it.
  if (end_without_watch == SignalEnd::by_watch && end_asked == 0) {
    end_asked = 1;
    return stop_waiting_for_end_request();
  }
  constexpr std::string_view line = "cg2d: interrupted by a signal before there was a result\n";
  end_progress_line();
  if (writes_a_line != 0) static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  if (end_without_watch == SignalEnd::by_the_signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  poll(nullptr, 0, moment_ms);  // may be called in a handler
  _exit(static_cast<int>(ExitCode::interrupted));
}

extern "C" void leave_after_abort(int) { _exit(code_of_abort); }

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
  const auto code = is_page ? ExitCode::cannot_write : ExitCode::unavailable;
  std::signal(signal, SIG_DFL);
  if (is_page ? info->si_code != BUS_ADRERR : info->si_code <= 0)
    return;  // an access is repeated, and ends the process
  if (writes_a_line == 0) poll(nullptr, 0, 2 * moment_ms);
  end_progress_line();
  static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  if (end_without_watch == SignalEnd::by_the_signal) {
    if (is_page) return;
    _exit(static_cast<int>(code));  // as all ranks on such processors do
  }
  poll(nullptr, 0, moment_ms);
  int is_finalized = 0;
  if (MPI_Finalized(&is_finalized) == MPI_SUCCESS && is_finalized != 0) _exit(static_cast<int>(code));
  abort_all_ranks(code);
}

void set_handlers() {
  struct sigaction action {};
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : ending_signals) {
    action.sa_handler = signal == SIGHUP && ignores_hangup ? SIG_IGN : &take_signal;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace

void abort_all_ranks(ExitCode code) {
  constexpr unsigned limit_s = 5;
  code_of_abort = static_cast<int>(code);
  for (const int end : {SIGALRM, SIGSEGV}) std::signal(end, &leave_after_abort);
  alarm(limit_s);
  // MPI_Abort has lines of its own, which would follow the one that says why.
  if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  MPI_Abort(MPI_COMM_WORLD, code_of_abort);
  _exit(code_of_abort);
}

void expect_signals(SignalEnd end, bool is_speaker) {
  writes_a_line = is_speaker ? 1 : 0;
  if (end_request < 0) end_request = eventfd(0, EFD_CLOEXEC);
  std::signal(SIGXFSZ, SIG_IGN);  // write() then fails with EFBIG
  struct sigaction fault {};
  fault.sa_sigaction = &end_by_fault;
  fault.sa_flags = SA_SIGINFO;
  sigemptyset(&fault.sa_mask);
  for (const int signal : {SIGBUS, SIGILL}) sigaction(signal, &fault, nullptr);
  end_without_watch = end;
  set_handlers();
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
  const uint64_t one = 1;
  static_cast<void>(!write(end_request, &one, sizeof(one)));
}

std::timed_mutex& end_pause() {
  static std::timed_mutex one;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
  return one;
}

InterruptWatch::InterruptWatch(bool heeded) : heeded_(heeded) {
  if (watch_count == 0) watched_signals = 0;
  if (watch_count++ == 0) set_handlers();
}

InterruptWatch::~InterruptWatch() { --watch_count; }

bool InterruptWatch::asked() const {
  if (!heeded_) return false;
  if (watched_signals != 0) return true;
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
      watched_signals == 0 && time_limit && std::chrono::steady_clock::now() + moment >= *time_limit;
  return is_over_time ? "stopped at its time limit" : "interrupted by a signal";
}

}  // namespace cg2d
