#include "cg/run/watch/exit_watch.hpp"

#include <mpi.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <system_error>
#include <utility>

#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

// A signal that nothing else here uses.
int holding_signal() { return SIGRTMAX - 1; }

extern "C" void hold(int /*signal*/) {
  for (;;) pause();
}

}  // namespace

void remove_names_of_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.find("/dev/shm/ucx_shm_posix_");
    if (name != std::string::npos) unlink(line.substr(name).c_str());
  }
}

bool has_waited(const std::stop_token& stop, std::chrono::duration<double> time) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return !stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

ExitWatch::ExitWatch(ExitCode code, std::chrono::milliseconds limit, std::string last_words)
    : code_(code), last_words_(std::move(last_words)), watched_(pthread_self()) {
  try {
    thread_ = std::jthread([this, limit](const std::stop_token& stop) {
      if (has_waited(stop, limit)) leave();
    });
  } catch (const std::system_error&) {  // no room for a thread: the end is not watched
  }
}

void ExitWatch::leave() const {
  if (!last_words_.empty()) say_on_stderr(last_words_);
  remove_names_of_shared_memory();
  // The thread stops for good, wherever it is: last of all, since it may hold a lock of the allocator.
  struct sigaction action {};
  action.sa_handler = &hold;
  if (sigaction(holding_signal(), &action, nullptr) == 0) pthread_kill(watched_, holding_signal());
  std::this_thread::sleep_for(holding_time);
  std::_Exit(static_cast<int>(code_));
}

void end_all_ranks(ExitCode code) {
  remove_names_of_shared_memory();
  wait_for_readers_of_stderr();
  // MPI_Abort takes along ranks that are stopped. Where it hangs itself, this rank leaves alone.
  constexpr std::chrono::seconds limit{5};
  try {
    std::thread([code, limit] {
      std::this_thread::sleep_for(limit);
      std::_Exit(static_cast<int>(code));
    }).detach();
  } catch (const std::system_error&) {  // no room for a thread
  }
  silence_stderr();
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

LifeWatch::LifeWatch(bool has_others) : parent_(getppid()), has_others_(has_others) {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // no room for a thread
  }
}

LifeWatch::~LifeWatch() {
  is_over_ = true;
  stop_waiting_for_end_request();
  if (thread_.joinable()) thread_.join();
}

void LifeWatch::begin_ending_all(int rank, int rank_count) {
  rank_ = rank;
  has_others_ = rank_count > 1;
  expect_signals(thread_.joinable() ? SignalEnd::by_watch : SignalEnd::by_exit_code, rank == 0);
}

void LifeWatch::watch() {
  constexpr std::chrono::seconds interval{1};
  while (!is_over_) {
    if (wait_for_end_request(interval)) return end_by_request();
    if (!has_others_ || getppid() == parent_) continue;
    // An orphan: nobody takes the exit code, and perhaps nobody the line.
    wait_for_end_pauses();
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
  wait_for_end_pauses();
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  if (has_others_ && has_ended == 0) end_all_ranks(ExitCode::interrupted);
  wait_for_readers_of_stderr();
  std::_Exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace cg2d
