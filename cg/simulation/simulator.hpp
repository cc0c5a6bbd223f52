#pragma once

// The simulator of networks, a program of its own: SimGrid has an MPI of its own, which does not go into one program with another one.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d {

/// One rank in one phase, all repeats together.
struct SimulatedPart {
  double seconds = 0.0;
  comm::Traffic received{};
};

/// One rank: [phase], and begin and end of each of its operations in seconds, where the plan asks for them.
struct SimulatedRank {
  std::vector<SimulatedPart> parts;
  std::vector<std::pair<double, double>> events{};
};

/// Replays a plan: [rank]. Throws RunError: unavailable where the simulator was not built, internal where it fails. Local.
std::vector<SimulatedRank> replay(const std::string& plan, std::size_t part_count);

/// Throws RunError (unavailable) where the simulator was not built: how to get it.
void require_simulator();

}  // namespace cg2d
