#pragma once

// The waiting of OpenMP's threads: whether they spin is decided before main, by the environment.

namespace cg2d {

/// Starts this program anew with OMP_WAIT_POLICY=passive if the threads of all ranks of the node outnumber
/// its processors: spinning threads would keep the computing ones from running. OpenMP sees only its own
/// process's threads, and reads its environment when it is loaded. Returns if nothing is to be changed:
/// with enough processors, or after the new start, or where the user has set OpenMP's waiting. Local; to be
/// called before MPI is initialised.
void let_threads_sleep_if_crowded(int argument_count, char** arguments);

}  // namespace cg2d
