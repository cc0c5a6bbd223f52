#pragma once

// The launcher's environment tells before MPI is there: the ranks, and how the threads of OpenMP are to wait.

#include <optional>
#include <string>

namespace cg2d {

/// The ranks as a launcher counts them.
struct LauncherRanks {
  int rank = 0;
  int size = 1;
  bool size_is_least = false;  ///< the launcher tells no size: there may be more
  const char* variable = "";   ///< of the environment, that has the rank
};

/// The numbers in the environment that the innermost launcher which tells both gave this process, or the rank alone where that is
/// all that it tells; nothing without a launcher. In a batch script of Slurm there is a rank and no size, and no
/// launcher. An MPI that knows one rank only where there are several is not that launcher's, and each of the
/// processes would make a run of its own.
std::optional<LauncherRanks> ranks_of_launcher();

/// The MPI library as it calls itself, with its version: "MPICH Version 4.0.2".
std::string name_of_mpi();

/// Starts this program anew where ranks have several threads, with the environment that bounds their waiting:
/// they spin for a fraction of a millisecond and then sleep, or sleep at once (OMP_WAIT_POLICY=passive) if the
/// threads of all ranks of the node outnumber its processors. OpenMP sees only its own process's threads, and
/// reads its environment when it is loaded. Returns if nothing is to be changed: with one thread per rank,
/// after the new start, or where the user has set OpenMP's waiting. Local; to be called before MPI is
/// initialised.
void bound_thread_waiting(int argument_count, char** arguments);

}  // namespace cg2d
