// The program: MPI, command line, and every ending.

#include <fmt/format.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cg/base/errors.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/output_file.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/commands/launcher_ranks.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "comm/last_exchange.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"
#include "comm/rank_kind.hpp"

namespace {

using cg2d::ExitCode;

/// Starts OpenMP on every rank; those with the same process id do so one after another, in rank order.
/// LLVM's library registers its process at its first call, in /dev/shm by process id and user. Ranks in
/// containers of their own that share /dev/shm may agree in both. A rank that finds the other's registration
/// half-written ends with "OMP: Error #15: ... found unknown library already initialized" (LLVM 14).
/// Collective. Cost: one gather, and a barrier for each rank with the same process id.
void start_openmp(cg2d::comm::RankGroup& group) {
  const std::array own{std::int64_t{getpid()}};
  const auto process_ids = group.gather_all(std::span<const std::int64_t>(own));
  const auto turn = std::count_if(process_ids.begin(), process_ids.begin() + group.rank(),
                                  [&](const auto& other) { return other.front() == own.front(); });
  const auto last_turn = group.maximum(std::int64_t{turn});
  for (std::int64_t now = 0; now <= last_turn; ++now) {
    if (now == turn) omp_get_max_threads();
    group.barrier();
  }
}

/// Whether the launcher has started several ranks where MPI knows one. Of a launcher that tells no number, the first rank cannot know
/// whether there are others: then it is a stray where MPI has not been started by any (MPI-4.0, section 11.10.3: MPI_APPNUM).
bool is_stray(const cg2d::LauncherRanks& launcher) {
  void* number = nullptr;
  int knows_launcher = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &knows_launcher);
  return launcher.size > 1 || (launcher.size_is_least && knows_launcher == 0);
}

/// All of the program but the start and the end of MPI. Returns on every rank, or on none.
ExitCode run_on_all_ranks(const std::vector<std::string>& arguments) {
  cg2d::comm::RankGroup group(MPI_COMM_WORLD);
  const auto launcher = cg2d::ranks_of_launcher();
  if (launcher && group.size() == 1 && is_stray(*launcher)) {
    const auto started = launcher->size_is_least
                             ? fmt::format("this process as one of its ranks ({})", launcher->variable)
                             : fmt::format("{} ranks", launcher->size);
    if (launcher->rank == 0)
      cg2d::say_on_stderr(fmt::format(
          "the launcher has started {}, but MPI knows one: launcher and program are of different MPIs; start "
          "cg2d with the launcher of {}, or, for a run of one rank, with {} unset",
          started, cg2d::name_of_mpi(), launcher->variable));
    return ExitCode::unavailable;
  }
  start_openmp(group);
  return cg2d::do_command_line(arguments, group);
}

/// The last that ranks do together, once the results are out. The watch that is made here takes a rank out of
/// an MPI_Finalize that hangs; a simulator, which has all ranks in one process, sees that itself.
ExitCode part(ExitCode code, std::jthread& watch) {
  // MPI ends in tenths of a second. On one host it has never been seen to hang, but a machine may be crowded.
  constexpr std::chrono::seconds limit_between_hosts{3};
  constexpr std::chrono::seconds limit_on_one_host{20};
  std::fflush(nullptr);
  const auto last = cg2d::comm::exchange_last_codes(MPI_COMM_WORLD, static_cast<std::int64_t>(code));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto limit = last.on_several_hosts ? limit_between_hosts : limit_on_one_host;
  const auto agreed = static_cast<ExitCode>(last.largest);
  if (cg2d::comm::has_own_process())
    watch = cg2d::watch_exit(
        agreed, limit,
        rank == 0
            ? fmt::format(
                  "MPI has not ended within {} s; all results are written, so the ranks leave without it",
                  limit.count())
            : std::string());
  cg2d::comm::exchange_and_keep_still(MPI_COMM_WORLD);
  return agreed;
}

/// Whether SIGHUP was ignored when the program was started: nohup. UCX's library takes the signal before main(), but this runs
/// before that. By the system call itself, since sanitizers watch the C library's and are not ready yet.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
bool hangup_was_ignored = false;

__attribute__((no_sanitize("address", "thread", "undefined"), unused)) void record_hangup(
    int /*count*/, char** /*arguments*/, char** /*environment*/) {
  struct {
    void (*handler)(int);
    unsigned long others[16];
  } action{};
  constexpr std::size_t signal_set_bytes = 8;
  syscall(SYS_rt_sigaction, SIGHUP, nullptr, &action, signal_set_bytes);
  hangup_was_ignored = action.handler == SIG_IGN;
}
#ifndef CG2D_IS_LOADED  // the simulator's libraries have no such list
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the linker's list has pointers to functions
[[gnu::section(".preinit_array"), gnu::used]] void (*const record_hangup_first)(int, char**,
                                                                                char**) = &record_hangup;
#endif

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    cg2d::secure_standard_descriptors();
    cg2d::keep_heap_small_where_limited();
    if (hangup_was_ignored) std::signal(SIGHUP, SIG_IGN);  // a new start keeps that
    cg2d::bound_thread_waiting(argument_count, arguments);
    std::optional<cg2d::LifeWatch> life_watch;  // ends this rank where it can end its process
    std::jthread watch;                         // goes after the session, whose end it watches
    if (hangup_was_ignored) cg2d::keep_hangup_ignored();
    const auto launcher = cg2d::ranks_of_launcher();
    cg2d::expect_signals(cg2d::SignalEnd::by_the_signal, !launcher || launcher->rank == 0);
    if (cg2d::comm::has_own_process()) life_watch.emplace(launcher && launcher->size > 1);
    const cg2d::comm::MpiSession session(argument_count, arguments);
    int rank = 0;
    int rank_count = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    if (life_watch) {
      life_watch->begin_ending_all(rank, rank_count);
    } else {
      cg2d::expect_signals(cg2d::SignalEnd::by_exit_code, rank == 0);
    }
    cg2d::keep_blas_on_one_thread();
    return static_cast<int>(part(run_on_all_ranks({arguments, arguments + argument_count}), watch));
  } catch (const std::exception& error) {
    cg2d::say_on_stderr(fmt::format("MPI failed: {}", error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}
