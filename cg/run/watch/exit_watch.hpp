#pragma once

// A bound for the time that MPI takes to end.

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "cg/base/errors.hpp"

namespace cg2d {

/// Ends the process with a code when the object still exists after some time. For the end of a run, when its
/// results are out and all ranks know the code, but MPI_Finalize may hang: launchers take the code of a
/// process that leaves without it.
///
/// Before a process leaves, the watched thread is held for some time, in which the watches of all ranks come
/// to their end. Otherwise the first rank that leaves might let another one go on: one that waited for it in
/// UCX now comes to PMI's barrier, MPICH's mpiexec answers to all hosts, and ends by SIGPIPE (code 141), since
/// the first one's is gone. (1 of 50 runs by `put` on 4 x 1 pretended hosts.)
class ExitWatch {
 public:
  static constexpr std::chrono::milliseconds holding_time{500};

  /// Watches the calling thread. From here on no result may be outstanding. `last_words`: one line for stderr,
  /// or empty. Where the system gives no thread there is no watch.
  ExitWatch(ExitCode code, std::chrono::milliseconds limit, std::string last_words);
  /// The watch ends.
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

 private:
  void leave_after(std::chrono::milliseconds limit);

  ExitCode code_;
  std::string last_words_;
  pthread_t watched_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// UCX gives its shared memory names and takes them away in MPI_Finalize; this takes them away where a process leaves without it. Other
/// ranks of this host are on their way out, too, and open none of them any more.
void remove_names_of_shared_memory();

/// Ends all ranks with this code at once, from any thread, also where this rank's main thread is within MPI. No result may be
/// outstanding. Does not return.
[[noreturn]] void end_all_ranks(ExitCode code);

}  // namespace cg2d
