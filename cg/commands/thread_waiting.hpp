#pragma once

// The waiting of OpenMP's threads: how long they spin is decided before main, by the environment.

namespace cg2d {

/// Starts this program anew where ranks have several threads, with the environment that bounds their waiting:
/// they spin for a fraction of a millisecond and then sleep, or sleep at once (OMP_WAIT_POLICY=passive) if the
/// threads of all ranks of the node outnumber its processors. OpenMP sees only its own process's threads, and
/// reads its environment when it is loaded. Returns if nothing is to be changed: with one thread per rank,
/// after the new start, or where the user has set OpenMP's waiting. Local; to be called before MPI is
/// initialised.
void bound_thread_waiting(int argument_count, char** arguments);

}  // namespace cg2d
