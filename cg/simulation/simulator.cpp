#include "cg/simulation/step_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cg/base/build_info.hpp"
#include "cg/base/child_process.hpp"
#include "cg/base/errors.hpp"
#include "cg/base/redirected_streams.hpp"

namespace cg2d {
namespace {

constexpr std::string_view command = "simulate";

/// By which the other program opens a file in memory.
std::string path_of(const MemoryFile& file) {
  return fmt::format("/proc/{}/fd/{}", getpid(), file.descriptor());
}

std::string simulator_path() {
  return file_beside_program(
      build_info::programs_from_program, "libexec/cg2d", "simulator", command,
      "build it: cmake --preset release -DCG2D_BUILD_SIMULATOR=ON, with SimGrid (Debian's libsimgrid-dev)");
}

}  // namespace

void require_simulator() { static_cast<void>(simulator_path()); }

std::vector<SimulatedRank> replay(ReplayPlan& plan) {
  const MemoryFile input;
  const MemoryFile output;
  std::ofstream plan_file(path_of(input));
  transfer(plan_file, plan);
  if (!plan_file.flush())
    throw RunError(ExitCode::memory, "{}: no room for the plan: {}", command, std::strerror(errno));
  const auto program = simulator_path();
  const auto end = run_child({program, path_of(input), path_of(output)}, command);
  if (!end.is_started) throw RunError(ExitCode::unavailable, "{}: {} cannot be started", command, program);
  if (end.signal != 0 || end.code != 0)
    throw RunError(ExitCode::internal, "{}: the simulator ended with {} {}", command,
                   end.signal != 0 ? "signal" : "code", end.signal != 0 ? end.signal : end.code);
  std::ifstream result_file(path_of(output));
  std::vector<SimulatedRank> ranks;
  transfer(result_file, ranks);
  if (!result_file) throw RunError(ExitCode::internal, "{}: the simulator's result is cut off", command);
  return ranks;
}

}  // namespace cg2d
