"""Threads that wait spin shortly where each has a processor, and sleep where they outnumber the processors."""

import os
import re
import unittest

from program_runner import PROGRAM, SUCCESS, THOROUGH, USAGE, ProgramTest, launch_words, run_command

PROCESSORS = os.sched_getaffinity(0)
# For 4 ranks: more threads than there are processors.
CROWDING_THREADS = max(2, len(PROCESSORS) // 4 + 1)
# Many threads that spin take many time slices, so by default these settings are tested with a plan.
UNLESS_THOROUGH = () if THOROUGH else ("--dry-run",)
# Turns of GCC's library, a fraction of a millisecond; milliseconds of clang's.
SHORT = ("4000", "1")
WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


class ThreadWaiting(ProgramTest):
    def spin_limits(self, rank_count, *arguments, launcher=None, exit_code=SUCCESS, **setting):
        """The time that threads spin, as OpenMP prints it when it is loaded: GCC's library as a count of turns, clang's in
        milliseconds."""
        environment = {name: value for name, value in os.environ.items() if name not in WAITING}
        environment |= {"OMP_DISPLAY_ENV": "verbose"} | setting
        words = launch_words(rank_count) if launcher is None else launcher
        outcome = self.ends_with(exit_code, run_command([*words, PROGRAM, *arguments], env=environment))
        limits = re.findall(r"(?:GOMP_SPINCOUNT|KMP_BLOCKTIME) ?= ?'(\w+)'", outcome.stderr)
        self.assertGreaterEqual(len(limits), max(1, rank_count), outcome)
        return limits

    def run_limits(self, rank_count, thread_count, *arguments, **options):
        """Of a run, or of a plan (--dry-run): the limits are set and printed before the program looks at anything else."""
        return self.spin_limits(rank_count, "run", "--class", "S", "--niter", "1", "--threads", thread_count,
                                "--transport", "shared", "--no-profile", *arguments, **options)  # fmt: skip

    def test_they_sleep_where_they_outnumber_the_processors(self):
        self.assertEqual(self.run_limits(4, CROWDING_THREADS).count("0"), 4)

    @unittest.skipUnless(len(PROCESSORS) >= 2, "needs 2 processors")
    def test_they_spin_shortly_where_each_has_a_processor(self):
        """Beside other processes a thread that spins for long keeps the one that it waits for from running."""
        self.assert_short(self.run_limits(0, 2))
        self.assert_short(self.run_limits(len(PROCESSORS) // 2, 2))

    def test_as_many_threads_as_processors_spin_shortly(self):
        """With one processor, whatever this machine has: scaling splits one thread for each rank, and the list of a batch may have some."""
        confined = ["taskset", "-c", min(PROCESSORS), *launch_words(1)]
        for words in (("scaling", "--unknown"), ("batch", "missing.txt"), ("run", "--config=missing.toml")):
            self.assert_short(self.spin_limits(1, *words, launcher=confined, exit_code=USAGE))

    def assert_short(self, limits):
        """Each rank was started anew, so it prints its limit twice: OpenMP's default, and the program's."""
        self.assertEqual(limits.count("0"), 0)
        self.assertEqual(2 * sum(limit in SHORT for limit in limits), len(limits), limits)

    def test_one_thread_per_rank_changes_nothing(self):
        self.assertEqual(len(self.run_limits(len(PROCESSORS) + 1, 1)), len(PROCESSORS) + 1)  # no rank started anew

    @unittest.skipUnless(len(PROCESSORS) >= 4, "needs 4 processors")
    def test_ranks_that_the_launcher_has_bound_count_the_processors_of_all(self):
        self.assertEqual(self.run_limits(2, 2, launcher=[*launch_words(2), "-bind-to", "hwthread:2"]).count("0"), 0)
        # Ranks that share a mask have only its processors.
        first, second = sorted(PROCESSORS)[:2]
        confined = ["taskset", "-c", f"{first},{second}", *launch_words(2)]
        self.assertEqual(self.run_limits(2, 2, launcher=confined).count("0"), 2)

    def test_the_users_setting_stays(self):
        for name, value in (("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "77"), ("KMP_BLOCKTIME", "5")):
            limits = self.run_limits(4, CROWDING_THREADS, *UNLESS_THOROUGH, **{name: value})
            self.assertEqual((limits.count("0"), len(limits)), (0, 4), name)  # no rank started anew

    def test_other_launchers(self):
        alone = ("run", "--class", "S", "--dry-run", "--threads", "2")
        many = 2 * len(PROCESSORS)
        for name, value in (("OMPI_COMM_WORLD_LOCAL_SIZE", f"{many}"), ("SLURM_STEP_TASKS_PER_NODE", f"{many}(x2),1")):
            self.assertEqual(self.spin_limits(0, *alone, **{name: value}).count("0"), 1, name)
