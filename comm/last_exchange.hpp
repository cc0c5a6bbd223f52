#pragma once

// The last thing that ranks do together before MPI_Finalize.
//
// MPICH 4.0 with UCX, between hosts: in MPI_Finalize a rank
//   1. asks each rank of another host that it has talked to for an acknowledgement,
//   2. acknowledges what others ask, until it has all of its own,
//   3. waits in the launcher's barrier, where it acknowledges nothing any more.
// A rank that still polls MPI acknowledges, too. So a rank a may be in 3 already when a rank b, which has
// acknowledged a's request while it polled, comes to 1: b waits for ever. It cannot happen when no rank calls
// MPI between the first rank's 1 and its own: the requests of b then reach a before the acknowledgement that
// a waits for. (MPICH's pull request 6596 mends it for later versions.)

#include <mpi.h>

#include <cstdint>

namespace cg2d::comm {

/// The result of exchange_last_codes(); the same on all ranks.
struct LastCodes {
  int64_t largest = 0;
  bool on_several_hosts = false;
};

/// Exchanges the codes with which the ranks want to end. Afterwards all of them have come to their end.
/// Collective over `communicator`. Throws MpiError.
LastCodes exchange_last_codes(MPI_Comm communicator, int64_t code);

/// Exchanges a last time, and then keeps still, without a call of MPI, until all ranks have come out of the
/// exchange: for several times as long as one takes, 5 ms at least, one second at most. No communication may
/// follow but MPI_Finalize. Collective over `communicator`. Throws MpiError.
void exchange_and_keep_still(MPI_Comm communicator);

}  // namespace cg2d::comm
