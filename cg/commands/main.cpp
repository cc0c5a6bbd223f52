// The program: MPI, command line, and every ending.

#include <fmt/format.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "cg/base/agreement.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/interrupt.hpp"
#include "cg/base/progress.hpp"
#include "cg/blas/blas_library.hpp"
#include "cg/commands/launcher_ranks.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/commands/thread_waiting.hpp"
#include "cg/watch/exit_watch.hpp"
#include "comm/last_exchange.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_group.hpp"
#include "comm/rank_kind.hpp"

namespace {

using cg2d::ExitCode;

/// One line on stderr, from rank 0.
void say_error(int rank, const std::string& text) {
  if (rank == 0) cg2d::say_on_stderr(text);
}

/// Ends every rank when this one cannot go on and the others do not know: the only way out without a hang.
[[noreturn]] void abort_all(ExitCode code, const std::string& text) {
  cg2d::say_on_stderr(text);
  std::fflush(nullptr);
  cg2d::wait_for_readers_of_stderr();
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

/// Throws InputError where the texts of the ranks differ. Collective.
void require_same(const std::string& text, const std::string& complaint, cg2d::comm::RankGroup& group) {
  const auto hash = static_cast<std::int64_t>(std::hash<std::string>{}(text) >> 1);
  if (group.minimum(hash) != group.maximum(hash)) throw cg2d::InputError(complaint);
}

/// Ranks may be started with different arguments (mpiexec's colon syntax), or find different files under one name:
/// they would wait for each other for ever.
void require_same_arguments(int argument_count, char** arguments, cg2d::comm::RankGroup& group) {
  std::string all;
  for (int k = 1; k < argument_count; ++k) all += std::string(arguments[k]) + '\n';
  require_same(all, "the ranks were started with different arguments; start all with the same", group);
  require_same(cg2d::config_file_text(argument_count, arguments),
               "--config: the ranks find different files under its name; put the same file on every node",
               group);
}

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

ExitCode run_program(int argument_count, char** arguments, cg2d::comm::RankGroup& group) {
  const auto launcher = cg2d::ranks_of_launcher();
  if (launcher && group.size() == 1) {
    say_error(launcher->rank,
              fmt::format("the launcher has started {} ranks, but MPI knows one: launcher and program are of "
                          "different MPIs; start cg2d with the launcher of {}",
                          launcher->size, cg2d::name_of_mpi()));
    return ExitCode::unavailable;
  }
  require_same_arguments(argument_count, arguments, group);
  start_openmp(group);
  cg2d::Action action;
  // A file of --config may be unreadable on one rank only.
  cg2d::agree_on(group, [&] { action = cg2d::parse_command_line(argument_count, arguments); });
  return action(group);
}

/// All of the program but the start and the end of MPI. Returns on every rank, or on none.
ExitCode run_on_all_ranks(int argument_count, char** arguments) {
  cg2d::comm::RankGroup group(MPI_COMM_WORLD);
  cg2d::expect_signals(cg2d::SignalEnd::by_exit_code, group.rank() == 0);
  try {
    return run_program(argument_count, arguments, group);
  } catch (const cg2d::RunError& error) {  // thrown on every rank alike
    say_error(group.rank(), error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    abort_all(ExitCode::memory,
              fmt::format("out of memory on rank {}; take a smaller matrix or more nodes", group.rank()));
  } catch (const std::exception& error) {
    abort_all(ExitCode::internal, fmt::format("defect of cg2d on rank {}: {}", group.rank(), error.what()));
  }
}

/// The last that ranks do together, once the results are out. The watch that is made here takes a rank out of
/// an MPI_Finalize that hangs; a simulator, which has all ranks in one process, sees that itself.
ExitCode part(ExitCode code, std::optional<cg2d::ExitWatch>& watch) {
  // MPI ends in tenths of a second. On one host it has never been seen to hang, but a machine may be crowded.
  constexpr std::chrono::seconds limit_between_hosts{3};
  constexpr std::chrono::seconds limit_on_one_host{20};
  std::fflush(nullptr);
  const auto last = cg2d::comm::exchange_last_codes(MPI_COMM_WORLD, static_cast<std::int64_t>(code));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto limit = last.on_several_hosts ? limit_between_hosts : limit_on_one_host;
  const auto agreed = static_cast<ExitCode>(last.largest);
  if (cg2d::comm::has_own_process()) {
    watch.emplace(agreed, limit,
                  rank == 0 ? fmt::format("MPI has not ended within {} s; all results are written, so "
                                          "the ranks leave without it",
                                          limit.count())
                            : std::string());
  }
  cg2d::comm::exchange_and_keep_still(MPI_COMM_WORLD);
  return agreed;
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    cg2d::bound_thread_waiting(argument_count, arguments);
    std::optional<cg2d::ExitWatch> watch;  // goes after the session, whose end it watches
    cg2d::expect_signals(cg2d::SignalEnd::by_the_signal, cg2d::rank_of_launcher() == 0);
    const cg2d::comm::MpiSession session(argument_count, arguments);
    cg2d::keep_blas_on_one_thread();
    return static_cast<int>(part(run_on_all_ranks(argument_count, arguments), watch));
  } catch (const std::exception& error) {
    cg2d::say_on_stderr(fmt::format("MPI failed: {}", error.what()));
    return static_cast<int>(ExitCode::internal);
  }
}
