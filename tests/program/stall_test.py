"""--stall-limit: a run or a solve of which a rank is stopped ends on all ranks, and says where they are; a slow one does not."""

import os
import re
import signal
import subprocess
import threading
import time
import unittest

from program_runner import HANG_S, MPIEXEC, PROGRAM, SUCCESS, USAGE, ProgramTest, kill_all, program_processes, run_program, start

STALLED = 85
RANKS = 3
# Far more than a CG step of class S takes, on a busy machine, too.
LIMIT = "3s"
# More work than the test waits for.
LONG_RUN = ["run", "--class", "S", "--grid", "1x3", "--repeat", "1000000", "--progress"]
LONG_SOLVE = ["solve", "--operator", "laplace2d:1500x1500", "--rtol", "1e-12", "--max-iterations", "1000000", "--progress"]


class Started:
    """A program with its launcher, from the first iteration on."""

    def __init__(self, *arguments, rank_count=RANKS):
        self.process = start([MPIEXEC, "-n", str(rank_count), PROGRAM, *arguments], stdout=subprocess.PIPE)
        self.lines = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def wait_until(self, is_so):
        end = time.monotonic() + HANG_S
        while not is_so() and time.monotonic() < end:
            time.sleep(0.05)
        return is_so()

    def wait_for_line(self, pattern):
        return self.wait_until(lambda: any(re.search(pattern, line) for line in list(self.lines)))

    def rank_processes(self):
        """By the numbers of their ranks."""
        def rank_of(process_id):
            with open(f"/proc/{process_id}/environ", "rb") as file:
                variables = dict(text.split(b"=", 1) for text in file.read().split(b"\0") if b"=" in text)
            return int(variables[b"PMI_RANK"])

        return {rank_of(process_id): process_id for process_id in program_processes(self.process.pid)}

    def end(self):
        try:
            code = self.process.wait(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            kill_all(self.process)
        self.reader.join(timeout=HANG_S)
        return code


def stall_lines(lines):
    """Number of the rank -> what it says."""
    found = (re.fullmatch(r"cg2d: rank (\d+): no progress for 3 s in (.*)", line) for line in lines)
    return {int(match[1]): match[2] for match in found if match}


class StallTest(ProgramTest):
    def stop_and_wait(self, stopped, arguments, first_line):
        program = Started(*arguments, "--stall-limit", LIMIT)
        self.addCleanup(kill_all, program.process)
        self.assertTrue(program.wait_for_line(first_line), program.lines)
        os.kill(program.rank_processes()[stopped], signal.SIGSTOP)
        code = program.end()
        return code, stall_lines(program.lines), program.lines

    def check(self, stopped, arguments, first_line, place):
        code, said, lines = self.stop_and_wait(stopped, arguments, first_line)
        self.assertEqual(code, STALLED, lines)
        self.assertEqual(sorted(said), [rank for rank in range(RANKS) if rank != stopped], lines)
        for text in said.values():
            self.assertRegex(text, place)
        return said

    def test_a_run(self):
        for stopped in (0, 1, 2):
            said = self.check(stopped, [*LONG_RUN, "--transport", "two-sided"], "outer iteration 2/", r"^run \d+, outer iteration \d+, CG step \d+: [a-z_ ]+, waits for ")
            # Somebody names the rank that is stopped.
            self.assertTrue(any(text.endswith(f"waits for rank {stopped}") for text in said.values()), said)

    def test_other_transports(self):
        for transport in ("native", "put", "shared"):
            self.check(1, [*LONG_RUN, "--transport", transport], "outer iteration 2/", r"waits for (other ranks|rank \d)$")

    def test_without_timed_phases(self):
        said = self.check(1, [*LONG_RUN, "--no-phases"], "outer iteration 2/", "waits for ")
        self.assertTrue(all(re.search("CG step [0-9]+: [a-z_ ]+, waits", text) for text in said.values()), said)

    def test_a_solve(self):
        self.check(2, LONG_SOLVE, "iteration [0-9]+:", r"^CG step \d+: [a-z_ ]+, waits for ")

    def test_a_slow_run_goes_on(self):
        """A rank that is stopped again and again, for less than the limit each time and longer in all."""
        program = Started(*LONG_RUN, "--stall-limit", LIMIT)
        self.addCleanup(kill_all, program.process)
        self.assertTrue(program.wait_for_line("outer iteration 2/"), program.lines)
        rank = program.rank_processes()[1]
        for _ in range(12):
            os.kill(rank, signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(rank, signal.SIGCONT)
            time.sleep(0.1)
            self.assertIsNone(program.process.poll(), program.lines)
        self.assertEqual(stall_lines(program.lines), {})

    def test_a_suspended_job_goes_on(self):
        """All ranks are stopped for longer than the limit."""
        program = Started(*LONG_RUN, "--stall-limit", LIMIT)
        self.addCleanup(kill_all, program.process)
        self.assertTrue(program.wait_for_line("outer iteration 2/"), program.lines)
        ranks = program.rank_processes().values()
        for process_id in ranks:
            os.kill(process_id, signal.SIGSTOP)
        time.sleep(5.0)
        for process_id in ranks:
            os.kill(process_id, signal.SIGCONT)
        count = len(program.lines)
        self.assertTrue(program.wait_until(lambda: len(program.lines) > count + 20), program.lines[-5:])
        self.assertIsNone(program.process.poll())
        self.assertEqual(stall_lines(program.lines), {})

    def test_a_run_that_ends_in_time(self):
        for command in (["run", "--class", "S"], ["solve", "--operator", "laplace2d:30x30"]):
            limited = run_program(2, *command, "--stall-limit", "10min")
            self.assertEqual((limited.exit_code, limited.error_lines()), (SUCCESS, []), limited)

    def test_limits_that_are_none(self):
        for command in (["run", "--class", "S"], ["solve", "--operator", "laplace2d:30x30"]):
            for text in ("0s", "-1s", "soon", ""):
                outcome = run_program(2, *command, f"--stall-limit={text}")
                self.assertEqual((outcome.exit_code, len(outcome.error_lines())), (USAGE, 1), outcome)


if __name__ == "__main__":
    unittest.main(verbosity=2)
