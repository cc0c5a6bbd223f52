"""Runs of cg2d under a tool that looks for defects, each judged, and a table: for scripts/simulate, scripts/memcheck and
scripts/emulate."""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import command_line
from command_line import first_program
from report_parts.errors import UNAVAILABLE, ReportError

PROJECT = pathlib.Path(__file__).resolve().parent.parent
PASSED = "passed"  # a verdict: (this, or the kind of its defect, which is a column of the table; the reason)
FOUND = 1  # exit code: a run did not pass
SHOWN_LINES = 40
LOOK_AGAIN_S = 0.02
# Two outer iterations of class S, and what the report of a right run says. Messages and memory are the same in each iteration.
PROBLEM = ("--class", "S", "--niter", "2", "--no-profile")
RIGHT_WORDS = "zeta 8.5733279203"
# With NAME:N the ranks pretend to be on nodes of N, so that the transport's messages between nodes are used, too.
TRANSPORTS = ("two-sided", "native", "put", "shared", "put:2", "shared:2")


@dataclasses.dataclass(frozen=True)
class Case:
    """One run. `row`: the line of the table that it is counted in; `name`: which of that line; `right_words`: what a right one says."""

    row: str
    name: str
    command: tuple
    rank_count: int
    right_words: str


class OneLineParser(command_line.OneLineParser):
    """Options of the script, among them those that all have, and after "--" those of cg2d run, as the attribute more."""

    def __init__(self, name, transports=TRANSPORTS, *, seconds, late="", program, **texts):
        usage = texts.pop("usage", f"scripts/{name} [options] [-- options of cg2d run]")
        super().__init__(prog=name, usage=usage, **texts)
        self.add_argument("--transports", type=some_of(TRANSPORTS), default=list(transports), metavar="LIST",
                          help=f"default: {','.join(transports)}; with :2 on pretended nodes of 2 ranks; empty for none")  # fmt: skip
        self.add_argument("--seconds", type=int, choices=range(1, 3601), default=seconds, metavar="S",
                          help=f"a run that takes longer does not end{late} (default: {seconds})")  # fmt: skip
        self.add_argument("--program", type=pathlib.Path, metavar="FILE", help=f"this program{program}")

    def parse(self, words):
        end = words.index("--") if "--" in words else len(words)
        arguments = self.parse_args(words[:end])
        arguments.more = words[end + 1 :]
        return arguments


def some_of(known):
    """Takes a list of these names, such as a,b; an empty one, too."""

    def chosen(text):
        names = text.split(",") if text else []
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return names

    return chosen


def transport_options(transport):
    """NAME or NAME:N as options of cg2d run."""
    name, _, ranks_per_node = transport.partition(":")
    return ["--transport", name, *(["--ranks-per-node", ranks_per_node] if ranks_per_node else [])]


def required(name, packages, extent="thorough"):
    """The path of this program."""
    if found := shutil.which(name):
        return found
    raise ReportError(UNAVAILABLE, f"no {name}: install {packages} (scripts/install-dependencies {extent})")


def mpi_programs():
    """The paths of MPICH's compiler wrapper and launcher, unless the environment names others."""
    mpicxx = first_program(os.environ.get("MPICXX"), "mpicxx.mpich", "mpicxx")
    mpiexec = first_program(os.environ.get("MPIEXEC"), "mpiexec.mpich", "mpiexec.hydra", "mpiexec")
    if not (mpicxx and mpiexec):
        raise ReportError(UNAVAILABLE, "no mpicxx or mpiexec: install MPICH (scripts/install-dependencies)")
    return mpicxx, mpiexec


def build(preset, options, targets=("cg2d_program",)):
    """Builds the program of a preset, and what else is wanted; its path."""
    log = PROJECT / "build" / f"{preset}-build.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as output:
        for command in (
            ["cmake", "--preset", preset, "-DCG2D_WARNINGS_AS_ERRORS=ON", *options],
            ["cmake", "--build", "--preset", preset, "--target", *targets, "--parallel", str(os.cpu_count())],
        ):
            try:
                code = subprocess.run(command, cwd=PROJECT, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
            except FileNotFoundError:
                raise ReportError(UNAVAILABLE, "no cmake: run scripts/install-dependencies") from None
            if code != 0:
                raise ReportError(UNAVAILABLE, f"the program was not built; the reason is at the end of {log}")
    return PROJECT / "build" / preset / "cg2d"


def program_of(arguments, preset, options=(), targets=("cg2d_program",)):
    """The one that the arguments name, or that of the preset."""
    return arguments.program.resolve() if arguments.program else build(preset, options, targets)


class Running:
    """A run under way, in a working folder of its own."""

    def __init__(self, case, seconds):
        self.case, self.seconds, self.end = case, seconds, time.monotonic() + seconds
        self._folder = tempfile.TemporaryDirectory(prefix="cg2d-checked-")
        self._output = open(pathlib.Path(self._folder.name) / "output", "w+", errors="replace")
        pipes = {"stdin": subprocess.DEVNULL, "stdout": self._output, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(case.command, cwd=self._folder.name, start_new_session=True, **pipes)

    def is_over(self):
        return self.process.poll() is not None or time.monotonic() >= self.end

    def finish(self, judge):
        """(kind, reason, output). A run that has not ended is ended. A run that the judge lets pass must say its right words."""
        code = self.process.poll()
        if code is None:
            end_session(self.process)
        with self._folder, self._output as output:
            output.seek(0)
            text = output.read()
            if code is None:
                return "no end", f"it did not end within {self.seconds:g} s", text
            kind, reason = judge(self.case, code, text, pathlib.Path(self._folder.name))
        if kind == PASSED and self.case.right_words not in text:
            return "failed", f"it does not say '{self.case.right_words}'", text
        return kind, reason, text


def end_session(process):
    """Ends a run and all that it has started; launchers take along ranks in sessions of their own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


@contextlib.contextmanager
def late_signals():
    """Yields a list that gets the number of each signal that comes meanwhile; it interrupts at the end. At once, it could come between the start
    of a process and the note of its number, and nobody would end it."""
    came = []
    handlers = {number: handler for number in (signal.SIGINT, signal.SIGTERM) if (handler := signal.getsignal(number)) != signal.SIG_IGN}
    for number in handlers:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def run_all(cases, judge, *, seconds, kinds, jobs=None):
    """Runs all cases, prints every defect as it is found and the table at the end, or when it is interrupted; the exit code.
    `judge(case, exit code, output, folder)` gives (kind, reason): the folder is the run's working folder. `kinds`: the defects
    that always have a column. `jobs`: runs at a time, by default as many as have cores for all of their ranks."""
    jobs = jobs or max(1, (os.cpu_count() or 1) // max((case.rank_count for case in cases), default=1))
    counts = {case.row: collections.Counter() for case in cases}
    waiting, running = collections.deque(cases), []
    with late_signals() as came:
        try:
            while (waiting or running) and not came:
                while waiting and len(running) < jobs:
                    running.append(Running(waiting.popleft(), seconds))
                for run in list(filter(Running.is_over, running)):
                    running.remove(run)
                    kind, reason, text = run.finish(judge)
                    counts[run.case.row][kind] += 1
                    if kind != PASSED:
                        print(f"{run.case.row} {run.case.name}: {kind}: {reason}")
                        print("  " + " ".join(map(str, run.case.command)))
                        print("".join(f"  | {line}\n" for line in text.splitlines()[-SHOWN_LINES:]), end="")
                time.sleep(LOOK_AGAIN_S)
        finally:
            for run in running:
                end_session(run.process)
            print_table(counts, kinds)
    return FOUND if any(set(row) != {PASSED} for row in counts.values()) else 0


def print_table(counts, kinds):
    others = {kind for row in counts.values() for kind in row} - {PASSED, *kinds}
    columns = [PASSED, *kinds, *sorted(others)]
    width = max(map(len, [*counts, "all"]))
    print(" " * width, f"{'runs':>6}", *(f"{column:>{max(6, len(column))}}" for column in columns))
    total = sum(counts.values(), collections.Counter())
    for name, row in [*counts.items(), ("all", total)]:
        print(f"{name:{width}} {row.total():6d}", *(f"{row[column]:{max(6, len(column))}d}" for column in columns))
