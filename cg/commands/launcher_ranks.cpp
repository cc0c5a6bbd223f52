#include "cg/commands/launcher_ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cg/base/values.hpp"

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

std::optional<int> number_in(const char* variable) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no variable is set once threads run
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : number_from<int>(text);
}

}  // namespace

int rank_of_launcher() {
  for (const auto& launcher : launchers) {
    if (const auto rank = number_in(launcher.rank)) return *rank;
  }
  return 0;
}

std::optional<LauncherRanks> ranks_of_launcher() {
  for (const auto& launcher : launchers) {
    const auto rank = number_in(launcher.rank);
    if (!rank) continue;
    const auto size = number_in(launcher.size);
    if (size) return LauncherRanks{.rank = *rank, .size = *size, .variable = launcher.rank};
    // There are this one and those before it.
    const bool tells_no_size = *launcher.size == '\0';
    if (tells_no_size)
      return LauncherRanks{
          .rank = *rank, .size = *rank + 1, .size_is_least = true, .variable = launcher.rank};
  }
  return std::nullopt;
}

std::string name_of_mpi() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  text.resize(std::min(text.size(), text.find_first_of("\n,")));
  std::replace(text.begin(), text.end(), '\t', ' ');
  std::erase(text, ':');
  return text;
}

}  // namespace cg2d
