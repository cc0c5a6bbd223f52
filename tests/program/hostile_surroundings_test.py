"""Limits of the system, other processes, signals, and options that contradict each other: the program ends with the right
code and one line, and changes no file that it refuses."""

import os
import pathlib
import resource
import signal
import subprocess
import unittest

from program_runner import (
    BAD_DATA, CANNOT_CREATE, CANNOT_WRITE, INTERRUPTED_AT_ONCE, MEMORY, PROGRAM, THOROUGH, UNAVAILABLE, USAGE, BackgroundRun, ProgramTest,
    at_the_same_time, comes_true, run_program, send_to_all, some_of,
)  # fmt: skip

# Nothing is tried before the matrix is made.
CHOSEN = ("--kernel", "scalar", "--transport", "two-sided", "--no-profile")
DEEP = "[" * 100_000 + "]" * 100_000


class InFolder(ProgramTest):
    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def assert_line(self, code, pattern, outcome):
        self.assertRegex(self.assert_refused(outcome, code), pattern)


class Inputs(InFolder):
    def test_texts_that_are_nested_deeply(self):
        for text in (DEEP, '{"a":' * 100_000, '{"schema_version":1,"conditions":' + DEEP + "}"):
            deep = self.file("deep.json", text)
            for words in (
                ("run", "--class", "S", "--profile", deep),
                ("tune", "--class", "S", "--profile", deep),
                ("model", "--machine", deep),
                ("model", "--calibrate", "--class", "S", "--machine", deep),
                ("sweep", "--class", "S", "--output", deep),
                ("sweep", "--show", deep),
                ("export", deep),
                ("compare", deep, deep),
            ):
                code = BAD_DATA if words[0] in ("export", "compare") or "--show" in words else USAGE
                self.assert_line(code, r"nested in more than 100 levels|is no result", run_program(0, *words))
            self.assertEqual(deep.read_text(), text)


class Options(InFolder):
    def test_estimates_do_not_overflow(self):
        words = ["run", "--n", "2147483647", "--nonzer", "2147483647", "--shift", "10", "--niter", "1"]
        plan = self.document_of(0, *words, "--dry-run")["plan"]
        self.assertFalse(plan["fits"])
        self.assertGreater(plan["memory_bytes"], 9e18)
        self.assertTrue(all(count >= 0 for count in plan["memory_per_rank_bytes"].values()), plan)
        self.assertNotIn("-", self.run_well(0, *words, "--dry-run", "--kernel", "scalar").stdout.split("Memory")[1][:200])
        self.assert_line(MEMORY, "not enough memory", run_program(0, *words))

    @unittest.skipUnless(os.geteuid() == 0, "only root can make links of other users")
    def test_links_of_other_users_are_refused(self):
        precious = self.file("precious", "")
        link = self.folder / "link"
        link.symlink_to(precious)
        os.chown(link, 65534, 65534, follow_symlinks=False)
        for words in (("run", "--class", "S"), ("sweep", "--class", "S")):
            self.assert_line(CANNOT_CREATE, "link of another user", run_program(0, *words, "--output", link))
        self.assertEqual(precious.read_text(), "")


class Limits(InFolder):
    def test_a_file_size_limit_is_an_error_of_writing(self):
        # MPI has files of its own, of 4.3 MB.
        command = [PROGRAM, "run", "--class", "W", "--export-mtx", str(self.folder / "matrix.mtx")]
        ended = subprocess.run(["prlimit", "--fsize=6000000", *command], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(ended.returncode, CANNOT_WRITE, ended)
        self.assertRegex(ended.stderr, "cannot write .*File too large")
        self.assertEqual(self.names(), [])

    def test_the_system_refuses_threads(self):
        """Stacks of 8 MB for 200 threads, in 500 MB."""

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (500_000 << 10, 500_000 << 10))

        command = [PROGRAM, "run", "--class", "S", "--threads", "200"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, preexec_fn=limit)
        self.assertEqual(ended.returncode, UNAVAILABLE, ended)
        self.assertRegex(ended.stderr, r"^cg2d: --threads 200: the system refuses thread \d+ of 200 on rank 0: Resource temporarily unavailable")


class Signals(InFolder):
    def signalled(self, rank_count, number):
        output = self.folder / "result.json"
        grid = f"1x{max(1, rank_count)}"
        words = ["run", "--class", "C", "--grid", grid, *CHOSEN, "--format", "json", "--output", output, "--trace", self.folder / "trace.json"]
        with BackgroundRun(rank_count, *words) as run:
            run.wait_for("generating class C")
            for process in run.ranks() or [run.launcher]:
                os.kill(process, number)
            outcome = run.finish()
        self.assertIn(outcome.exit_code, INTERRUPTED_AT_ONCE, outcome)
        return [line for line in outcome.stderr.splitlines() if line.startswith("cg2d: interrupted by a signal")]

    def test_before_the_timed_region(self):
        for number, rank_counts in ((signal.SIGINT, (2, 0)), (signal.SIGTERM, (0, 2))):
            for rank_count in some_of(rank_counts, 2):
                self.assertEqual(len(self.signalled(rank_count, number)), 1)
                self.assertEqual(self.names(), [])


def parent_of(process):
    return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def lives(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Orphans(ProgramTest):
    """kill -9 of the launcher's process on this host, which nothing can pass on to the ranks."""

    def check(self, words, moment):
        with BackgroundRun(3, *words, "--grid", "1x3", *CHOSEN) as run:
            run.wait_for(moment)
            ranks = run.ranks()
            proxy = parent_of(ranks[0])
            self.assertNotEqual(proxy, run.launcher)
            os.kill(proxy, signal.SIGKILL)
            comes_true(lambda: not any(map(lives, ranks)), 30.0)  # two seconds, on a machine with nothing else to do
            left = [rank for rank in ranks if lives(rank)]
            send_to_all(left, signal.SIGKILL)
            self.assertEqual(left, [], words)

    def test_they_end_in_set_up_and_in_iterations(self):
        long_run = ("run", "--class", "A", "--niter", "1000000", "--reference", "17")
        at_the_same_time(self.check, [(("run", "--class", "C"), "generating class C"), (long_run, "outer iteration [2-9]/")])


class Aborts(InFolder):
    def test_the_message_of_a_rank_that_aborts_arrives(self):
        """A rank that runs out of memory while the others do not know takes them all along."""
        for _ in range(8 if THOROUGH else 2):
            with BackgroundRun(2, "run", "--class", "B", "--grid", "1x2") as run:
                run.wait_for("generating class B")
                rank = run.ranks()[-1]
                pages = int(pathlib.Path(f"/proc/{rank}/statm").read_text().split()[0])
                # Room for the stack, which would end the rank by a signal, and not for its block.
                limit = pages * resource.getpagesize() + (16 << 20)
                resource.prlimit(rank, resource.RLIMIT_AS, (limit, limit))
                outcome = self.ends_with(MEMORY, run.finish())
            self.assertRegex(outcome.stderr, r"cg2d: out of memory on rank \d")
