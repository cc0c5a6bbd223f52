#include <smpi/smpi_helpers_internal.h>

#include "comm/mpi_handles.hpp"
#include "comm/rank_kind.hpp"

namespace cg2d::comm {

bool has_own_process() { return false; }

// A poll is a step of the simulation that changes nothing, and a rank that sleeps on a futex stops them all.
// A rank that waits in MPI takes no step, and the simulator sees a deadlock by itself.
WaitMode possible_mode(WaitMode /*mode*/) { return WaitMode::block; }

// Not by measuring, which would count the noise of the machine that simulates, and make no run repeat.
void spend_simulated_time(double work) { smpi_execute_flops(work); }

// Lets simulated time pass: the simulator runs the other ranks meanwhile.
void give_way() {
  constexpr useconds_t moment_us = 100;
  smpi_usleep(moment_us);
}

// SMPI 3.32 has no MPI_Comm_idup.
MPI_Request start_duplicate(MPI_Comm communicator, MPI_Comm& duplicate) {
  check(MPI_Comm_dup(communicator, &duplicate), "MPI_Comm_dup");
  return MPI_REQUEST_NULL;
}

// In place SMPI 3.32's MPI_Iallreduce gives wrong sums.
MPI_Request start_all_reduce(MPI_Comm communicator, const ReducedValues& reduced, MPI_Op operation) {
  check(MPI_Allreduce(MPI_IN_PLACE, reduced.values, reduced.count, reduced.type, operation, communicator),
        "MPI_Allreduce");
  return MPI_REQUEST_NULL;
}

}  // namespace cg2d::comm
