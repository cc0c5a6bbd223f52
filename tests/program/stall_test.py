"""--stall-limit: a run or a solve of which a rank is stopped ends on all ranks, and says where they are; a slow one does not."""

import os
import pathlib
import re
import signal
import time
import unittest

from program_runner import STALLED, SUCCESS, THOROUGH, BackgroundRun, ProgramTest, at_the_same_time, run_program, some_of

RANKS = 3
# Far more than a CG step of class S takes, on a busy machine, too.
LIMIT = "3s"
# From the line of the first rank to the end of all, and more.
END_S = 2.0
# More work than the test waits for.
LONG_RUN = ["run", "--class", "S", "--grid", "1x3", "--repeat", "1000000"]
ITERATING = "outer iteration [0-9]+/"
LONG_SOLVE = ["solve", "--operator", "laplace2d:1500x1500", "--rtol", "1e-12", "--max-iterations", "1000000"]


def rank_of(process_id):
    variables = dict(text.split(b"=", 1) for text in pathlib.Path(f"/proc/{process_id}/environ").read_bytes().split(b"\0") if b"=" in text)
    return int(variables[b"PMI_RANK"])


def processes(background):
    """By the numbers of their ranks."""
    return {rank_of(process_id): process_id for process_id in background.ranks()}


def iterating(*arguments):
    return BackgroundRun(RANKS, *arguments, "--stall-limit", LIMIT)


def stall_lines(outcome):
    """Number of the rank -> what it says."""
    found = (re.fullmatch(r"cg2d: rank (\d+): no progress for 3 s in (.*)", line) for line in outcome.stderr.splitlines())
    return {int(match[1]): match[2] for match in found if match}


class StallTest(ProgramTest):
    def check(self, stopped, arguments, first_line, place):
        with iterating(*arguments) as background:
            background.wait_for(first_line)
            os.kill(processes(background)[stopped], signal.SIGSTOP)
            outcome = background.finish()
        said = stall_lines(outcome)
        self.assertEqual((outcome.exit_code, sorted(said)), (STALLED, [rank for rank in range(RANKS) if rank != stopped]), outcome)
        for text in said.values():
            self.assertRegex(text, place)
        return said

    def check_run(self, stopped):
        said = self.check(stopped, [*LONG_RUN, "--transport", "two-sided"], ITERATING, r"^run \d+, outer iteration \d+, CG step \d+: [a-z_ ]+, waits for ")
        # Somebody names the rank that is stopped.
        self.assertTrue(any(text.endswith(f"waits for rank {stopped}") for text in said.values()), said)

    def test_a_stopped_rank_ends_all(self):
        runs = [(self.check_run, stopped) for stopped in some_of((2, 0, 1), 3)]
        transports = [
            (self.check, stopped, [*LONG_RUN, "--transport", transport], ITERATING, r"waits for (other ranks|rank \d)$")
            for stopped, transport in enumerate(("native", "put", "shared"))
        ]
        solve = (self.check, 2, LONG_SOLVE, "iteration [0-9]+:", r"^CG step \d+: [a-z_ ]+, waits for ")
        at_the_same_time(lambda check, *case: check(*case), [*runs, *transports, solve])

    @unittest.skipUnless(THOROUGH, "lasts 7 s, and so does what it looks for")
    def test_a_suspended_job_goes_on(self):
        """All ranks are stopped for longer than the limit."""
        with iterating(*LONG_RUN) as background:
            background.wait_for(ITERATING)
            ranks = processes(background).values()
            for process_id in ranks:
                os.kill(process_id, signal.SIGSTOP)
            time.sleep(5.0)
            for process_id in ranks:
                os.kill(process_id, signal.SIGCONT)
            time.sleep(END_S)
            background.wait_for_next(ITERATING)

    def test_a_run_that_ends_in_time(self):
        for command in (["run", "--class", "S"], ["solve", "--operator", "laplace2d:30x30"]):
            limited = run_program(2, *command, "--stall-limit", "10min")
            self.assertEqual((limited.exit_code, limited.error_lines()), (SUCCESS, []), limited)
