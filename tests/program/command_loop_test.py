"""Command lines that share one start of MPI: each ends as by itself, and leaves nothing to the next."""

import os
import pathlib
import tempfile

from program_runner import COMMAND_LOOP, LOOPS, SUCCESS, USAGE, ProgramTest, program_processes, start_program

RANKS = 2
RUN = ("run", "--class", "S", "--no-profile", "--kernel", "sell", "--grid", "1x2")
COMMANDS = (
    *((*RUN, "--transport", transport) for transport in ("two-sided", "native", "put", "shared")),
    (*RUN, "--threads", "2"),
    (*RUN, "--guard", "--stall-limit", "1min"),
    (*RUN, "--papi", "software"),
    (*RUN, "--trace", "trace.json"),
    (*RUN, "--checkpoint", "saved"),
    (*RUN, "--out-of-core", "store"),
    (*RUN, "--reference", "17"),  # not verified
    ("run", "--class", "Q"),
    ("solve", "--operator", "laplace2d:30x30", "-o", "x.mtx"),
    ("stencil", "--shape", "20x20x20", "--steps", "3"),
    ("help",),
)


def held_by(process):
    """Open files, threads, and mappings."""
    folder = pathlib.Path(f"/proc/{process}")
    return len(os.listdir(folder / "fd")), len(os.listdir(folder / "task")), len((folder / "maps").read_text().splitlines())


class CommandLoopTest(ProgramTest):
    def test_nothing_is_left_to_the_next(self):
        def round_of_all():
            for words in COMMANDS:
                with tempfile.TemporaryDirectory() as folder:
                    yield LOOPS.run(RANKS, list(words), 60, folder)

        first = list(round_of_all())
        self.assertEqual(len(list(round_of_all())), len(COMMANDS))
        processes = program_processes(os.getpid(), COMMAND_LOOP)
        self.assertEqual(len(processes), RANKS)
        before = [held_by(process) for process in processes]
        for _ in range(3):
            last = list(round_of_all())
        for process, (files, threads, mappings) in zip(processes, before, strict=True):
            now = held_by(process)
            self.assertEqual(now[:2], (files, threads))
            self.assertLessEqual(now[2], mappings + 10)  # the heap has grown by a few
        codes = [outcome.exit_code for outcome in first]
        self.assertEqual([outcome.exit_code for outcome in last], codes)
        self.assertEqual([code for code in codes if code != SUCCESS], [82, USAGE])

    def test_a_command_ends_as_by_itself(self):
        for words in ((*RUN, "--format", "json"), ("run", "--class", "Q"), ("help", "run"), ("solve", "missing.mtx")):
            with tempfile.TemporaryDirectory() as folder:
                alone = start_program(RANKS, *words, cwd=folder)
                shared = LOOPS.run(RANKS, list(words), 60, folder)
            self.assertEqual((shared.exit_code, shared.stderr, shared.command), (alone.exit_code, alone.stderr, alone.command))
            if "json" in words:
                documents = [outcome.document() for outcome in (shared, alone)]
                self.assertEqual(*(document["outer_steps"] for document in documents))
                self.assertEqual(*(document["provenance"]["command"] for document in documents))
            else:
                self.assertEqual(shared.stdout, alone.stdout)
