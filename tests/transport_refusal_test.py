"""A transport that cannot serve here: 69 and the reason on every rank. Too little shared memory: 71 and the bytes."""

import os
import re
import subprocess
import unittest

from program_runner import MEMORY, PROGRAM, SUCCESS, UNAVAILABLE, ProgramTest, launch_words, run_command

# Ranks in user namespaces of their own cannot open each other's files in /proc. MPI must not try to, either: it has memory
# of another kind. (Over TCP, MPI_Finalize of MPICH 4.0.2 hangs now and then.)
APART = ("unshare", "--user")
WITHOUT_PROC = {"UCX_TLS": "sysv,self"}


def run_apart(*arguments):
    return run_command([*launch_words(2), *APART, PROGRAM, "run", "--class", "S", "--no-profile", *arguments],
                       env={**os.environ, **WITHOUT_PROC})


def may_be_apart():
    return subprocess.run([*APART, "true"], capture_output=True).returncode == 0


class CannotServe(ProgramTest):
    @unittest.skipUnless(may_be_apart(), "this system gives no user namespaces")
    def test_ranks_that_cannot_map_each_others_memory(self):
        for transport in ("shared", "put"):
            outcome = run_apart("--grid", "1x2", "--transport", transport)
            self.assertEqual(outcome.exit_code, UNAVAILABLE, outcome)
            self.assertEqual(outcome.stderr,
                             f"cg2d: --transport {transport}: the ranks of a node cannot map each other's memory "
                             "(memfd_create and /proc/PID/fd are needed)\n")

    @unittest.skipUnless(may_be_apart(), "this system gives no user namespaces")
    def test_auto_takes_one_of_the_others(self):
        outcome = run_apart("--grid", "1x2", "--transport", "auto")
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertRegex(outcome.stdout, r"Transport +=  *(two-sided|native), ")


class TooLittleMemory(ProgramTest):
    """Files longer than the limit cannot be made, and the memory that ranks share is one; MPI's own are shorter."""

    LIMIT_KB = 20 * 1024

    def run_limited(self, transport):
        limited = f'trap "" XFSZ; ulimit -f {self.LIMIT_KB}; exec "$@"'
        # Vectors of 24 MB, and few entries.
        return run_command(["bash", "-c", limited, "limited", *launch_words(2), PROGRAM, "run",
                            "--n", "3000000", "--nonzer", "1", "--shift", "5", "--niter", "1", "--grid", "1x2",
                            "--kernel", "scalar", "--no-profile", "--transport", transport])

    def test_needed_and_available_bytes(self):
        for transport in ("shared", "put"):
            outcome = self.run_limited(transport)
            self.assertEqual(outcome.exit_code, MEMORY, outcome)
            message = re.fullmatch(rf"cg2d: --transport {transport}: the ranks need (\d+) MB of shared memory, "
                                   r"[\d.]+ .B are available on the node with least; "
                                   r"take a smaller class, more nodes or --transport two-sided\n", outcome.stderr)
            self.assertIsNotNone(message, outcome)
            self.assertGreater(int(message[1]), 2 * 3_000_000 * 8 / 1e6 - 1)  # p, and the partial sums of all ranks


if __name__ == "__main__":
    unittest.main()
