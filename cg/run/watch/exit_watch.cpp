#include "cg/run/watch/exit_watch.hpp"

#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "cg/base/progress.hpp"

namespace cg2d {
namespace {

// A signal that nothing else here uses.
int holding_signal() { return SIGRTMAX - 1; }

extern "C" void hold(int /*signal*/) {
  for (;;) pause();
}

/// Stops a thread for good, wherever it is.
void hold_thread(pthread_t thread) {
  struct sigaction action {};
  action.sa_handler = &hold;
  if (sigaction(holding_signal(), &action, nullptr) == 0) pthread_kill(thread, holding_signal());
}

}  // namespace

void remove_names_of_shared_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto name = line.find("/dev/shm/ucx_shm_posix_");
    if (name != std::string::npos) unlink(line.substr(name).c_str());
  }
}

ExitWatch::ExitWatch(ExitCode code, std::chrono::milliseconds limit, std::string last_words)
    : code_(code), last_words_(std::move(last_words)), watched_(pthread_self()) {
  try {
    thread_ = std::thread([this, limit] { leave_after(limit); });
  } catch (const std::system_error&) {  // no room for a thread: the end is not watched
  }
}

ExitWatch::~ExitWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ExitWatch::leave_after(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (changed_.wait_for(lock, limit, [this] { return is_over_; })) return;
  if (!last_words_.empty()) say_on_stderr(last_words_);
  remove_names_of_shared_memory();
  // Last of all, since the thread may hold a lock of the allocator.
  hold_thread(watched_);
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

}  // namespace cg2d
