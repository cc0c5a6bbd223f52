#pragma once

// The ways to use a number of cores, and the problem that each number gets. Pure: no MPI, no files.

#include <string>
#include <vector>

#include "cg/machine/environment.hpp"
#include "cg/matrix/problem.hpp"
#include "cg/report/result_reader.hpp"
#include "cg/solver/configuration.hpp"

namespace cg2d {

/// One way to use a number of cores: ranks, and the threads, transport and cut of a configuration whose grid is open. A single
/// rank moves no data and has one piece: its transport and cut are the usual ones.
struct ScalingCase {
  int rank_count = 1;
  ConfiguredProblem asked{};  ///< the work on as many cores
  std::string matrix{};       ///< of a system: the file, or the operator as this number of cores has it

  [[nodiscard]] int core_count() const { return rank_count * asked.configuration.thread_count; }
  [[nodiscard]] const std::string& transport() const { return asked.configuration.transport; }
  /// "one core", "ranks only", "shared-memory ranks", "ranks x threads" or "threads only".
  [[nodiscard]] std::string name() const;
  /// As --cut has it; empty where there are no pieces of a matrix: with one rank, or without a matrix.
  [[nodiscard]] std::string cut() const;
  /// "2 x 1": ranks x threads of each.
  [[nodiscard]] std::string shape() const;
  /// "matrix" or "matrix-free"; empty for the benchmark.
  [[nodiscard]] std::string form() const;
  /// For messages: "4 cores, ranks x threads, shared, 2 x 2".
  [[nodiscard]] std::string label() const;
  friend bool operator==(const ScalingCase&, const ScalingCase&) = default;
};

/// 1, 2, 4 and so on, and the number of ranks itself.
std::vector<int> usual_core_counts(int rank_count);

/// Every way to use each number of cores: ranks only, every split into several ranks of several threads, both with each combination of
/// these values, and threads only. On one core they are all the same: there is one way. Splits of more than most_threads are left out.
/// common: what all have in common but for threads and these values. Throws InputError as crossed().
std::vector<ScalingCase> cases_of(const std::vector<int>& core_counts, const AxisValues& values,
                                  const ConfiguredProblem& common = {});

/// The fewest rounds after which the verdict on the cases of each number of cores can be decided.
int rounds_for_verdicts(const std::vector<ScalingCase>& cases);

/// The problem for a number of cores. Strong scaling: the problem as it is. Weak: n grows with the cores, and
/// on more than one core there is no reference. Throws InputError when n becomes too large.
Problem scaled_problem(const Problem& problem, int core_count, bool weak);

/// The operator for a number of cores. Weak scaling: every extent is multiplied by the parts along it of the cut with the
/// smallest faces of as many equal boxes, so each core has the box of one core. Throws InputError for an operator that is no
/// Laplacian.
std::string scaled_operator(const std::string& text, int core_count, bool weak);

/// Whether a case has a core for each of its threads.
enum class Room {
  enough,
  bound,    ///< its node has the cores, but the launcher keeps its ranks away from them
  no_node,  ///< there are as many cores, but not on one node
  shared,   ///< there are fewer cores: threads share them
};

/// all: as all started ranks see it. of_case: as its ranks see it, the first ones.
Room room_for(const ScalingCase& one, const Environment& all, const Environment& of_case);

}  // namespace cg2d
