"""OpenBLAS has no threads of its own, which would be there before cg2d could forbid them, and hang where memory is short."""

import os
import pathlib
import unittest
from unittest import mock

from program_runner import PROGRAM, SUCCESS, BackgroundRun, ProgramTest, launch_words, run_command

# Elsewhere the build takes whatever OpenBLAS there is.
HAS_SERIAL_OPENBLAS = any(pathlib.Path("/usr/lib").glob("*/openblas-serial/libopenblas.so"))


def thread_count_of_a_run():
    """Threads of a rank alone, while it computes on one thread."""
    with BackgroundRun(1, "run", "--class", "S", "--niter", "1000000", "--reference", "8", "--no-profile") as run:
        run.wait_for(r"outer iteration [2-9]")
        (rank,) = run.ranks()
        return len(list(pathlib.Path(f"/proc/{rank}/task").iterdir()))


@unittest.skipUnless(HAS_SERIAL_OPENBLAS, "this system has no serial OpenBLAS (Debian's libopenblas-serial-dev)")
class BlasThreads(ProgramTest):
    def test_it_starts_none(self):
        # MPI may have a thread of its own, so the number is compared with one that OpenBLAS cannot add to.
        with mock.patch.dict(os.environ, {"OPENBLAS_NUM_THREADS": "1"}):
            expected = thread_count_of_a_run()
        # More than there are cores, so that the test can fail on a machine with one.
        with mock.patch.dict(os.environ, {"OPENBLAS_NUM_THREADS": "4"}):
            self.assertEqual(thread_count_of_a_run(), expected)

    def test_no_run_hangs_where_address_space_is_short(self):
        # With threads in OpenBLAS, runs on 4 cores hung after their report at 300 ... 500 MB. How much a run needs depends on
        # MPI: with less than that it fails, but it ends.
        for limit_kb in (300_000, 350_000, 400_000, 450_000, 500_000, 1_000_000):
            outcome = run_command(["bash", "-c", f'ulimit -v {limit_kb}; exec "$@"', "limited", *launch_words(2),
                                   PROGRAM, "run", "--class", "S", "--no-profile"], timeout_s=20.0)
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
