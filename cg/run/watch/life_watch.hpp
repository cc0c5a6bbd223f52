#pragma once

// Ends a rank that is not to go on: the process that started it is gone, or a signal has asked for the end.

#include <sys/types.h>

#include <atomic>
#include <thread>

namespace cg2d {

/// A thread of each rank, from before MPI starts to after its end, so that no wait, of MPI_Init and of set-up neither, lasts for ever:
///
/// - The rank's parent, which is the launcher's process on this host, is gone, by kill -9 or the memory killer: the rank ends
///   within two seconds. Only where there are several ranks; a process by itself may outlive its parent (nohup).
/// - A signal asks for the end and there is no InterruptWatch: one line on stderr, and all ranks end with ExitCode::interrupted.
///   Rank 0 speaks at once, and others where rank 0 has no signal and does not end them before.
///
/// The thread wakes once per second. Where the system gives none, handlers of signals end the process.
class LifeWatch {
 public:
  /// has_others: whether the launcher has started other ranks, as far as the environment tells. Before MPI starts.
  explicit LifeWatch(bool has_others);
  ~LifeWatch();
  LifeWatch(const LifeWatch&) = delete;
  LifeWatch& operator=(const LifeWatch&) = delete;

  /// MPI has started: from here on the watch can end all ranks, and signals ask it to.
  void begin_ending_all(int rank, int rank_count);

 private:
  void watch();
  void end_by_request() const;
  [[noreturn]] void leave_as_orphan() const;

  pid_t parent_;
  std::atomic<bool> has_others_;
  std::atomic<int> rank_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace cg2d
