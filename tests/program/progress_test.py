"""Progress: one line that rewrites itself on a terminal, and plain lines elsewhere for those who ask for them.
No test asks how fast anything is: the tests look at what is shown, where, and what is left of it."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from program_runner import (
    HANG_S, INTERRUPTED, INTERRUPTED_AT_ONCE, PROGRAM, SUCCESS, THOROUGH, BackgroundRun, ProgramTest, launch_words, run_program, steady,
)  # fmt: skip

ENDLESS = ("run", "--class", "S", "--niter", "1000000", "--reference", "17", "--no-profile")
TIMES = r" \((\d+ %, )?(\d+ s|\d+ min \d+ s)(, about [^)]* left)?\)"

ERASE = "\033[K"


class Screen:
    """The lines of a terminal after a text with returns, new lines and erasures to the end of the line. Other escape
    sequences stay as they are: there should be none."""

    def __init__(self, text):
        self.lines = [""]
        column = 0
        for part in re.findall(r"\r|\n|\033\[K|[^\r\n\033]+|\033", text):
            line = self.lines[-1]
            if part == "\r":
                column = 0
            elif part == "\n":
                self.lines.append("")
            elif part == ERASE:
                self.lines[-1] = line[:column]
            else:
                self.lines[-1] = line[:column].ljust(column) + part + line[column + len(part) :]
                column += len(part)

    def __str__(self):
        return "\n".join(self.lines)


def open_terminal():
    """A pseudo-terminal: its master, and the side of programs. A test is skipped where the system has none (a chroot without /dev/pts)."""
    try:
        return pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no pseudo-terminals here: {error}") from None


class TerminalRun(BackgroundRun):
    """cg2d under way with its stderr on a terminal, and its stdout, too, unless it has another place. Launchers give their ranks
    pipes in its place; so a shell leads the ranks' stderr back to it, unless it passes_pipes."""

    def __init__(self, rank_count, *arguments, stdout=None, columns=100, kind="xterm", passes_pipes=False):
        self._launcher = launch_words(rank_count)
        self._command = [PROGRAM, *map(str, steady(arguments))]
        self._passes_pipes = passes_pipes or rank_count == 0
        self._stdout = stdout
        self._columns = columns
        self._environment = {**os.environ, "TERM": kind}
        self._text = ""
        self._changed = threading.Condition()

    def __enter__(self):
        self._terminal, side = open_terminal()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, self._columns, 0, 0))
        stdout = side if self._stdout is None else self._stdout
        shell = [] if self._passes_pipes else ["sh", "-c", f'exec "$0" "$@" 2> {os.ttyname(side)}']
        self._process = subprocess.Popen(
            [*self._launcher, *shell, *self._command], stdin=subprocess.DEVNULL, stdout=stdout, stderr=side, env=self._environment
        )
        os.close(side)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def _close(self):
        os.close(self._terminal)

    def _read(self):
        with contextlib.suppress(OSError):  # the other side is closed
            while data := os.read(self._terminal, 65536):
                with self._changed:
                    self._text += data.decode()
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def ranks(self):
        return super().ranks() or [self.launcher]

    def wait_for(self, pattern):
        """Returns when the terminal has been sent a match."""
        deadline = time.monotonic() + HANG_S
        with self._changed:
            while not re.search(pattern, self._text):
                if self._process.poll() is not None and not self._reader.is_alive():
                    raise AssertionError(f"no {pattern!r} from {self._command}:\n{self._text!r}")
                if not self._changed.wait(min(1.0, deadline - time.monotonic())) and time.monotonic() > deadline:
                    raise AssertionError(f"hangs without {pattern!r}: {self._command}:\n{self._text!r}")

    def finish(self):
        """Waits for the end. Returns exit code and all that the terminal was sent."""
        try:
            self._wait()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._text!r}") from None
        return self._process.returncode, self._text


class ProgressTest(ProgramTest):
    """What a terminal shows."""

    rank_count = 2

    def show(self, *arguments, code=SUCCESS, **options):
        """What the terminal was sent, and what is left on it, of a run that must end with the code."""
        with TerminalRun(self.rank_count, *arguments, **options) as run:
            end, text = run.finish()
        self.assertEqual(end, code, text)
        return text, str(Screen(text))

    def assert_rewritten(self, text, *stages):
        """The stages were shown on a line of their own, which is gone."""
        drawn = re.findall(r"\r(cg2d: [^\r\n\033]*)\033\[K", text)
        for stage in stages:
            self.assertTrue([line for line in drawn if re.search(stage, line)], (stage, text))
        for line in drawn:
            self.assertRegex(line, TIMES + "$")
        for line in str(Screen(text)).splitlines():
            self.assertNotRegex(line, "cg2d: .*" + TIMES, "the line stayed")
        self.assertNotIn("\033", text.replace(ERASE, ""), "no other escape sequences")


class OnATerminal(ProgressTest):
    def test_a_run_shows_what_it_does_and_leaves_its_report(self):
        text, screen = self.show("run", "--class", "A", "--no-profile")
        self.assert_rewritten(text, "trying grids" if self.rank_count else "generating class A")
        self.assertIn("VERIFICATION SUCCESSFUL", screen)
        self.assertTrue(screen.lstrip().startswith("cg2d - NAS Parallel Benchmark"), screen)

    def test_iterations_are_shown_with_the_time_that_is_left(self):
        with TerminalRun(self.rank_count, *ENDLESS) as run:
            run.wait_for(r"\rcg2d: run 1, outer iteration \d+/1000000: [^\r\n]* left\)\033\[K")
            run.wait_for(r"outer iteration \d+/[^\r]*\r[^\r]*outer iteration \d+/")

    def test_a_signal_leaves_a_clean_line(self):
        for at in ("generating|trying", "outer iteration"):
            with self.subTest(at=at), TerminalRun(self.rank_count, *ENDLESS) as run:
                run.wait_for(at)
                run.send(signal.SIGINT)
                code, text = run.finish()
                self.assertIn(code, INTERRUPTED_AT_ONCE if self.rank_count else (INTERRUPTED,), text)
                self.assert_rewritten(text)
                lines = str(Screen(text)).splitlines()
                self.assertTrue([line for line in lines if line.startswith("cg2d: interrupted by a signal")], lines)

    def test_an_error_stands_on_a_line_of_its_own(self):
        arguments = ("run", "--class", "A", "--memory-limit", "100kB", "--no-profile")
        with TerminalRun(self.rank_count, *arguments, columns=40) as run:
            code, text = run.finish()
            self.assertNotEqual(code, SUCCESS)
            self.assert_rewritten(text)
            widths = [len(line) for line in re.findall(r"\r(cg2d: [^\r\n\033]*)\033\[K", text)]
            self.assertTrue(widths or self.rank_count == 0, "without a launcher it ends before the first line")
            self.assertLess(max(widths, default=0), 40)
            self.assertRegex(str(Screen(text)), r"(?m)^cg2d: .*memory")


class Elsewhere(ProgressTest):
    RUN = ("run", "--class", "A", "--no-profile")
    SHORT = ("run", "--class", "W", "--no-profile")

    def test_no_escape_sequence_goes_into_files_and_pipes(self):
        file = self.folder / "result.txt"
        with open(file, "w", encoding="utf-8") as stdout:
            text, screen = self.show(*self.RUN, stdout=stdout)
        self.assert_rewritten(text, "generating class A" if self.rank_count == 0 else "trying grids")
        self.assertEqual(screen.strip(), "")
        self.assertNotIn("\033", file.read_text())
        self.assertNotIn("\r", file.read_text())
        outcome = run_program(self.rank_count, *self.RUN, env={**os.environ, "TERM": "xterm"})
        self.assertEqual((outcome.exit_code, outcome.error_lines()), (SUCCESS, []), outcome)
        self.assertNotIn("\033", outcome.stdout)

    def test_progress_writes_plain_lines(self):
        outcome = self.run_well(self.rank_count, *self.SHORT, "--progress", env={**os.environ, "TERM": "xterm"})
        for pattern in ("cg2d: generating class W", r"cg2d: \d+ nonzeros in", r"cg2d: run 1, outer iteration 15/15: "):
            self.assertTrue([line for line in outcome.error_lines() if re.match(pattern, line)], (pattern, outcome))
        self.assertNotRegex(outcome.stderr, "[\033\r]")

    def test_dumb_terminals_get_plain_lines_or_nothing(self):
        for kind in ("dumb", ""):
            with self.subTest(kind=kind):
                text, _ = self.show(*self.SHORT, kind=kind)
                self.assertNotIn("generating", text)
                self.assertNotIn("\033", text)
                text, _ = self.show(*self.SHORT, "--progress", kind=kind)
                self.assertIn("cg2d: generating class W", text)
                self.assertNotIn("\033", text)

    def test_quiet_is_silent_on_a_terminal(self):
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            self.assertEqual(self.show(*self.RUN, "--quiet", stdout=nowhere)[0], "")


class Pipes(ProgressTest):
    def test_a_pipe_of_a_launcher_is_no_terminal(self):
        """The launcher may mark its lines, or lead them elsewhere."""
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            self.assertEqual(self.show(*Elsewhere.RUN, stdout=nowhere, passes_pipes=True)[0], "")


@unittest.skipUnless(THOROUGH, "others see most of what it sees")
class OnATerminalWithoutALauncher(OnATerminal):
    rank_count = 0


@unittest.skipUnless(THOROUGH, "others see most of what it sees")
class ElsewhereWithoutALauncher(Elsewhere):
    rank_count = 0
