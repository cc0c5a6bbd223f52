"""Errors of cg2d: one line that names the fault, the same exit code from all ranks, and never a hang."""

import json
import os
import re
import signal
import stat
import subprocess

from program_runner import (
    CANNOT_CREATE, CANNOT_WRITE, INTERRUPTED, MEMORY, PROGRAM, SUCCESS, THOROUGH, USAGE, VERIFICATION_FAILED, BackgroundRun,
    ProgramTest, launch_words, run_command, run_program, send_to_all, some_of,
)  # fmt: skip

RANK_COUNTS = (1, 2, 3) if THOROUGH else (1, 2)


class ErrorTest(ProgramTest):
    """Assertions on runs that fail."""

    def assert_fails(self, outcome, exit_code, *words):
        """Expects one line from the program with these texts, and this exit code."""
        line = self.assert_refused(outcome, exit_code, *words)
        self.assertTrue(line.startswith("cg2d: "), outcome)
        return line


class Usage(ErrorTest):
    def test_a_line_break(self):
        self.assert_fails(run_program(2, "run", "--class", "Q\nR"), USAGE, r"--class Q\x0aR: unknown")

    def test_a_grid_that_does_not_match_lists_the_valid_ones(self):
        for rank_count, grid, valid in ((1, "2x2", "1x1"), (2, "2x2", "1x2, 2x1"), (6, "4x1", "1x6, 2x3, 3x2, 6x1")):
            outcome = run_program(rank_count, "run", "--class", "S", "--grid", grid)
            self.assertTrue(self.assert_fails(outcome, USAGE, f"--grid {grid}").endswith(f": {valid}"), outcome)

    def test_ranks_with_different_arguments(self):
        run_s = [PROGRAM, "run", "--class", "S"]
        for others in ([PROGRAM, "run", "--class", "W"], [PROGRAM, "--bogus"], [PROGRAM, "--help"]):
            for count in (1, 2):
                outcome = run_command([*launch_words(1), *run_s, ":", "-n", str(count), *others])
                self.assert_fails(outcome, USAGE, "different arguments", "the same")


class Memory(ErrorTest):
    TWO_NUMBERS = re.compile(r"needs (\d\S* [kMGTP]?B) .* (\d\S* [kMGTP]?B) are available")

    def assert_refuses(self, outcome):
        line = self.assert_fails(outcome, MEMORY, "not enough memory")
        self.assertRegex(line, self.TWO_NUMBERS)
        return self.TWO_NUMBERS.search(line).groups()

    def test_units_of_the_limit(self):
        for limit, said in (("1MB", "1 MB"), ("1m", "1 MB"), ("1MiB", "1.05 MB"), ("500000", "500 kB"), ("0.5mb", "500 kB")):
            with self.subTest(limit=limit):
                self.assertEqual(self.assert_refuses(run_program(2, "run", "--class", "W", "--memory-limit", limit))[1], said)

    def test_the_plan_obeys_the_limit(self):
        for limit, fits in (("1MB", False), ("1GB", True)):
            with self.subTest(limit=limit):
                arguments = ("run", "--class", "S", "--dry-run", "--memory-limit", limit)
                self.assertIs(self.document_of(2, *arguments)["plan"]["fits"], fits)
                verdict = ": fits" if fits else f"has {limit[0]} {limit[1:]}: does not fit"
                self.assertIn(verdict, self.run_well(2, *arguments).stdout)

    def test_nothing_is_allocated_before_the_refusal(self):
        # Class D takes over 8 GB, the bare program less than 100 MB, several times that with the address sanitizer.
        command = [PROGRAM, "run", "--class", "D", "--memory-limit", "4GB"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, MEMORY)
        self.assertLess(usage.ru_maxrss, 500 * 1024, "kB resident at most")


class Output(ErrorTest):
    def setUp(self):
        self.file = self.folder / "result"

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_standard_output_on_a_full_disk(self):
        # Under mpiexec a rank's standard output is a pipe to the launcher, so the shell directs it elsewhere.
        to_full_disk = ["sh", "-c", 'exec "$0" "$@" >/dev/full', PROGRAM]
        for arguments in (["run", "--class", "S"], ["run", "--class", "S", "--dry-run"], ["--help"]):
            for rank_count in (0, *RANK_COUNTS):
                outcome = run_command([*launch_words(rank_count), *to_full_disk, *arguments])
                self.assert_fails(outcome, CANNOT_WRITE, "standard output", "No space left on device")

    def test_a_result_has_the_rights_of_the_user_s_mask(self):
        self.run_well(1, "run", "--class", "S", "--output", self.file, umask=0o027)
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o640)
        self.assertEqual(self.files(), ["result"])

    def test_a_link_stays_and_its_target_gets_the_result(self):
        link = self.folder / "link"
        self.file.write_text("old\n")
        link.symlink_to(self.file)
        self.run_well(2, "run", "--class", "S", "--output", link)
        self.assertTrue(link.is_symlink())
        self.assertIn("VERIFICATION SUCCESSFUL", self.file.read_text())
        self.assertEqual(self.files(), ["link", "result"])

    def test_a_run_that_fails_leaves_an_existing_file_alone_but_for_an_error_in_json(self):
        for arguments, exit_code in (
            (["--bogus"], USAGE),
            (["--grid", "5x5"], USAGE),
            (["--memory-limit", "1kB"], MEMORY),
            (["--export-mtx", "/dev/full"], CANNOT_WRITE),
            (["--export-mtx", self.folder / "missing" / "file"], CANNOT_CREATE),
        ):
            for form in ("text", "json"):
                with self.subTest(arguments=arguments, form=form):
                    self.file.write_text("old\n" * 100_000)
                    line = self.assert_fails(run_program(2, "run", "--class", "S", "--format", form, "--output", self.file, *arguments), exit_code)
                    self.assertEqual(self.files(), ["result"])
                    if form == "text" or "--bogus" in arguments:  # a command line that cannot be read names no file
                        self.assertEqual(self.file.read_text(), "old\n" * 100_000)
                    else:
                        document = json.loads(self.file.read_text())
                        self.assertEqual((document["exit_code"], "cg2d: " + document["reason"]), (exit_code, line))


class Signals(ProgramTest):
    """SIGINT and SIGTERM end a run after the outer iteration that is under way."""

    # Class A, but for hours. The first iterations come within a second.
    ENDLESS = ["run", "--class", "A", "--grid", "rule", "--niter", "1000000", "--reference", "17.130235054029"]

    def setUp(self):
        self.file = self.folder / "result"

    def interrupt(self, rank_count, send, *arguments, at=r"outer iteration [2-9]/"):
        """Starts an endless run, calls send(run) while it iterates, and returns how it ends."""
        with BackgroundRun(rank_count, *self.ENDLESS, "--output", self.file, *arguments) as run:
            run.wait_for(at)
            send(run)
            return run.finish()

    def check(self, rank_count, send, *arguments, exit_codes=(INTERRUPTED,), least_steps=2):
        """The end of such a run, whose result is JSON."""
        outcome = self.interrupt(rank_count, send, "--format", "json", *arguments)
        self.assertIn(outcome.exit_code, exit_codes, outcome)
        self.assertEqual(len(outcome.error_lines()), 1, outcome)
        self.assertRegex(outcome.error_lines()[0], r"^cg2d: interrupted by a signal after ", outcome)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["result"])
        document = json.loads(self.file.read_text())
        self.assertEqual((document["status"], document["exit_code"]), ("interrupted", INTERRUPTED))
        self.assertEqual("cg2d: " + document["reason"], outcome.error_lines()[0])
        self.assertIsNone(document["result"])
        self.assertIsNone(document["phases"])
        steps = document["outer_steps"]
        self.assertGreaterEqual(len(steps), least_steps)
        self.assertIn(f"after outer iteration {len(steps)} of 1000000", document["reason"])
        self.assertEqual([step["step"] for step in steps], list(range(1, len(steps) + 1)))
        # The first steps of class A, as the official program prints them.
        self.assert_close(steps[0]["zeta"], 19.9997581277040, 1e-12)
        self.assert_close(steps[1]["zeta"], 17.1140495745506, 1e-12)

    def test_a_signal_to_all_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for rank_count in RANK_COUNTS:
                with self.subTest(signal=number.name, ranks=rank_count):

                    def send(run, number=number, rank_count=rank_count):
                        ranks = run.ranks()
                        self.assertEqual(len(ranks), rank_count)
                        send_to_all(ranks, number)

                    self.check(rank_count, send)

    def test_a_signal_without_a_launcher(self):
        """Libraries take SIGHUP (UCX) and SIGUSR1 (MPICH) for themselves; the program takes them back."""
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, *some_of((signal.SIGUSR2, signal.SIGXCPU), 2)):
            with self.subTest(signal=number.name):
                self.check(0, lambda run, number=number: os.kill(run.launcher, number))

    def test_under_nohup_a_hangup_is_ignored(self):
        """Also where the program starts itself anew, as with --threads."""
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_IGN))

        def send(run):
            os.kill(run.launcher, signal.SIGHUP)
            run.wait_for_next(r"outer iteration \d+[2-9]/")
            os.kill(run.launcher, signal.SIGTERM)

        for threads in some_of(((), ("--threads", "2")), 2):
            self.check(0, send, *threads, least_steps=12)

    def test_a_signal_to_the_launcher(self):
        """Hydra (MPICH 4.0) passes SIGINT and SIGTERM on to the ranks. Its own exit code is the ranks' or, as a matter of
        luck, 0: it does not always wait for them to tell theirs. So here only the file is to be relied on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                self.check(2, lambda run, number=number: os.kill(run.launcher, number), exit_codes=(INTERRUPTED, SUCCESS))

    def test_text_says_that_the_run_did_not_end_and_gives_no_verdict(self):
        self.ends_with(INTERRUPTED, self.interrupt(2, lambda run: run.send(signal.SIGTERM)))
        text = self.file.read_text()
        self.assertIn(" NOT COMPLETED: interrupted by a signal after outer iteration ", text)
        self.assertNotIn("VERIFICATION", text)
        self.assertNotIn("SUCCESSFUL", text)


class Verdict(ErrorTest):
    """Text, JSON, CSV and exit code never disagree."""

    WRONG = ["run", "--class", "S", "--reference", "8.5"]

    def test_a_wrong_reference(self):
        for rank_count in RANK_COUNTS:
            with self.subTest(ranks=rank_count):
                outcome = run_program(rank_count, *self.WRONG)
                self.assert_fails(outcome, VERIFICATION_FAILED, "zeta 8.5971775", "8.5000000", "1e-10")
                self.assertIn(" VERIFICATION FAILED\n", outcome.stdout)
                self.assertRegex(outcome.stdout, r"(?m)^ Verification    = {13}UNSUCCESSFUL$")

                outcome = run_program(rank_count, *self.WRONG, "--format", "json")
                line = self.assert_fails(outcome, VERIFICATION_FAILED)
                document = outcome.document()
                self.assertEqual(document["status"], "verification-failed")
                self.assertEqual(document["exit_code"], VERIFICATION_FAILED)
                self.assertEqual("cg2d: " + document["reason"], line)
                self.assertIs(document["result"]["verified"], False)

                outcome = run_program(rank_count, *self.WRONG, "--format", "csv")
                self.assert_fails(outcome, VERIFICATION_FAILED)
                self.assertTrue(outcome.stdout.splitlines()[1].startswith("verification-failed,"), outcome)

    def test_a_reference_that_is_barely_wrong_or_right(self):
        zeta = 8.5971775078648
        for factor, exit_code in ((1 + 0.99e-10, SUCCESS), (1 + 1.01e-10, VERIFICATION_FAILED)):
            self.ends_with(exit_code, run_program(1, "run", "--class", "S", "--reference", repr(zeta * factor)))
