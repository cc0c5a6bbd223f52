"""Files that a device or the system loses, damages or refuses: no wrong result, one line, and the code 74 or 65.

The faults come from a library that is loaded before the C library (tests/support/fault_injector.cpp). By default a few of them; with
CG2D_TEST_EXTENT=campaign 1000."""

import itertools
import json
import os
import pathlib
import random
import shutil
import tempfile
import unittest

from program_runner import (
    BAD_DATA, CAMPAIGN, CANNOT_CREATE, CANNOT_WRITE, PROGRAM, SUCCESS, THOROUGH, UNAVAILABLE, USAGE, ProgramTest, launch_words, run_command,
    run_program, some_of,
)  # fmt: skip
from solve_test import matrix_text, poisson

INJECTOR = os.environ.get("CG2D_FAULT_INJECTOR", "")
FAULT_COUNT = 1000 if CAMPAIGN else 120 if THOROUGH else 15
WRITE_KINDS = ("error", "full", "drop", "zeros", "flip", "later")
SYNC_KINDS = ("error", "lose", "fail")
READ_KINDS = ("error", "flip")
# Of a text, which is not read back: what write() and fsync() tell.
TOLD_KINDS = {"write": ("error", "full", "later"), "sync": ("error", "fail")}
FORM = ("--no-profile", "--format", "json")


def faulty(folder, call, kind, number, rank=0, goes_on=False, **more):
    """The environment of a program whose calls on files in the folder fail."""
    return {
        **os.environ, "LD_PRELOAD": INJECTOR, "CG2D_FAULT": f"{call} {kind} {number}{'+' if goes_on else ''}",
        "CG2D_FAULT_FOLDER": str(folder), "CG2D_FAULT_RANK": str(rank), "CG2D_FAULT_LOG": f"{folder}-faults", **more,
    }  # fmt: skip


def numbers_of(document):
    """What must be alike in two runs of the same problem."""
    return [document["problem"], document.get("outer_steps"), document["result"].get("zeta")]


class Convert:
    """Entries in a scratch file, and the binary form, which is not read back: what its device has lost shows where it is read."""

    calls = {"write": WRITE_KINDS, "sync": SYNC_KINDS, "read": READ_KINDS}

    def __init__(self, folder, matrix):
        self.folder, self.matrix = folder, matrix

    def run(self, rank_count, environment):
        return run_program(rank_count, "convert", self.matrix, self.folder / "A.cg2d", "--scratch", self.folder, env=environment)

    def result(self, _outcome):
        path = self.folder / "A.cg2d"
        return path.read_bytes() if path.exists() else None

    def solved(self):
        """A solve takes every byte of it."""
        return run_program(0, "solve", self.folder / "A.cg2d", "--rtol", "1e-2", *FORM)


class Cache(Convert):
    """A solve that reads the binary form, and its solution in a file."""

    calls = {"read": READ_KINDS, "write": TOLD_KINDS["write"]}

    def __init__(self, folder, matrix):
        super().__init__(folder, matrix)
        self.file = folder / "B.cg2d"

    def run(self, rank_count, environment):
        if not self.file.exists():
            run_program(0, "convert", self.matrix, self.file)
        # The bits of the solution are those of the grid and of the form of the sums, of which the program would choose by what it measures.
        plan = ("--grid", f"1x{max(rank_count, 1)}", "--transport", "two-sided", "--kernel", "csr-simd", *FORM)
        words = ("solve", self.file, "--rtol", "1e-2", "--solution", self.folder / "x.mtx", *plan)
        return run_program(rank_count, *words, env=environment)

    def result(self, _outcome):
        path = self.folder / "x.mtx"
        return path.read_text() if path.exists() else None


class Streamed(Convert):
    """Panels that are written and read in the same run, and taken by the next one."""

    def words(self, rank_count):
        return ("run", "--class", "S", "--grid", f"1x{max(rank_count, 1)}", "--kernel", "sell", "--niter", "3", "--out-of-core", self.folder / "store", *FORM)

    def run(self, rank_count, environment):
        return run_program(rank_count, *self.words(rank_count), env=environment)

    def result(self, outcome):
        return numbers_of(outcome.document()) if outcome.exit_code == SUCCESS else None


class Checkpoint(Streamed):
    """Checkpoints; then a run that goes on from what is there."""

    calls = {"write": WRITE_KINDS, "sync": SYNC_KINDS}

    def words(self, rank_count):
        return ("run", "--class", "S", "--grid", f"1x{max(rank_count, 1)}", "--niter", "4", *FORM)

    def run(self, rank_count, environment):
        options = ("--checkpoint", self.folder / "state", "--checkpoint-interval", "0s")
        return run_program(rank_count, *self.words(rank_count), *options, env=environment)

    def restarted(self, rank_count):
        return run_program(rank_count, *self.words(rank_count), "--restart", self.folder / "state")


class Stencil(Streamed):
    """Planes in an unlinked temporary file."""

    calls = {"write": WRITE_KINDS, "read": READ_KINDS}

    def words(self, _rank_count):
        return ("stencil", "--shape", "20x16x24", "--steps", "6", "--out-of-core", self.folder, "--format", "json")

    def result(self, outcome):
        return outcome.document()["result"]["checksum"] if outcome.exit_code == SUCCESS else None


class Output(Streamed):
    """A result and a trace in files."""

    calls = TOLD_KINDS

    def words(self, rank_count):
        return ("run", "--class", "S", "--grid", f"1x{max(rank_count, 1)}", "--niter", "3", "--output", self.folder / "result.json", *FORM)

    def result(self, _outcome):
        path = self.folder / "result.json"
        return numbers_of(json.loads(path.read_text())) if path.exists() else None


@unittest.skipUnless(INJECTOR, "no library of faults: a build with a sanitizer")
class InjectorTest(ProgramTest):
    def setUp(self):
        # The 5-point Laplacian, with a diagonal of its own for each row.
        entries = {(row, column): value + 1e-6 * row * (row == column) for (row, column), value in poisson(150).items()}
        self.matrix = self.file("A.mtx", matrix_text(150**2, entries))


class FileFaults(InjectorTest):
    def place(self):
        """A new folder, whose files fail."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def fault_lines(self, place):
        log = pathlib.Path(f"{place}-faults")
        return len(log.read_text().splitlines()) if log.exists() else 0

    def check(self, kind_of_run, rank_count, expected, fault):
        """One run with a fault. Whether it was met."""
        place = self.place()
        run = kind_of_run(place, self.matrix)
        outcome = run.run(rank_count, faulty(place, **fault, TMPDIR=str(self.folder)))
        if outcome.exit_code == SUCCESS and kind_of_run is Convert and run.result(outcome) != expected:
            self.assertIsNotNone(run.result(outcome), outcome)
            self.assert_refused(run.solved(), BAD_DATA, "A.cg2d:")
        elif outcome.exit_code == SUCCESS:
            self.assertEqual(run.result(outcome), expected, outcome)
        else:
            self.assertIn(outcome.exit_code, (CANNOT_WRITE, BAD_DATA), outcome)
            self.assertEqual(len(outcome.error_lines()), 1, outcome)
            self.assertIn(run.result(outcome), (None, expected), outcome)
        if isinstance(run, Checkpoint):
            again = run.restarted(rank_count)
            self.assertIn(again.exit_code, (SUCCESS, BAD_DATA), again)
            self.assertIn(run.result(again), (None, expected), again)
        return self.fault_lines(place) > 0

    def test_no_fault_gives_a_wrong_result(self):
        random_numbers = random.Random(41)
        cases = [(kind_of_run, call) for kind_of_run in (Convert, Cache, Streamed, Checkpoint, Stencil, Output) for call in kind_of_run.calls]
        facts = {}
        for number in range(FAULT_COUNT):
            kind_of_run, call = cases[number % len(cases)]
            rank_count = random_numbers.choice((0, 2))
            is_of_all = kind_of_run is not Output and (kind_of_run, call) != (Cache, "write")  # texts are written by rank 0
            rank = random_numbers.randrange(max(rank_count, 1)) if is_of_all else 0
            key = (kind_of_run, call, rank_count, rank)
            if key not in facts:
                clean = kind_of_run(self.place(), self.matrix)
                expected = clean.result(clean.run(rank_count, None))
                self.assertIsNotNone(expected)
                place = self.place()
                self.ends_with(SUCCESS, kind_of_run(place, self.matrix).run(rank_count, faulty(place, call, "none", 0, rank, True)))
                facts[key] = (expected, self.fault_lines(place))
            expected, call_count = facts[key]
            self.assertGreater(call_count, 0, key)
            fault = {
                "call": call, "kind": random_numbers.choice(kind_of_run.calls[call]), "number": random_numbers.randrange(call_count),
                "rank": rank, "goes_on": random_numbers.random() < 0.3,
            }  # fmt: skip
            with self.subTest(run=kind_of_run.__name__, ranks=rank_count, **fault):
                self.assertTrue(self.check(kind_of_run, rank_count, expected, fault))

    def test_a_conversion_tells_what_the_device_has_lost(self):
        """No file is left: it would be refused by whoever reads it, much later."""
        for (rank_count, rank), kind in itertools.product(((0, 0), (2, 1)), TOLD_KINDS["sync"]):
            with self.subTest(ranks=rank_count, kind=kind):
                place = self.place()
                outcome = run_program(rank_count, "convert", self.matrix, place / "A.cg2d", env=faulty(place, "sync", kind, 0, rank))
                self.assert_refused(outcome, CANNOT_WRITE, f"cannot write {place}/A.cg2d: ")
                self.assertEqual(list(place.iterdir()), [])

    def test_a_page_of_mapped_memory_that_is_gone(self):
        """7a50f6c: signal 7 without a line."""
        words = ("run", "--class", "S", "--grid", "1x2", "--transport", "shared")
        # The first segment is a trial; each is closed by rank 0 for both ranks' parts, and as its own when all ranks have mapped it.
        environment = {**faulty("/memfd:cg2d", "close", "cut", 5), "CG2D_FAULT_LOG": ""}
        outcome = self.ends_with(CANNOT_WRITE, run_program(2, *words, env=environment))
        lines = [line for line in outcome.error_lines() if line.startswith("cg2d: ")]
        self.assertEqual(len(lines), 1, outcome)
        self.assertIn("a page of a mapped file is gone (SIGBUS)", lines[0])

    def test_a_device_that_takes_a_part_of_each_write(self):
        expected, run = (Convert(self.place(), self.matrix) for _ in range(2))
        self.ends_with(SUCCESS, expected.run(0, None))
        self.ends_with(SUCCESS, run.run(0, faulty(run.folder, "write", "short", 0, goes_on=True)))
        self.assertGreater(self.fault_lines(run.folder), 0)
        self.assertEqual(run.result(None), expected.result(None))

    def test_a_result_that_cannot_be_written_is_elsewhere(self):
        """7a50f6c: it is gone."""
        for kind in TOLD_KINDS["write"]:
            with self.subTest(kind=kind):
                place, other = self.place(), self.place()
                outcome = Output(place, self.matrix).run(0, faulty(place, "write", kind, 0, goes_on=True, TMPDIR=str(other)))
                self.assert_refused(outcome, CANNOT_WRITE, f"cannot write {place}/result.json: ", f"; the result is in {other}/result.json.")
                (kept,) = other.iterdir()
                self.assertTrue(outcome.stderr.endswith(f"in {kept}\n"))
                self.assertEqual(json.loads(kept.read_text())["problem"]["n"], 1400)
                self.assertEqual(list(place.iterdir()), [])

    def test_a_folder_whose_device_fails(self):
        """The file is on the disk, and its name is not: the second sync is that of the folder."""
        place = self.place()
        outcome = Output(place, self.matrix).run(0, faulty(place, "sync", "error", 1))
        self.assert_refused(outcome, CANNOT_WRITE, f"cannot write {place}: ")


SERVICES = (
    "io_uring", "io_uring-requests", "direct-open", "direct-transfer", "huge-pages", "flock", "fsync", "sync-range", "rename", "links",
    "unnamed", "allocate", "affinity", "perf-events", "memory-files",
)  # fmt: skip
# Without links no file gets its name at the end, and without renaming none gets the name of another one.
MAY_FAIL = {("links", Streamed): CANNOT_WRITE, ("rename", Convert): CANNOT_WRITE}


class RefusedServices(InjectorTest):
    """What a system can lack, refused one by one: the same result, or a line and its code."""

    def run_refused(self, kind_of_run, service, **more):
        """The outcome, and the result with all that is left of it."""
        place = self.folder / f"{kind_of_run.__name__}-{service}"
        place.mkdir()
        (place / "A.cg2d").write_text("replaced")
        run = kind_of_run(place, self.matrix)
        refusal = {"LD_PRELOAD": INJECTOR, "CG2D_REFUSED": service, "UCX_MEM_EVENTS": "n"} if service else {}
        outcome = run.run(2, {**os.environ, **refusal, **more})
        if isinstance(run, Checkpoint) and outcome.exit_code == SUCCESS and service != "links":
            again = run.restarted(2)
            self.assertEqual((again.exit_code, run.result(again)), (SUCCESS, run.result(outcome)), again)
        return outcome, run.result(outcome)

    def test_each_service_refused(self):
        """ec815b87: io_uring-requests, direct-transfer and fsync end with 74."""
        kinds = (Convert, Streamed, Checkpoint, Stencil)
        expected = {kind_of_run: self.run_refused(kind_of_run, "")[1] for kind_of_run in kinds}
        self.assertNotIn(None, expected.values())
        for kind_of_run, service in some_of(itertools.product(kinds, SERVICES), 7):
            with self.subTest(run=kind_of_run.__name__, service=service):
                outcome, result = self.run_refused(kind_of_run, service)
                if (service, kind_of_run) in MAY_FAIL:
                    self.assert_refused(outcome, MAY_FAIL[service, kind_of_run], "cannot write")
                    continue
                self.assertEqual(outcome.exit_code, SUCCESS, outcome)
                self.assertEqual(result, expected[kind_of_run])

    def test_requests_of_which_a_part_is_met(self):
        for kind_of_run in (Streamed, Stencil):
            with self.subTest(run=kind_of_run.__name__):
                _, expected = self.run_refused(kind_of_run, "")
                outcome, result = self.run_refused(kind_of_run, "io_uring-whole")
                self.assertEqual((outcome.exit_code, result, reader_of(outcome.document())), (SUCCESS, expected, "io_uring"), outcome)

    def test_the_user_chooses_the_reader(self):
        for name in ("threads", "io_uring"):
            outcome, _ = self.run_refused(Streamed, "", CG2D_READER=name)
            self.assertEqual(reader_of(outcome.document()), name)
            shutil.rmtree(self.folder / "Streamed-")
        outcome, _ = self.run_refused(Streamed, "", CG2D_READER="aio")
        self.assert_refused(outcome, USAGE, "CG2D_READER aio", "io_uring", "threads")

    def test_an_instruction_that_the_processor_lacks(self):
        """ec815b87: signal 4 without a line."""
        for rank_count in (0, 2):
            words = ("run", "--class", "S", "--no-profile", "--output", self.folder / "result.txt")
            outcome = run_program(rank_count, *words, env={**os.environ, "LD_PRELOAD": INJECTOR, "CG2D_REFUSED": "instruction"})
            self.ends_with(UNAVAILABLE, outcome)
            self.assertIn("cg2d: this processor lacks an instruction of the program or its libraries (SIGILL)", outcome.stderr)


def reader_of(document):
    return (document.get("out_of_core") or document["storage"])["reader"]


class OutputPlaces(ProgramTest):
    def test_a_mount_point_is_written_in_place(self):
        """As files that a container gets from its host. 7a50f6c: 74 at the end."""
        target, source = self.folder / "target.json", self.folder / "source.json"
        target.write_text("earlier")
        source.write_text("earlier, and longer than the result will be" * 1000)
        mount = self.with_mount('mount --bind "$0" "$1" && shift', source, target)
        for rank_count in (0, 2):
            words = ["run", "--class", "S", "--format", "json", "--output", target]
            self.ends_with(SUCCESS, run_command([*mount, *launch_words(rank_count), PROGRAM, *words]))
            self.assertTrue(json.loads(source.read_text())["result"]["verified"])
            self.assertEqual(target.read_text(), "earlier")
            self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_a_binary_matrix_that_cannot_be_put_in_place_is_refused_at_once(self):
        """7a50f6c: 74 when all has been written, and nothing is left of it."""
        matrix, target = self.file("A.mtx", matrix_text(25, poisson(5))), self.file("target.cg2d", "earlier")
        mount = self.with_mount('mount --bind "$0" "$0"', target)
        for rank_count in (0, 2):
            outcome = run_command([*mount, *launch_words(rank_count), PROGRAM, "convert", matrix, target])
            self.assert_refused(outcome, CANNOT_CREATE, f"cannot create {target}: it cannot be replaced (a folder, a pipe, ")
        self.assertEqual(target.read_text(), "earlier")

    def test_a_full_device(self):
        """7a50f6c: the result is gone."""
        small, other = self.folder / "small", self.folder / "other"
        small.mkdir()
        other.mkdir()
        mount = self.with_mount('mount -t tmpfs -o size=4k none "$0"', small)
        words = ["run", "--class", "S", "--format", "json", "--output", str(small / "result.json")]
        outcome = run_command([*mount, PROGRAM, *words], env={**os.environ, "TMPDIR": str(other)})
        self.assert_refused(outcome, CANNOT_WRITE, "No space left on device; the result is in ")
        (kept,) = other.iterdir()
        self.assertTrue(json.loads(kept.read_text())["result"]["verified"])

    def test_closed_descriptors(self):
        """7a50f6c: MPI or a file of the run gets the number, and the report goes there, with code 0."""
        words = [PROGRAM, "run", "--class", "S", "--grid", "1x1"]
        for closed in (">&-", "<&- >&-"):
            outcome = run_command(["sh", "-c", f'exec "$0" "$@" {closed}', *words])
            self.assert_refused(outcome, CANNOT_WRITE, "cannot write standard output: it is closed")
        target = self.folder / "result.json"
        self.ends_with(SUCCESS, run_command(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *words, "--format", "json", "--output", str(target)]))
        self.assertTrue(json.loads(target.read_text())["result"]["verified"])
