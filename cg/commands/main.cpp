// The program: MPI, command line, and every ending.

#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "cg/base/interrupt.hpp"
#include "cg/base/process_memory.hpp"
#include "cg/base/progress.hpp"
#include "cg/base/system_files.hpp"
#include "cg/commands/subcommand.hpp"
#include "cg/machine/blas/blas_library.hpp"
#include "cg/machine/environment.hpp"
#include "cg/run/watch/exit_watch.hpp"
#include "cg/solver/configuration.hpp"
#include "comm/last_exchange.hpp"
#include "comm/mpi_handles.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d {
namespace {

// ---------------------------------------------------------------- what the launcher's environment tells before MPI is there

/// The ranks as a launcher counts them.
struct LauncherRanks {
  int rank = 0;
  int size = 1;
  bool size_is_least = false;  ///< the launcher tells no size: there may be more
  const char* variable = "";   ///< of the environment, that has the rank
};

struct LauncherVariables {
  const char* rank;
  const char* size;  ///< empty: the launcher tells none
};

// From the innermost on, where one starts the other: MPICH's, Intel's and Cray's launchers, and srun's for them; Open MPI's;
// MVAPICH2's; jsrun; Flux; srun, which gives its batch step a rank and no size; PMIx's, such as prun.
constexpr auto launchers = std::to_array<LauncherVariables>({{"PMI_RANK", "PMI_SIZE"},
                                                             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                             {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                                             {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
                                                             {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
                                                             {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                                             {"PMIX_RANK", ""}});

/// The numbers in the environment that the innermost launcher which tells both gave this process, or the rank alone where that is
/// all that it tells; nothing without a launcher. In a batch script of Slurm there is a rank and no size, and no
/// launcher. An MPI that knows one rank only where there are several is not that launcher's, and each of the
/// processes would make a run of its own.
std::optional<LauncherRanks> ranks_of_launcher() {
  for (const auto& launcher : launchers) {
    const auto rank = number_from<int>(environment_variable(launcher.rank));
    const auto size = number_from<int>(environment_variable(launcher.size));
    const bool tells_no_size = *launcher.size == '\0';  // there are this rank and those before it
    if (rank && (size || tells_no_size))
      return LauncherRanks{.rank = *rank,
                           .size = size.value_or(*rank + 1),
                           .size_is_least = tells_no_size,
                           .variable = launcher.rank};
  }
  return std::nullopt;
}

/// The number that a text begins with; 0 without one.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Processors that this process or its parent may run on, and that a quota of time pays for. The parent may be
/// the launcher, which may run on all processors of its ranks where it has bound each rank to some of them.
int processors_of_launcher() {
  cpu_set_t own;
  cpu_set_t parent;
  CPU_ZERO(&own);
  CPU_ZERO(&parent);
  sched_getaffinity(0, sizeof(own), &own);
  sched_getaffinity(getppid(), sizeof(parent), &parent);
  CPU_OR(&own, &own, &parent);
  const auto quota = control_group_limits().processors.value_or(CPU_COUNT(&own));
  return std::min(CPU_COUNT(&own), std::max(1, static_cast<int>(quota)));
}

/// The largest number of threads of a rank that the command line asks for, 1 if it asks for none. The
/// arguments, without the program's name, need not be valid.
int most_threads_asked_for(std::span<const std::string_view> arguments) {
  const auto option = configuration_axis("threads").option;
  int most = 1;
  bool is_list = false;  // "--threads 1 2" is one as well
  for (auto argument : arguments) {
    const bool is_option = argument.starts_with(option);
    if (is_option) argument.remove_prefix(option.size());
    is_list =
        is_option ? argument.empty() || argument.starts_with('=') : is_list && leading_number(argument) > 0;
    if (argument.starts_with('=')) argument.remove_prefix(1);
    if (!is_list) continue;
    for (const auto& number : split_at(argument, ',')) most = std::max(most, leading_number(number));
  }
  return most;
}

/// The number that the launcher's environment names; 1 without a launcher that names one.
int ranks_on_this_node() {
  // MPICH's and Intel's mpiexec, Open MPI's, Cray's, and srun ("4(x2),3": the first nodes have the most).
  for (const auto* const name :
       {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"}) {
    if (const auto text = environment_variable(name); !text.empty()) return std::max(1, leading_number(text));
  }
  return 1;
}

/// Starts this program anew where ranks have several threads, with the environment that bounds their waiting:
/// they spin for a fraction of a millisecond and then sleep, or sleep at once (OMP_WAIT_POLICY=passive) if the
/// threads of all ranks of the node outnumber its processors. OpenMP sees only its own process's threads, and
/// reads its environment when it is loaded. Returns if nothing is to be changed: with one thread per rank,
/// after the new start, or where the user has set OpenMP's waiting. Local; to be called before MPI is
/// initialised.
void bound_thread_waiting(int argument_count, char** arguments) {
  for (const auto* const name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"}) {
    if (std::getenv(name) != nullptr) return;
  }
  const std::vector<std::string_view> texts(arguments + std::min(1, argument_count),
                                            arguments + argument_count);
  const int thread_count = most_threads_asked_for(texts);
  // "scaling" has no --threads: it splits as many threads as there are ranks, in every way. The list of a
  // "batch" may have some, and a file of --config.
  const bool may_have_more =
      !texts.empty() && (texts.front() == "scaling" || texts.front() == "batch" ||
                         std::ranges::any_of(texts, [](auto text) { return text.starts_with("--config"); }));
  if (thread_count == 1 && !may_have_more) return;
  const int processor_count = processors_of_launcher();
  const bool is_crowded = processor_count > 0 && thread_count > processor_count / ranks_on_this_node();
  // Not /proc/self/exe itself: the process would be called "exe".
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  // Threads that outnumber the processors sleep at once: a spinning one keeps a computing one from running.
  //
  // Others spin for about as long as it takes to wake a thread that sleeps, and then sleep: a wait costs at most
  // twice the best (Karlin, Li, Manasse and Owicki, "Empirical studies of competitive spinning for a
  // shared-memory multiprocessor", SOSP 1991, section 2), and a thread whose partner has lost its processor
  // gives its own away. A turn of GCC's loop takes 26 ns on Zen 4, so 4000 turns 0.1 ms. GCC's default takes
  // 8 ms, twice a slice of the scheduler. LLVM's library counts in whole milliseconds, by default 200.
  // Zen 4, 2 cores, 2026-11-22, class A on 1 x 2 threads, in turns, medians in s; loaded: one busy process per
  // core; second table: 31 (quiet) and 11 (loaded) pairs:
  //   turns   passive  1000    2000    5000    10000   20000   100000  300000 (default)
  //   quiet   0.2204   0.1163  0.1142  0.1151  0.1146  0.1164          0.1147
  //   loaded  0.572    0.395                   0.433           0.635   1.104
  //   turns   4000    300000 (default)
  //   quiet   0.1061  0.1062
  //   loaded  0.251   0.448
  const auto set = [](const char* name, const char* value) { return setenv(name, value, 1) == 0; };
  const bool is_set = is_crowded ? set("OMP_WAIT_POLICY", "passive")
                                 : set("GOMP_SPINCOUNT", "4000") && set("KMP_BLOCKTIME", "1");
  if (!is_set) return;
  execv(program.c_str(), arguments);
  // The new start failed: this process goes on, and its threads spin by OpenMP's own default.
}

// ---------------------------------------------------------------- between the start and the end of MPI

/// Starts OpenMP on every rank; those with the same process id do so one after another, in rank order.
/// LLVM's library registers its process at its first call, in /dev/shm by process id and user. Ranks in
/// containers of their own that share /dev/shm may agree in both. A rank that finds the other's registration
/// half-written ends with "OMP: Error #15: ... found unknown library already initialized" (LLVM 14).
/// Collective. Cost: one gather, and a barrier for each rank with the same process id.
void start_openmp(comm::RankGroup& group) {
  const std::array own{int64_t{getpid()}};
  const auto process_ids = group.gather_all(std::span<const int64_t>(own));
  const auto turn = std::count_if(process_ids.begin(), process_ids.begin() + group.rank(),
                                  [&](const auto& other) { return other.front() == own.front(); });
  const auto last_turn = group.maximum(int64_t{turn});
  for (int64_t now = 0; now <= last_turn; ++now) {
    if (now == turn) omp_get_max_threads();
    group.barrier();
  }
}

/// Whether the launcher has started several ranks where MPI knows one. Of a launcher that tells no number, the first rank cannot know
/// whether there are others: then it is a stray where MPI has not been started by any (MPI-4.0, section 11.10.3: MPI_APPNUM).
bool is_stray(const LauncherRanks& launcher) {
  void* number = nullptr;
  int knows_launcher = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &knows_launcher);
  return launcher.size > 1 || (launcher.size_is_least && knows_launcher == 0);
}

/// All of the program but the start and the end of MPI. Returns on every rank, or on none.
ExitCode run_on_all_ranks(const std::vector<std::string>& arguments) {
  comm::RankGroup group(MPI_COMM_WORLD);
  const auto launcher = ranks_of_launcher();
  if (launcher && group.size() == 1 && is_stray(*launcher)) {
    const auto started = launcher->size_is_least
                             ? fmt::format("this process as one of its ranks ({})", launcher->variable)
                             : fmt::format("{} ranks", launcher->size);
    if (launcher->rank == 0)
      say_on_stderr(fmt::format(
          "the launcher has started {}, but MPI knows one: launcher and program are of different MPIs; start "
          "cg2d with the launcher of {}, or, for a run of one rank, with {} unset",
          started, mpi_library_version(), launcher->variable));
    return ExitCode::unavailable;
  }
  start_openmp(group);
  return do_command_line(arguments, group);
}

/// The last that ranks do together, once the results are out. The watch that is made here takes a rank out of
/// an MPI_Finalize that hangs; a simulator, which has all ranks in one process, sees that itself.
ExitCode part(ExitCode code, std::jthread& watch) {
  // MPI ends in tenths of a second. On one host it has never been seen to hang, but a machine may be crowded.
  constexpr std::chrono::seconds limit_between_hosts{3};
  constexpr std::chrono::seconds limit_on_one_host{20};
  std::fflush(nullptr);
  const auto last = comm::exchange_last_codes(MPI_COMM_WORLD, static_cast<int64_t>(code));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto limit = last.on_several_hosts ? limit_between_hosts : limit_on_one_host;
  const auto agreed = static_cast<ExitCode>(last.largest);
  if (comm::has_own_process())
    watch = watch_exit(
        agreed, limit,
        rank == 0
            ? fmt::format(
                  "MPI has not ended within {} s; all results are written, so the ranks leave without it",
                  limit.count())
            : std::string());
  comm::exchange_and_keep_still(MPI_COMM_WORLD);
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
  constexpr size_t signal_set_bytes = 8;
  syscall(SYS_rt_sigaction, SIGHUP, nullptr, &action, signal_set_bytes);
  hangup_was_ignored = action.handler == SIG_IGN;
}
#ifndef CG2D_IS_LOADED  // the simulator's libraries have no such list
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the linker's list has pointers to functions
[[gnu::section(".preinit_array"), gnu::used]] void (*const record_hangup_first)(int, char**,
                                                                                char**) = &record_hangup;
#endif

}  // namespace
}  // namespace cg2d

int main(int argument_count, char** arguments) {
  try {
    cg2d::secure_standard_descriptors();
    cg2d::keep_heap_small_where_limited();
    if (cg2d::hangup_was_ignored) std::signal(SIGHUP, SIG_IGN);  // a new start keeps that
    cg2d::bound_thread_waiting(argument_count, arguments);
    std::optional<cg2d::LifeWatch> life_watch;  // ends this rank where it can end its process
    std::jthread watch;                         // goes after the session, whose end it watches
    if (cg2d::hangup_was_ignored) cg2d::keep_hangup_ignored();
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
    return static_cast<int>(
        cg2d::part(cg2d::run_on_all_ranks({arguments, arguments + argument_count}), watch));
  } catch (const std::exception& error) {
    cg2d::say_on_stderr(fmt::format("MPI failed: {}", error.what()));
    return static_cast<int>(cg2d::ExitCode::internal);
  }
}
