#pragma once

// The kind of a rank for the operating system, as far as waiting depends on it, and calls of MPI that are not
// the same everywhere. CMake takes one of the two implementations:
//
//   ranks_as_processes.cpp    a process of its own, as every MPI has it
//   ranks_as_threads.cpp      a thread of one process, and only one of them runs at a time: SimGrid's SMPI,
//                             which simulates a network (CG2D_SIMGRID, scripts/simulate)

#include <mpi.h>

#include "comm/waiter.hpp"

namespace cg2d::comm {

/// Whether a rank may end its process without ending other ranks.
bool has_own_process();

/// The mode in which a rank waits that is asked to wait in `mode`.
WaitMode possible_mode(WaitMode mode);

/// Work of this rank, in any unit: where time is simulated, as much passes as the work takes at the speed of the rank's host.
/// Elsewhere nothing: work takes its own time.
void spend_simulated_time(double work);

/// Leaves the processor to the other ranks for a moment, whichever of them can go on.
void give_way();

/// Starts to duplicate a communicator: `duplicate` may be used when the request is complete. Collective over it.
/// Throws MpiError.
MPI_Request start_duplicate(MPI_Comm communicator, MPI_Comm& duplicate);

/// Values that each rank of a communicator has, and that their reduction overwrites.
struct ReducedValues {
  void* values;
  int count;
  MPI_Datatype type;
};

/// Starts to reduce the values over all ranks, in place. Collective. Throws MpiError.
MPI_Request start_all_reduce(MPI_Comm communicator, const ReducedValues& reduced, MPI_Op operation);

}  // namespace cg2d::comm
