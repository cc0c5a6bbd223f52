"""Limits of memory hold: a command ends within its limit, or with code 71 and the limit that would do. It is never killed."""

import pathlib
import re
import sys
import tempfile
import unittest

from program_runner import (
    CAMPAIGN, MEMORY, MPIEXEC, PROGRAM, PROJECT, SUCCESS, THOROUGH, TRY_AGAIN, ProgramTest, bytes_of, run_command, run_program,
    some_of, temporary_folder,
)  # fmt: skip
from solve_test import matrix_text

WRAPPER = PROJECT / "tests" / "support" / "peak_memory.py"
LIMITS_MB = (60, 100, 150, 200, 300, 400) if CAMPAIGN else (100, 200) if THOROUGH else (80,)


def named_limit(outcome):
    """The limit that would do, by the message of a refusal, of all runs of a study; none where it has no such words."""
    return max(map(bytes_of, re.findall(r"of (\d\S* [kMG]?B) would do", outcome.said())), default=None)


def is_refused(outcome):
    """Studies go on after a refusal, which is in their results."""
    return outcome.exit_code == MEMORY or "not enough memory" in outcome.said()


class LimitTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.files = temporary_folder(cls.addClassCleanup)
        cls.matrix = cls.files / "A.mtx"
        # A banded matrix with 13 entries in most rows.
        entries = {(row, row - k): -1.0 if k else 30.0 for row in range(60_000) for k in range(min(row, 12) + 1)}
        cls.matrix.write_text(matrix_text(60_000, entries))
        if "sanitize" in run_program(0, "run", "--class", "S", "--format", "json").document()["environment"]["flags"]:
            raise unittest.SkipTest("sanitizers take memory of their own")

    def fresh_folder(self):
        return tempfile.mkdtemp(dir=self.files)

    def commands(self):
        """By name: ranks, arguments, and whether there is a --memory-limit."""
        matrix_file = str(self.matrix)
        small = {
            "run": (2, ("run", "--class", "A", "--niter", "1", "--no-profile"), True),
            "solve --assembled": (2, ("solve", "--operator", "npb:A", "--assembled", "--no-profile"), True),
            "sweep": (2, ("sweep", "--class", "W", "--ranks", "2", "--repeat", "1", "--no-profile", "--output", "OUTPUT"), True),
            "solve FILE": (2, ("solve", matrix_file, "--no-profile"), True),
            "run --out-of-core": (2, ("run", "--class", "A", "--niter", "1", "--no-profile", "--out-of-core", "DIR"), True),
        }
        return small if not THOROUGH else small | {
            "run 2x2": (4, ("run", "--class", "A", "--niter", "1", "--grid", "2x2", "--kernel", "sell", "--no-profile"), True),
            "run --transport": (2, ("run", "--class", "A", "--niter", "1", "--transport", "auto", "--no-profile"), True),
            "run B": (2, ("run", "--class", "B", "--niter", "1", "--no-profile"), True),
            "run B --out-of-core": (2, ("run", "--class", "B", "--niter", "1", "--no-profile", "--out-of-core", "DIR"), True),
            "scaling": (2, ("scaling", "--class", "A", "--niter", "1", "--no-profile"), True),
            "solve Laplacian": (2, ("solve", "--operator", "laplace3d:60x60x60", "--assembled", "--no-profile"), True),
            "solve matrix-free": (2, ("solve", "--operator", "laplace3d:120x120x120", "--no-profile"), True),
            "solve --guard --roofline": (2, ("solve", "--operator", "laplace3d:60x60x60", "--assembled", "--kernel", "csr-short",
                                             "--guard", "--roofline", "--no-profile"), True),
            "run --cut --out-of-core": (2, ("run", "--class", "B", "--niter", "1", "--cut", "nonzeros", "--no-profile", "--out-of-core",
                                            "DIR"), True),
            "solve --out-of-core": (2, ("solve", "--operator", "laplace3d:60x60x60", "--assembled", "--no-profile",
                                        "--out-of-core", "DIR"), True),
            "solve pipelined": (3, ("solve", matrix_file, "--variant", "pipelined", "--preconditioner", "jacobi",
                                    "--no-profile"), True),
            "stencil": (2, ("stencil", "--shape", "200x200x100", "--steps", "8"), True),
            "tune": (2, ("tune", "--class", "A", "--grid", "1x2", "--no-profile"), False),
            "calibrate": (2, ("model", "--calibrate", "--class", "W,A", "--output", "OUTPUT"), False),
            "check": (2, ("check",), False),
            "pingpong": (2, ("pingpong", "--sizes", "8,4MB"), False),
            "convert": (2, ("convert", matrix_file, "OUTPUT"), False),
        }

    def words(self, arguments):
        """With folders and files of their own."""
        folder = self.fresh_folder()
        return [{"DIR": f"{folder}/panels", "OUTPUT": f"{folder}/A.cg2d"}.get(word, word) for word in arguments]

    def ends_well(self, outcome):
        """A tuning may find the machine too busy."""
        self.assertIn(outcome.exit_code, (SUCCESS, TRY_AGAIN), outcome)


class ByOption(LimitTest):
    def run_measured(self, rank_count, arguments, limit):
        """The outcome, and the sum of the ranks' peaks."""
        folder = self.fresh_folder()
        command = [MPIEXEC, "-n", rank_count, sys.executable, "-S", "-E", WRAPPER, folder, PROGRAM, *self.words(arguments)]
        outcome = run_command([*command, "--memory-limit", str(limit)], timeout_s=300)
        return outcome, sum(int(path.read_text()) for path in pathlib.Path(folder).iterdir())

    def test_the_peak_is_within_the_limit(self):
        for name, (rank_count, arguments, has_option) in self.commands().items():
            for limit in LIMITS_MB if has_option else ():
                with self.subTest(command=name, limit=f"{limit}MB"):
                    self.expect_within(rank_count, arguments, limit * 10**6)

    def limit_for(self, rank_count, *words, **more):
        return named_limit(self.ends_with(MEMORY, run_program(rank_count, *words, "--memory-limit", "1MB", **more)))

    def test_other_forms_of_cg_are_planned_with_their_vectors(self):
        """Eight more, in the limit that would do. (That they are enough is seen in the thorough extent.)"""
        words = ("solve", "--operator", "laplace3d:200x200x200", "--assembled", "--no-profile", "--variant")
        self.assertAlmostEqual(self.limit_for(2, *words, "pipelined") - self.limit_for(2, *words, "classic"), 8 * 8 * 200**3, delta=25e6)

    def test_rows_of_a_file_are_gone_when_the_format_is_made(self):
        """5fba2c77: stored rows, block and format counted at once, half as much again as a solve takes."""
        words = ("solve", self.matrix, "--no-profile", "--kernel")
        self.assertLess(self.limit_for(1, *words, "sell"), self.limit_for(1, *words, "csr-short") + 2e6)

    def test_a_calibration_counts_the_vectors_of_its_messages(self):
        """Of all ranks, for each transport."""
        words = ("model", "--calibrate", "--class", "S", "--machine", self.files / "machine.json")
        of_rank = [self.limit_for(rank_count, *words, starts_anew=True) / rank_count for rank_count in (2, 24)]
        self.assertGreater(of_rank[1] - of_rank[0], 40e6)

    def expect_within(self, rank_count, arguments, limit):
        outcome, peak = self.run_measured(rank_count, arguments, limit)
        if is_refused(outcome):
            self.assertLessEqual(peak, max(limit, rank_count * 40e6))  # refused before anything large is made
            limit = named_limit(outcome)
            self.assertIsNotNone(limit, outcome)
            outcome, peak = self.run_measured(rank_count, arguments, limit)
        self.ends_well(outcome)
        self.assertFalse(is_refused(outcome), outcome)
        self.assertLessEqual(peak, limit, outcome)


class BySystem(LimitTest):
    """Memory that the system refuses: a line and a code, no signal."""

    def test_limits_of_data(self):
        for megabytes in range(16, 400, 8) if CAMPAIGN else range(16, 128, 16) if THOROUGH else (24, 40, 100):
            self.expect_lines("-d", megabytes)

    def test_limits_of_address_space(self):
        for megabytes in range(120, 800, 20) if CAMPAIGN else range(120, 400, 40) if THOROUGH else (140, 200):
            self.expect_lines("-v", megabytes)

    def expect_lines(self, option, megabytes):
        convert = ("convert", str(self.matrix), "OUTPUT")
        others = (("run", "--class", "A", "--niter", "1", "--no-profile"), convert) if THOROUGH else ()
        for arguments in (("solve", str(self.matrix), "--no-profile"), *others):
            with self.subTest(limit=f"ulimit {option}", megabytes=megabytes, command=arguments[0]):
                shell = ["sh", "-c", f'ulimit {option} {megabytes * 1000} && exec "$@"', "sh"]
                outcome = run_command([*shell, PROGRAM, *self.words(arguments)])
                # Libraries that find no memory when they are loaded, or start, have words and codes of their own.
                if outcome.exit_code == SUCCESS or re.search(r"shared librar|ucs_async_thread|MPI_Init", outcome.stderr):
                    continue
                self.assertEqual(outcome.exit_code, MEMORY, outcome)
                lines = [line for line in outcome.stderr.splitlines() if line.startswith("cg2d: ")]
                self.assertEqual(len(lines), 1, outcome)
                self.assertIn("memory", lines[0])


class ByProcess(LimitTest):
    """What is recommended for a limit of each process works. ec815b87: `run --class B` under `ulimit -v` ends in MPI_Abort with what it recommends."""

    def test_recommended_limits_of_processes(self):
        commands = self.commands()
        names = list(commands) if CAMPAIGN else ("run B", "solve FILE", "run --out-of-core", "convert") if THOROUGH else ("run B",)
        commands["run B"] = (1, ("run", "--class", "B", "--niter", "1", "--no-profile"), True)
        for option in ("-v", "-d"):
            for name in names:
                with self.subTest(limit=f"ulimit {option}", command=name):
                    self.expect_enough(option, commands[name])

    def expect_enough(self, option, command):
        rank_count, arguments, _ = command
        limit = 300e6 if option == "-v" else 60e6
        for _ in range(2):
            shell = ["sh", "-c", f'ulimit {option} {int(limit) // 1024} && exec "$@"', "sh"]
            outcome = run_command([MPIEXEC, "-n", rank_count, *shell, PROGRAM, *self.words(arguments)], timeout_s=300)
            if not is_refused(outcome):
                break
            limit = named_limit(outcome)
            self.assertIsNotNone(limit, outcome)
        self.ends_well(outcome)
        self.assertFalse(is_refused(outcome), outcome)


class ByUser(LimitTest):
    """A system that says that nothing is free, as some containers do: the user's limit counts, and a line says so."""

    def test_the_user_overrides_what_the_system_says(self):
        """ec815b87: 71 whatever limit is given; convert has none, and tune none without --out-of-core."""
        meminfo = self.files / "meminfo"
        meminfo.write_text(re.sub(r"MemAvailable: *\d+", "MemAvailable: 1000", pathlib.Path("/proc/meminfo").read_text()))
        mount = self.with_mount('mount --bind "$0" /proc/meminfo', meminfo)
        for arguments in some_of((("run", "--class", "S", "--no-profile"), ("tune", "--class", "S", "--grid", "1x1", "--no-profile"),
                                  ("convert", str(self.matrix), "OUTPUT")), 2):  # fmt: skip
            with self.subTest(command=arguments[0]):
                command = [*mount, PROGRAM, *self.words(arguments)]
                self.assertEqual(run_command(command).exit_code, MEMORY)
                outcome = run_command([*command, "--memory-limit", "1GB"])
                self.ends_well(outcome)
                self.assertRegex(outcome.said(), r"--memory-limit 1 GB: the system says that .* has .* left for its ranks; the limit counts")
