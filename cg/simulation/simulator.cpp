#include "cg/simulation/step_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <sstream>
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

std::vector<SimulatedRank> replay(const std::string& plan, std::size_t part_count) {
  const MemoryFile input;
  const MemoryFile output;
  if (!write_whole(input.descriptor(), 0, std::as_bytes(std::span(plan))))
    throw RunError(ExitCode::memory,
                   fmt::format("{}: no room for the plan: {}", command, std::strerror(errno)));
  const auto program = simulator_path();
  const auto end = run_child({program, path_of(input), path_of(output)}, command);
  if (!end.is_started)
    throw RunError(ExitCode::unavailable, fmt::format("{}: {} cannot be started", command, program));
  if (end.signal != 0 || end.code != 0)
    throw RunError(ExitCode::internal,
                   fmt::format("{}: the simulator ended with {} {}", command,
                               end.signal != 0 ? "signal" : "code", end.signal != 0 ? end.signal : end.code));
  std::istringstream lines(output.text());
  std::vector<SimulatedRank> ranks;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    auto& rank = ranks.emplace_back();
    rank.parts.resize(part_count);
    for (auto& part : rank.parts)
      words >> part.seconds >> part.received.message_count >> part.received.byte_count;
    if (!words)
      throw RunError(ExitCode::internal, fmt::format("{}: the simulator's result is cut off", command));
    for (std::pair<double, double> event; words >> event.first >> event.second;) rank.events.push_back(event);
  }
  return ranks;
}

}  // namespace cg2d
