#include "cg/run/watch/life_watch.hpp"

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "cg/base/errors.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/run/watch/exit_watch.hpp"

namespace cg2d {

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
    if (has_others_ && getppid() != parent_) leave_as_orphan();
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

/// Nobody takes the exit code, and perhaps nobody the line.
void LifeWatch::leave_as_orphan() const {
  wait_for_end_pauses();
  remove_names_of_shared_memory();
  std::signal(SIGPIPE, SIG_IGN);
  say_on_stderr("rank " + std::to_string(rank_) + ": the process that started it is gone, so it ends");
  std::_Exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace cg2d
