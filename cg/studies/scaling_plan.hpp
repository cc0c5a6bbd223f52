#pragma once

// The ways to use a number of cores, and the problem that each number gets. Pure: no MPI, no files.

#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/problem.hpp"

namespace cg2d {

/// Ranks and threads on a number of cores.
struct ScalingWay {
  int core_count = 1;
  std::string transport;  ///< as it was asked for; one rank moves nothing with it
  int rank_count = 1;
  int thread_count = 1;

  /// "one core", "ranks only", "shared-memory ranks", "ranks x threads" or "threads only".
  [[nodiscard]] std::string name() const;
  /// "2 x 1": ranks x threads of each.
  [[nodiscard]] std::string shape() const;
  /// For messages: "4 cores, ranks x threads, shared, 2 x 2".
  [[nodiscard]] std::string label() const;
  friend bool operator==(const ScalingWay&, const ScalingWay&) = default;
};

/// 1, 2, 4 and so on, and the number of ranks itself.
std::vector<int> usual_core_counts(int rank_count);

/// Every way to use each number of cores: ranks only with each transport, every split into several ranks of
/// several threads with each transport, threads only. On one core they are all the same: there is one way.
/// Splits of more than most_threads are left out.
std::vector<ScalingWay> ways_of(const std::vector<int>& core_counts,
                                const std::vector<std::string>& transports);

/// What a number of cores works on. Strong scaling: the problem as it is. Weak: n grows with the cores, and
/// but for one core there is no reference any more. Throws InputError when n becomes too large.
Problem scaled_problem(const Problem& problem, int core_count, bool weak);

/// Whether a way has a core for each of its threads.
enum class Room {
  enough,
  bound,    ///< its node has the cores, but the launcher keeps its ranks away from them
  no_node,  ///< there are as many cores, but not on one node
  shared,   ///< there are fewer cores: threads share them
};

/// all: of all ranks started. of_way: of the ranks that take part, the first of them.
Room room_for(const ScalingWay& way, const Environment& all, const Environment& of_way);

}  // namespace cg2d
