"""Runs cg2d as a user does, with a time limit, and leaves no process running.

Command lines share one start of MPI for each number of ranks (support/command_loop.cpp), which saves most of their time. A test of the start
itself (environment, launcher, signals, memory of a process, threads) takes start_program(); so do all where the extent is campaign.

The program to run comes from the environment, set by program_tests.cmake; by hand the release build is taken:

    export PYTHONPATH=tests/support:tests/program:tests/scripts
    python3 -m unittest report_test              all tests of a file
    python3 -m unittest report_test.Repeats      some of them
"""

import atexit
import concurrent.futures
import contextlib
import ctypes
import dataclasses
import functools
import json
import math
import os
import pathlib
import queue
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import jsonschema

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("CG2D_PROGRAM", str(PROJECT / "build" / "release" / "cg2d"))
COMMAND_LOOP = os.environ.get("CG2D_COMMAND_LOOP", "")
MPIEXEC = os.environ.get("CG2D_MPIEXEC") or shutil.which("mpiexec.mpich") or "mpiexec"
# A folder without tuning profiles, so that the user's own profile does not change the results of tests.
CACHE_FOLDER = tempfile.TemporaryDirectory(prefix="cg2d-cache-")
os.environ["XDG_CACHE_HOME"] = CACHE_FOLDER.name
# Kernels whose loops are chosen by their times may have other last bits in the next run of a busy machine.
FLAGS = pathlib.Path("/proc/cpuinfo").read_text().split()
os.environ["CG2D_INSTRUCTION_SET"] = "avx2" if {"avx2", "fma"} <= set(FLAGS) else "portable"

# Exit codes, as the program's header errors.hpp has them.
SUCCESS, USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, DEFECT, MEMORY = 0, 64, 65, 66, 69, 70, 71
CANNOT_CREATE, CANNOT_WRITE, INTERRUPTED, TRY_AGAIN = 73, 74, 75, 75
NOT_POSITIVE_DEFINITE, NOT_CONVERGED, VERIFICATION_FAILED, SOFT_ERROR, NOT_FINITE, STALLED, FOLDER_IN_USE = range(80, 87)
# Ranks that a signal ends at once, at different moments: the launcher kills those that are left, and on a busy machine it may
# report that end (9), or its own trouble with it (1, which no run ends with), as the program's.
INTERRUPTED_AT_ONCE = (INTERRUPTED, 9, 1)

# zeta after every outer iteration of class S, as the official 3.4 program prints it on 1 rank.
CLASS_S_ZETA = (
    9.998644157914, 8.5733279203222, 8.5954510374058, 8.5969972340737, 8.5971549151767,
    8.5971744311608, 8.5971770704913, 8.597177444063, 8.5971774983942, 8.5971775064409,
    8.5971775076486, 8.5971775078318, 8.5971775078598, 8.5971775078641, 8.5971775078648,
)  # fmt: skip
CLASS_S_NONZEROS = 78148

PHASES = ("collection", "multiply", "summation", "shuffle", "dot", "vector_updates")

# Whether to take all of a product of many things, and not a choice, and very many rare events (tests/support/test_extent.hpp).
CAMPAIGN = os.environ.get("CG2D_TEST_EXTENT") == "campaign"
THOROUGH = CAMPAIGN or os.environ.get("CG2D_TEST_EXTENT") == "thorough"


def some_of(cases, step):
    """Of a long list, each step-th case, and all where the extent is thorough. A step without a common divisor with the
    lengths of a product's factors meets every value of every factor."""
    return list(cases) if THOROUGH else list(cases)[::step]


# A run that takes longer hangs: runs of the tests take seconds at most, even with sanitizers.
HANG_S = 120.0


def comes_true(condition, within_s=HANG_S):
    """Looks again and again. Returns the condition's value, which is false where it does not come true."""
    deadline = time.monotonic() + within_s
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return value


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def launch_words(rank_count):
    """The launcher and its arguments; without ranks the program is started without a launcher, as one rank."""
    return [MPIEXEC, "-n", str(rank_count)] if rank_count else []


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Exit code and output of a program that has ended."""

    command: str
    exit_code: int
    stdout: str
    stderr: str

    def error_lines(self):
        """Lines on stderr, without those of the launcher and of MPI's own layers ("[mpiexec@host] ...")."""
        return [line for line in self.stderr.splitlines() if line and not line.startswith("[")]

    def said(self):
        """Output and errors, without the line of the report that repeats the command."""
        return re.sub(r"(?m)^ Command +=.*\n", "", self.stdout) + self.stderr

    def document(self):
        """The result, where it was written to stdout as JSON."""
        return json.loads(self.stdout)

    def __str__(self):
        return f"{self.command}\nexit code {self.exit_code}\n{self.stdout[-2000:]}\n{self.stderr[-4000:]}"


def factorizations(rank_count):
    """All ordered grids of a rank count, as (columns, rows)."""
    return [(columns, rank_count // columns) for columns in range(1, rank_count + 1) if rank_count % columns == 0]


def descendants(process_id):
    """Ids of all processes below one. Ranks are in sessions of their own, so a process group does not hold them."""
    found = []
    try:
        tasks = [path.read_text() for path in pathlib.Path(f"/proc/{process_id}/task").glob("*/children")]
    except OSError:  # the process, or a thread of it, ended meanwhile
        tasks = []
    for children in tasks:
        for child in map(int, children.split()):
            found += [child, *descendants(child)]
    return found


def send_to_all(processes, number):
    """A signal. Where it ends one of them, their launcher may end the others first."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def program_processes(process_id, program=PROGRAM):
    """Ids of the ranks below a launcher."""
    ranks = []
    for candidate in descendants(process_id):
        try:
            if os.path.samefile(f"/proc/{candidate}/exe", program):
                ranks.append(candidate)
        except OSError:
            continue
    return ranks


def kill_all(process):
    send_to_all([*descendants(process.pid), process.pid], signal.SIGKILL)


def start(command, **options):
    """Starts a process that ends with this one, whatever ends it: a test that takes too long is killed by ctest, but by
    ctest alone. (A launcher that is gone takes its ranks along.)"""
    death_signal_option = 1  # PR_SET_PDEATHSIG, prctl(2)
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: libc.prctl(death_signal_option, signal.SIGKILL),
        **{"stderr": subprocess.PIPE, **options},
    )


def run_command(command, timeout_s=HANG_S, **options):
    """Runs any command line. A hang is killed, with all that it started, and fails the test."""
    command = [str(word) for word in command]
    process = start(command, stdout=subprocess.PIPE, **options)
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill_all(process)
        stdout, stderr = process.communicate()
        raise AssertionError(f"hangs: {' '.join(command)}\n{stdout}\n{stderr}") from None
    return Outcome(" ".join(command), process.returncode, stdout, stderr or "")


def steady(arguments):
    """The same arguments; a sweep that does not say how often it repeats disturbed runs repeats none, since the machine
    that runs the tests must not decide how many lines there are."""
    words = [str(argument) for argument in arguments]
    is_run = words[:1] == ["sweep"] and not {"--retries", "--show"} & set(words)
    return [*words, "--retries", "0"] if is_run else words


def start_program(rank_count, *arguments, **options):
    """Starts cg2d with these arguments, for them alone; rank_count 0: without mpiexec."""
    return run_command([*launch_words(rank_count), PROGRAM, *steady(arguments)], **options)


class CommandLoop:
    """Ranks that do one command line after another, as long as none of them ends the ranks."""

    def __init__(self, rank_count):
        self._folder = tempfile.TemporaryDirectory(prefix="cg2d-loop-")
        folder = self._folder.name
        # Opened for both directions: that waits for nobody.
        self._orders = [self._make_pipe(f"{folder}/orders.{rank}") for rank in range(max(1, rank_count))]
        self._codes = self._make_pipe(f"{folder}/codes")
        self._words = launch_words(rank_count)
        self._own_output = open(f"{folder}/own", "w+")
        self._process = start([*self._words, COMMAND_LOOP, folder], stdout=self._own_output, stderr=subprocess.STDOUT,
                              env={**os.environ, "OMP_WAIT_POLICY": "passive"})  # fmt: skip

    @staticmethod
    def _make_pipe(path):
        os.mkfifo(path)
        return os.open(path, os.O_RDWR)

    def run(self, arguments, timeout_s, cwd):
        """The outcome; one that ended the ranks has the launcher's words in its output, as that of a start has."""
        paths = {name: f"{self._folder.name}/{name}" for name in ("output", "errors")}
        order = {"arguments": [PROGRAM, *arguments], "folder": str(cwd or os.getcwd()), **paths}
        for pipe in self._orders:
            os.write(pipe, (json.dumps(order) + "\n").encode())
        code = self._wait_for_code(time.monotonic() + timeout_s)
        texts = [self._take(path) for path in paths.values()]
        if code is None:
            kill_all(self._process)
            raise AssertionError(f"hangs: {' '.join(arguments)}\n{texts[0]}\n{texts[1]}")
        if not self.is_usable():
            self._own_output.seek(0)
            texts[0] += self._own_output.read()
        return Outcome(" ".join([*self._words, PROGRAM, *arguments]), code, *texts)

    def _wait_for_code(self, deadline):
        while time.monotonic() < deadline:
            if select.select([self._codes], [], [], 0.1)[0]:
                return int(os.read(self._codes, 100))
            if not self.is_usable():
                return self._process.returncode
        return None

    @staticmethod
    def _take(path):
        try:
            with open(path) as file:
                return file.read()
        except FileNotFoundError:  # the ranks ended before
            return ""
        finally:
            pathlib.Path(path).unlink(missing_ok=True)

    def is_usable(self):
        return self._process.poll() is None

    def close(self):
        """Ends the ranks. A sanitizer may have something to say about all that they did."""
        for pipe in (*self._orders, self._codes):
            os.close(pipe)
        if not self.is_usable():
            return
        try:
            code = self._process.wait(HANG_S)
        except subprocess.TimeoutExpired:
            kill_all(self._process)
            code = "none: hangs"
        self._own_output.seek(0)
        if code != SUCCESS:
            print(f"{COMMAND_LOOP}: exit code {code}\n{self._own_output.read()}", flush=True)
            os._exit(DEFECT)


class CommandLoops:
    """One for each number of ranks that is asked for. They are started by a thread that lives as long as this process: the system ends what a
    thread has started (see start()) with the thread."""

    def __init__(self):
        self._loops = {}
        self._one_at_a_time = threading.Lock()
        self._asked, self._started = queue.Queue(), queue.Queue()
        threading.Thread(target=self._start_loops, daemon=True).start()
        atexit.register(self.close)

    def _start_loops(self):
        while True:
            self._started.put(CommandLoop(self._asked.get()))

    def run(self, rank_count, arguments, timeout_s, cwd):
        with self._one_at_a_time:
            loop = self._loops.get(rank_count)
            if loop is None or not loop.is_usable():
                self._asked.put(rank_count)
                loop = self._loops[rank_count] = self._started.get(timeout=HANG_S)
            return loop.run(arguments, timeout_s, cwd)

    def close(self):
        for loop in self._loops.values():
            loop.close()


LOOPS = CommandLoops()


def run_program(rank_count, *arguments, timeout_s=HANG_S, cwd=None, starts_anew=False, **options):
    """Runs cg2d with these arguments; rank_count 0: without mpiexec. With options of start() it is started for them alone, and where it
    starts_anew: the most memory of a process is that of all it has done."""
    words = steady(arguments)
    # The other process of a report asks for the program's own place.
    if CAMPAIGN or not COMMAND_LOOP or starts_anew or options or words[:1] == ["report"]:
        return start_program(rank_count, *words, timeout_s=timeout_s, cwd=cwd, **options)
    return LOOPS.run(rank_count, words, timeout_s, cwd)


def names_listed(option):
    """The names of a list: of --list-kernels, --list-transports."""
    outcome = run_program(0, "run", option)
    assert outcome.exit_code == SUCCESS, outcome
    lines = outcome.stdout.splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("kernel ")}


def listed_kernels():
    """Every kernel of --list-kernels: its name, and whether it converts the CSR."""
    outcome = run_program(0, "run", "--list-kernels")
    assert outcome.exit_code == SUCCESS, outcome
    lines = outcome.stdout.splitlines()[1:]
    rows = [line.split() for line in lines]
    assert len(rows) > 1, lines
    return {row[0]: row[2] == "conversion" for row in rows}


@functools.cache
def validator_of(name):
    """For what commands write and read. name: as cg2d schema takes it."""
    outcome = run_program(0, "schema", name)
    assert outcome.exit_code == SUCCESS, outcome
    schema = outcome.document()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def bytes_of(text):
    """As the program writes them: "60 MB"."""
    number, unit = text.split()
    return round(float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit])


def process_bytes(rank_count):
    """The memory that --memory-limit counts for each of so many processes, without a matrix: more with a sanitizer."""
    plan = run_program(rank_count, "run", "--class", "S", "--dry-run", "--format", "json").document()["plan"]
    return plan["memory_per_rank_bytes"]["process"]


def run_until_physical(rank_count, *arguments, **options):
    """A measurement, up to three times: a busy machine gives fits that make no sense, which the program refuses."""
    for _ in range(3):
        outcome = run_program(rank_count, *arguments, **options)
        if outcome.exit_code != TRY_AGAIN:
            return outcome
    raise unittest.SkipTest(f"the machine is too busy: {outcome.stderr}")


class BackgroundRun:
    """cg2d under way, its result wherever --output says. Its progress is read all the time, so that it never waits."""

    def __init__(self, rank_count, *arguments):
        self._command = [*launch_words(rank_count), PROGRAM, *steady(arguments), "--progress"]
        self._lines = []
        self._changed = threading.Condition()

    def __enter__(self):
        self._process = start(self._command, stdout=subprocess.DEVNULL)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            kill_all(self._process)
        self._process.wait()
        self._reader.join()
        self._close()

    def _close(self):
        self._process.stderr.close()

    def _read(self):
        for line in self._process.stderr:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()

    @property
    def launcher(self):
        return self._process.pid

    def send(self, number):
        send_to_all(self.ranks(), number)

    def ranks(self):
        return program_processes(self.launcher)

    def wait_for(self, pattern):
        """Returns when a line of the progress matches."""
        deadline = time.monotonic() + HANG_S
        seen = 0
        with self._changed:
            while True:
                if any(re.search(pattern, line) for line in self._lines[seen:]):
                    return
                seen = len(self._lines)
                if self._process.poll() is not None or not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no line {pattern!r} from {self._command}:\n{''.join(self._lines)}")

    def wait_for_next(self, pattern):
        """The same for a line that is not there yet."""
        with self._changed:
            self._lines.clear()
        self.wait_for(pattern)

    def _wait(self):
        try:
            self._process.wait(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            kill_all(self._process)
            raise AssertionError(f"hangs: {self._command}") from None
        self._reader.join()

    def finish(self):
        """Waits for the end. The outcome has no stdout, and its stderr no lines of progress."""
        self._wait()
        said = [line for line in self._lines if not re.match(r"cg2d: (run \d|generating|\d+ nonzeros)", line)]
        return Outcome(" ".join(self._command), self._process.returncode, "", "".join(said))


def at_the_same_time(do, cases):
    """Calls do(*case) for each, beside each other: for cases that wait most of their time. Raises what one of them raises."""
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        return list(pool.map(lambda case: do(*case), cases))


def temporary_folder(add_cleanup):
    """A folder that goes with its test (addCleanup), or with its class (addClassCleanup)."""
    folder = tempfile.TemporaryDirectory(prefix="cg2d-test-")
    add_cleanup(folder.cleanup)
    return pathlib.Path(folder.name)


class ProgramTest(unittest.TestCase):
    """Assertions on outcomes."""

    @functools.cached_property
    def folder(self):
        """A folder of the test's own, which goes after it."""
        return temporary_folder(self.addCleanup)

    def file(self, name, content=""):
        """A file of the folder with this text, or these bytes."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def ends_with(self, exit_code, outcome):
        self.assertEqual(outcome.exit_code, exit_code, outcome)
        return outcome

    def run_well(self, rank_count, *arguments, **options):
        """A run that must end with 0."""
        return self.ends_with(SUCCESS, run_program(rank_count, *arguments, **options))

    def document_of(self, rank_count, *arguments, **options):
        """The JSON result of a run that must end with 0."""
        return self.run_well(rank_count, *arguments, "--format", "json", **options).document()

    def valid_document_of(self, rank_count, command, *arguments, code=SUCCESS, **options):
        """The JSON result of a run that must end with the code, by the schema of its command."""
        document = self.ends_with(code, run_program(rank_count, command, *arguments, "--format", "json", **options)).document()
        self.assertEqual(document.get("exit_code", code), code)  # where it has one
        return self.assert_valid(document, command)

    def assert_valid(self, document, name="run"):
        """As cg2d schema has it under that name. Returns the document."""
        error = jsonschema.exceptions.best_match(validator_of(name).iter_errors(document))
        if error is not None:
            self.fail(f"not as in the schema: {error.json_path}: {error.message[:500]}")
        return document

    def assert_refused(self, outcome, exit_code, *parts):
        """One line of errors, which has all parts, and that exit code. Returns the line."""
        self.ends_with(exit_code, outcome)
        self.assertEqual(len(outcome.error_lines()), 1, outcome)
        (line,) = outcome.error_lines()
        for part in parts:
            self.assertIn(part, line, outcome)
        return line

    def with_mount(self, script, *words):
        """The beginning of a command line in a name space of its own, after a script of these words that mounts something. A test is
        skipped where the system has none."""
        command = ["unshare", "--mount", "sh", "-c", f'{script} && exec "$@"', *words]
        if run_command([*command, "true"]).exit_code != SUCCESS:
            self.skipTest("no mount namespaces here")
        return command

    def assert_close(self, actual, expected, relative_tolerance):
        if not math.isclose(actual, expected, rel_tol=relative_tolerance):
            self.fail(f"{actual!r} differs from {expected!r} by more than {relative_tolerance} of it")

    def assert_near(self, values, expected, relative_tolerance):
        """Each by so much of the largest one."""
        largest = max(map(abs, expected))
        for value, other in zip(values, expected, strict=True):
            self.assertLessEqual(abs(value - other), relative_tolerance * largest)
