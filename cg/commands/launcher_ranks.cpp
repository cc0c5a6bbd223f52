#include "cg/commands/launcher_ranks.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cg/base/system_files.hpp"
#include "cg/base/values.hpp"
#include "cg/machine/environment.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {
namespace {

struct LauncherVariables {
  const char* rank;
  const char* size;  ///< empty: the launcher tells none
};

// From the innermost on, where one starts the other: MPICH's, Intel's and Cray's launchers, and srun's for them; Open MPI's;
// MVAPICH2's; jsrun; Flux; srun, which gives its batch step a rank and no size; PMIx's, such as prun.
constexpr std::array launchers{
    LauncherVariables{.rank = "PMI_RANK", .size = "PMI_SIZE"},
    LauncherVariables{.rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"},
    LauncherVariables{.rank = "MV2_COMM_WORLD_RANK", .size = "MV2_COMM_WORLD_SIZE"},
    LauncherVariables{.rank = "JSM_NAMESPACE_RANK", .size = "JSM_NAMESPACE_SIZE"},
    LauncherVariables{.rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE"},
    LauncherVariables{.rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS"},
    LauncherVariables{.rank = "PMIX_RANK", .size = ""}};

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

/// A variable that OpenMP reads when it is loaded, and its value.
using WaitSetting = std::pair<const char*, const char*>;

// Threads that outnumber the processors sleep at once: a spinning one keeps a computing one from running.
constexpr std::array sleeping{WaitSetting("OMP_WAIT_POLICY", "passive")};

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
constexpr std::array spinning_shortly{WaitSetting("GOMP_SPINCOUNT", "4000"),
                                      WaitSetting("KMP_BLOCKTIME", "1")};

}  // namespace

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

std::string name_of_mpi() {
  auto text = mpi_library_version();
  text.resize(std::min(text.size(), text.find(',')));
  std::erase(text, ':');
  return text;
}

void bound_thread_waiting(int argument_count, char** arguments) {
  for (const auto* const name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY"}) {
    if (std::getenv(name) != nullptr) return;
  }
  const std::vector<std::string_view> texts(arguments + std::min(1, argument_count),
                                            arguments + argument_count);
  const int thread_count = most_threads_asked_for(texts);
  // "scaling" has no --threads: it splits as many threads as there are ranks, in every way.
  const bool is_scaling = !texts.empty() && texts.front() == "scaling";
  if (thread_count == 1 && !is_scaling) return;
  const int processor_count = processors_of_launcher();
  const bool is_crowded = processor_count > 0 && thread_count > processor_count / ranks_on_this_node();
  // Not /proc/self/exe itself: the process would be called "exe".
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  for (const auto& [name, value] : is_crowded ? std::span<const WaitSetting>(sleeping) : spinning_shortly) {
    if (setenv(name, value, 1) != 0) return;
  }
  execv(program.c_str(), arguments);
  // The new start failed: this process goes on, and its threads spin by OpenMP's own default.
}

}  // namespace cg2d
