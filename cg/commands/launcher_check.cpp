#include "cg/commands/launcher_check.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace cg2d {
namespace {

struct LauncherVariables {
  const char* rank;
  const char* size;
};

// MPICH's, Intel's and Cray's launchers, and Open MPI's.
constexpr std::array launchers{
    LauncherVariables{.rank = "PMI_RANK", .size = "PMI_SIZE"},
    LauncherVariables{.rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"}};

std::optional<int> number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text(value);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<LauncherRanks> ranks_of_launcher() {
  for (const auto& launcher : launchers) {
    const auto rank = number_in(launcher.rank);
    const auto size = number_in(launcher.size);
    if (rank && size && *size > 1) return LauncherRanks{.rank = *rank, .size = *size};
  }
  return std::nullopt;
}

}  // namespace cg2d
