#pragma once

// The simulator of networks, a program of its own: SimGrid has an MPI of its own, which does not go into one program with another one.

#include <cstddef>
#include <string>
#include <vector>

#include "comm/schedule.hpp"

namespace cg2d {

/// What one rank did in one phase, all repeats together.
struct SimulatedPart {
  double seconds = 0.0;
  comm::Traffic received{};
};

/// Replays a plan: [rank][phase]. Throws RunError: unavailable where the simulator was not built, internal where it fails. Local.
std::vector<std::vector<SimulatedPart>> replay(const std::string& plan, std::size_t part_count);

/// Throws RunError (unavailable) where the simulator was not built: how to get it.
void require_simulator();

}  // namespace cg2d
