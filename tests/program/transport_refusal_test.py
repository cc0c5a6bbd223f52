"""A transport that cannot serve here: 69 and the reason on every rank. Too little shared memory: 71 and the bytes."""

import os
import re
import subprocess
import unittest

from program_runner import MEMORY, PROGRAM, SUCCESS, UNAVAILABLE, ProgramTest, launch_words, run_command, some_of

# Ranks in user namespaces of their own cannot open each other's files in /proc. MPI must not try to, either: it has memory
# of another kind. (Over TCP, MPI_Finalize of MPICH 4.0.2 hangs now and then.)
APART = ("unshare", "--user")
WITHOUT_PROC = {"UCX_TLS": "sysv,self"}


# A container for each rank, as far as memory is concerned: both ranks are process 1 of their namespace and see their own
# /proc. The first descriptors are taken, so that both have the same numbers: /proc/1/fd/N of the other rank is then a file
# of the rank's own.
CONTAINERS = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc",
              "bash", "-c", 'for n in {3..60}; do [ -e /proc/$$/fd/$n ] || eval "exec $n</dev/null"; done; exec "$@"',
              "container")
REPETITIONS = 3
# Ranks that have to share a processor sleep while they wait, and wake each other by memory that they share.
ONE_PROCESSOR = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))


def run_in(namespaces, *arguments, prefix=()):
    return run_command([*prefix, *launch_words(2), *namespaces, PROGRAM, "run", "--class", "S", "--grid", "1x2",
                        "--no-profile", *arguments], env={**os.environ, **WITHOUT_PROC})


def can_be_made(namespaces):
    return subprocess.run([*namespaces, "true"], capture_output=True).returncode == 0


class CannotServe(ProgramTest):
    @unittest.skipUnless(can_be_made(APART), "this system gives no user namespaces")
    def test_ranks_that_cannot_map_each_others_memory(self):
        for transport in ("shared", "put"):
            self.assertEqual(self.ends_with(UNAVAILABLE, run_in(APART, "--transport", transport)).stderr,
                             f"cg2d: --transport {transport}: the ranks of a node cannot map each other's memory "
                             "(memfd_create and /proc/PID/fd are needed)\n")

    @unittest.skipUnless(can_be_made(APART), "this system gives no user namespaces")
    def test_auto_takes_one_of_the_others(self):
        outcome = self.ends_with(SUCCESS, run_in(APART, "--transport", "auto", "--verbose"))
        self.assertRegex(outcome.stdout, r"(?m)^ transport +=  *(two-sided|native)$")


class ByDefault(ProgramTest):
    """A transport that nobody has named always serves."""

    def transport_of(self, *namespaces, prefix=()):
        outcome = self.ends_with(SUCCESS, run_in(namespaces, "--verbose", prefix=prefix))
        self.assertRegex(outcome.stdout, r"(?m)^ Transport by +=  *built-in rule$")
        return re.search(r"(?m)^ transport +=  *(\S+)$", outcome.stdout)[1]

    def test_it_is_shared_on_a_node(self):
        self.assertEqual(self.transport_of(), "shared")

    def test_under_a_limit_of_files_it_is_messages(self):
        self.assertEqual(self.transport_of(prefix=("prlimit", "--fsize=10000")), "two-sided")

    @unittest.skipUnless(can_be_made(APART), "this system gives no user namespaces")
    def test_where_ranks_cannot_share_memory_it_is_messages(self):
        self.assertEqual(self.transport_of(*APART), "two-sided")


@unittest.skipUnless(can_be_made(CONTAINERS), "this system gives no user and PID namespaces")
class RanksInContainers(ProgramTest):
    """The other rank's process id and descriptor lead to a file of the rank's own: it must not be taken for the other's.

    Built with clang these tests also tell whether ranks with the same process id start OpenMP one after another: about one
    run in seven ended in LLVM's library before they did."""

    REASON = ("the ranks of a node cannot map each other's memory "
              "(they are in different PID namespaces, such as containers of their own)")

    def test_shared_memory_is_refused(self):
        for transport in ("shared", "put") * REPETITIONS:
            line = self.assert_refused(run_in(CONTAINERS, "--transport", transport), UNAVAILABLE)
            self.assertEqual(line, f"cg2d: --transport {transport}: {self.REASON}")

    def test_messages_are_right(self):
        for transport in ("two-sided", "native") * REPETITIONS:
            self.ends_with(SUCCESS, run_in(CONTAINERS, "--transport", transport))

    def test_auto_takes_messages_and_says_why(self):
        for prefix in ((), ONE_PROCESSOR) * REPETITIONS:
            outcome = self.ends_with(SUCCESS, run_in(CONTAINERS, "--transport", "auto", "--format", "json", prefix=prefix))
            skipped = outcome.document()["configuration"]["transport_trial"]["skipped"]
            self.assertEqual({one["transport"]: one["reason"] for one in skipped},
                             {"put": self.REASON, "shared": self.REASON})


class TooLittleMemory(ProgramTest):
    """Files longer than the limit cannot be made, and the memory that ranks share is one; MPI's own are shorter."""

    LIMIT_KB = 20 * 1024

    # Vectors of 24 MB, and few entries; boxes of 25 MB.
    MATRIX = ("run", "--n", "3000000", "--nonzer", "1", "--shift", "5", "--niter", "1", "--grid", "1x2", "--kernel", "scalar")
    DOMAIN = ("solve", "--operator", "laplace3d:184x184x184")

    def run_limited(self, *words):
        limited = f'trap "" XFSZ; ulimit -f {self.LIMIT_KB}; exec "$@"'
        return run_command(["bash", "-c", limited, "limited", *launch_words(2), PROGRAM, *words, "--no-profile"])

    def test_needed_and_available_bytes(self):
        # Of a halo put shares the points around the box only.
        for transport, work in some_of((("shared", self.MATRIX), ("put", self.MATRIX), ("shared", self.DOMAIN)), 2):
            outcome = self.ends_with(MEMORY, self.run_limited(*work, "--transport", transport))
            message = re.fullmatch(rf"cg2d: --transport {transport}: the ranks need ([\d.]+) MB of shared memory, "
                                   r"[\d.]+ .B are available on the node with least; "
                                   r"take a smaller class or matrix, more nodes or --transport two-sided\n", outcome.stderr)
            self.assertIsNotNone(message, outcome)
            self.assertGreater(float(message[1]), 2 * 3_000_000 * 8 / 1e6 - 1)  # p, and the partial sums of all ranks
