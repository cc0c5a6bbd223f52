#pragma once

// Signals that ask the process to end: a request to stop where somebody looks at it, and the end with a message elsewhere.

#include <array>
#include <chrono>
#include <csignal>
#include <mutex>
#include <optional>
#include <string_view>

#include "cg/base/errors.hpp"

namespace cg2d {

/// The terminal's, the user's, and those by which batch systems say that a job's time is nearly over (sbatch --signal=USR1@60,
/// qsub -notify, a limit of processor time).
inline constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

/// How a signal ends a process that nobody watches.
enum class SignalEnd {
  /// Before MPI has started: a launcher takes a rank that exits there for one that has no business with MPI, and lets the others
  /// wait for it.
  by_the_signal,
  by_exit_code,  ///< the handler leaves with ExitCode::interrupted
  by_watch,      ///< the handler wakes the thread that waits for_end_request(), which ends all ranks
};

/// From this call on, which comes before MPI starts, and again when it has started, a signal ends the process with
/// a line on stderr, unless there is an InterruptWatch. Files that are being written leave nothing behind: they
/// have no names yet, see OutputFile. A file that grows beyond its limit (ulimit -f) is an error of writing, no
/// signal; so is a page of a mapped file that is gone (SIGBUS): one line, and the code cannot_write. An instruction that the processor lacks
/// (SIGILL): one line, and the code unavailable. is_speaker: whether a handler writes
/// the line; one rank is enough.
///
/// Libraries take signals for themselves: UCX SIGHUP (it begins to log), before main(), and MPICH SIGUSR1 (it looks for failed
/// ranks, and a single process for ever), in MPI_Init. The second call takes them back; until then SIGUSR1 waits.
void expect_signals(SignalEnd end, bool is_speaker);
/// SIGHUP stays ignored, as nohup has asked for. Before expect_signals().
void keep_hangup_ignored();

/// Waits until a signal has asked for the end of the process by_watch, or for so long. True: it has.
bool wait_for_end_request(std::chrono::milliseconds longest);
/// wait_for_end_request() returns at once. May be called in a handler.
void stop_waiting_for_end_request();

/// Held while a file takes steps that belong together, and by the thread that ends the process, which waits for it for ten seconds at most.
std::timed_mutex& end_pause();

/// Ends all ranks by MPI_Abort, which takes along ranks that are stopped; where it hangs or fails itself, this rank leaves alone after five
/// seconds. Nothing more is seen on stderr. May be called in a handler.
[[noreturn]] void abort_all_ranks(ExitCode code);

/// Catches the ending signals during its lifetime; a second SIGINT or SIGTERM ends the process at once.
class InterruptWatch {
 public:
  /// Watches may be nested. One that is not `heeded` never reports a request, and leaves it to the outer
  /// watch.
  explicit InterruptWatch(bool heeded = true);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool asked() const;

 private:
  bool heeded_;
};

/// Once so many seconds are over, every heeded InterruptWatch reports a request, as if a signal had come. One at a time. Not where nobody
/// watches: nothing ends there.
class TimeLimit {
 public:
  /// Without a value: none.
  explicit TimeLimit(std::optional<double> limit_s);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  /// Whether a watch has reported it.
  bool was_reported() const;
};

/// For messages, after a watch of any rank has reported a request: "interrupted by a signal", or by a TimeLimit.
std::string_view interruption();

}  // namespace cg2d
