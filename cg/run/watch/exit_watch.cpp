#include "cg/run/watch/exit_watch.hpp"

#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <system_error>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

/// A thread of that work; none, which is not joinable, where the system has no room for one.
template <typename Work>
[[nodiscard]] std::jthread thread_of(const Work& work) {
  try {
    return std::jthread(work);
  } catch (const std::system_error&) {
    return {};
  }
}

/// Waits so long. False, and at once, where the thread is asked to stop.
bool has_waited(const std::stop_token& stop, std::chrono::duration<double> time) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return !stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

// A signal that nothing else here uses.
int holding_signal() { return SIGRTMAX - 1; }

extern "C" void hold(int /*signal*/) {
  for (;;) pause();
}

/// UCX gives its shared memory names and takes them away in MPI_Finalize; this takes them away where a process leaves without it. Other
/// ranks of this host are on their way out, too, and open none of them any more.
void remove_names_of_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.find("/dev/shm/ucx_shm_posix_");
    if (name != std::string::npos) unlink(line.substr(name).c_str());
  }
}

/// No file gets its name from here on.
void wait_for_files() { static_cast<void>(end_pause().try_lock_for(std::chrono::seconds(10))); }

[[noreturn]] void leave(ExitCode code, const std::string& last_words, pthread_t watched) {
  if (!last_words.empty()) say_on_stderr(last_words);
  remove_names_of_shared_memory();
  // The thread stops for good, wherever it is: last of all, since it may hold a lock of the allocator.
  struct sigaction action {};
  action.sa_handler = &hold;
  if (sigaction(holding_signal(), &action, nullptr) == 0) pthread_kill(watched, holding_signal());
  std::this_thread::sleep_for(holding_time);
  std::_Exit(static_cast<int>(code));
}

}  // namespace

std::jthread watch_exit(ExitCode code, std::chrono::milliseconds limit, const std::string& last_words) {
  return thread_of([=, watched = pthread_self()](const std::stop_token& stop) {
    if (has_waited(stop, limit)) leave(code, last_words, watched);
  });
}

void end_all_ranks(ExitCode code) {
  remove_names_of_shared_memory();
  wait_for_readers_of_stderr();
  abort_all_ranks(code);
}

LifeWatch::LifeWatch(bool has_others) : parent_(getppid()), has_others_(has_others) {
  thread_ = thread_of([this](const std::stop_token& stop) { watch(stop); });
}

LifeWatch::~LifeWatch() {
  thread_.request_stop();
  stop_waiting_for_end_request();
}

void LifeWatch::begin_ending_all(int rank, int rank_count) {
  rank_ = rank;
  has_others_ = rank_count > 1;
  expect_signals(thread_.joinable() ? SignalEnd::by_watch : SignalEnd::by_exit_code, rank == 0);
}

void LifeWatch::watch(const std::stop_token& stop) {
  constexpr std::chrono::seconds interval{1};
  while (!stop.stop_requested()) {
    if (wait_for_end_request(interval)) return end_by_request();
    show_progress_time();
    if (!has_others_ || getppid() == parent_) continue;
    // An orphan: nobody takes the exit code, and perhaps nobody the line.
    wait_for_files();
    remove_names_of_shared_memory();
    std::signal(SIGPIPE, SIG_IGN);
    say_on_stderr("rank " + std::to_string(rank_) + ": the process that started it is gone, so it ends");
    std::_Exit(static_cast<int>(ExitCode::interrupted));
  }
}

void LifeWatch::end_by_request() const {
  // Launchers pass a signal on to all ranks. Rank 0 ends them meanwhile where it has got it, too.
  constexpr std::chrono::milliseconds turn_of_rank_0{500};
  const char* const text = "interrupted by a signal before there was a result";
  if (rank_ == 0) {
    say_last_on_stderr(text);
  } else {
    std::this_thread::sleep_for(turn_of_rank_0);
    say_on_stderr(std::string(text) + " (rank " + std::to_string(rank_) + ")");
  }
  wait_for_files();
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (has_others_ && has_ended == 0) end_all_ranks(ExitCode::interrupted);
  wait_for_readers_of_stderr();
  std::_Exit(static_cast<int>(ExitCode::interrupted));
}

// ---------------------------------------------------------------- a run in which nothing goes on

StallWatch::StallWatch(double limit_s, EndAll end, comm::RankGroup& group, const PhaseTimer& timer,
                       StepObservers& observers)
    : limit_s_(limit_s), end_(std::move(end)), group_(group), timer_(timer), observers_(observers) {
  observers_.add(*this);
  thread_ = thread_of([this](const std::stop_token& stop) { watch(stop); });
}

std::string StallWatch::describe() const {
  std::string place;
  if (const int repeat = repeat_; repeat > 0) place += fmt::format("run {}, ", repeat);
  if (const int outer_step = outer_step_; outer_step > 0)
    place += fmt::format("outer iteration {}, ", outer_step);
  const auto phase = timer_.activity().phase;
  const int awaited = group_.waiter().awaited_rank();
  return fmt::format("{}CG step {}: {}, waits for {}", place, step_.load(),
                     phase ? phase_name(*phase) : "between the phases",
                     awaited == comm::Waiter::no_rank        ? "no rank"
                     : awaited == comm::Waiter::unknown_rank ? "other ranks"
                                                             : fmt::format("rank {}", awaited));
}

StallWatch::Reached StallWatch::reached() const {
  return {timer_.activity().change_count, step_ + ended_step_count_};
}

/// The thread's work.
void StallWatch::watch(const std::stop_token& stop) {
  constexpr double shortest_s = 0.01;
  constexpr double longest_s = 0.25;
  constexpr double looks_per_limit = 20.0;
  const std::chrono::duration<double> interval(std::clamp(limit_s_ / looks_per_limit, shortest_s, longest_s));
  auto seen = reached();
  double idle_s = 0.0;
  Stopwatch stopwatch;
  double looked_s = 0.0;
  while (has_waited(stop, interval)) {
    const double now_s = stopwatch.seconds();
    // Much longer than the interval: this process was stopped, or starved.
    idle_s += std::min(now_s - looked_s, 2.0 * interval.count());
    looked_s = now_s;
    if (const auto now = reached(); now != seen) {
      seen = now;
      idle_s = 0.0;
    }
    if (idle_s < limit_s_) continue;
    if (!end_all(seen, stop)) return;
    // It has gone on meanwhile.
    seen = reached();
    idle_s = 0.0;
    looked_s = stopwatch.seconds();
  }
}

/// Ranks notice it at slightly different times: by a look, and by the time that the last step took them. Returns where the watch is
/// over (false), or where this rank goes on after all (true): each rank decides by itself, so that one that still stands ends all.
bool StallWatch::end_all(const Reached& seen, const std::stop_token& stop) {
  using Seconds = std::chrono::duration<double>;
  constexpr double slack_s = 1.0;
  constexpr double longest_turn_s = 0.02;
  constexpr double all_turns_s = 2.0;
  const double turn = std::min(longest_turn_s, all_turns_s / group_.size());
  if (!has_waited(stop, Seconds(turn * group_.rank()))) return false;
  if (reached() != seen) return true;
  say_on_stderr(fmt::format("rank {}: no progress for {:g} s in {}", group_.rank(), limit_s_, describe()));
  if (!has_waited(stop, Seconds(turn * (group_.size() - group_.rank()) + slack_s))) return false;
  if (reached() != seen) {
    say_on_stderr(fmt::format("rank {}: goes on, so it does not end the run", group_.rank()));
    return true;
  }
  end_(ExitCode::stalled);
  return false;
}

}  // namespace cg2d
