#pragma once

// A bound for the time that MPI takes to end.

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
class ExitWatch {
 public:
  /// From here on no result may be outstanding. `last_words`: one line for stderr, or empty. Where the system
  /// gives no thread there is no watch.
  ExitWatch(ExitCode code, std::chrono::milliseconds limit, std::string last_words);
  /// The watch ends.
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

 private:
  void leave_after(std::chrono::milliseconds limit);

  ExitCode code_;
  std::string last_words_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace cg2d
