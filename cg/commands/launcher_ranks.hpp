#pragma once

// The ranks as the launcher's environment numbers them, known before MPI is.

#include <optional>
#include <string>

namespace cg2d {

/// The ranks as a launcher counts them.
struct LauncherRanks {
  int rank = 0;
  int size = 1;
};

/// The number that the launcher gave to this process; 0 without a launcher that does.
int rank_of_launcher();

/// The numbers in the environment that a launcher of several ranks gave this process; nothing where there is
/// none. An MPI that knows one rank only is then not that launcher's, and each of its processes would make
/// a run of its own.
std::optional<LauncherRanks> ranks_of_launcher();

/// The MPI library as it calls itself, with its version: "MPICH Version 4.0.2".
std::string name_of_mpi();

}  // namespace cg2d
