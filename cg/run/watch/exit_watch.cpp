#include "cg/run/watch/exit_watch.hpp"

#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

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

bool has_waited(const std::stop_token& stop, std::chrono::duration<double> time) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return !stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

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

}  // namespace cg2d
