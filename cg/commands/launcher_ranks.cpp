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
  const char* size;  ///< empty: not read
};

// MPICH's, Intel's and Cray's launchers; those of PMIx; Open MPI's; srun.
constexpr std::array launchers{
    LauncherVariables{.rank = "PMI_RANK", .size = "PMI_SIZE"},
    LauncherVariables{.rank = "PMIX_RANK", .size = ""},
    LauncherVariables{.rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"},
    LauncherVariables{.rank = "SLURM_PROCID", .size = ""}};

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
    const auto size = number_in(launcher.size);
    if (rank && size && *size > 1) return LauncherRanks{.rank = *rank, .size = *size};
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
