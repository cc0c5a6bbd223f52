"""Runs cg2d on a terminal, as a person does, and shows what that person would see."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
import unittest

from program_runner import HANG_S, PROGRAM, BackgroundRun, launch_words, steady

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
    """cg2d under way with its stderr on a terminal, and its stdout, too, unless it has another place. Launchers give their ranks pipes in its
    place; so a shell leads the ranks' stderr back to it, unless it passes_pipes."""

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
