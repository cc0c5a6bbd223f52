"""cg2d sweep: every configuration exactly once, whatever ends it; its tables; cg2d compare and cg2d export."""

import collections
import itertools
import json
import os
import pathlib
import signal
import tempfile
import unittest

import jsonschema

from program_runner import (
    INTERRUPTED,
    SCHEMA,
    SUCCESS,
    USAGE,
    BackgroundRun,
    ProgramTest,
    factorizations,
    kill_all,
    run_program,
)

CANNOT_CREATE = 73


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class SweepTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "sweep.jsonl"

    def sweep(self, rank_count, *arguments):
        return run_program(rank_count, "sweep", "--class", "S", "--output", self.file, *arguments)

    def assert_complete(self, rank_counts, rounds):
        """Every (grid, round) is there exactly once."""
        expected = {
            (*grid, round_number)
            for ranks, round_number in itertools.product(rank_counts, range(1, rounds + 1))
            for grid in factorizations(ranks)
        }
        found = collections.Counter()
        for line in lines_of(self.file):
            grid = line["configuration"]["grid"]
            found[grid["columns"], grid["rows"], line["sweep"]["round"]] += 1
        self.assertEqual(found, collections.Counter(expected))

    def test_lines_are_runs_in_interleaved_order(self):
        outcome = self.sweep(4, "--ranks", "1,2,4", "--repeat", "2")
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assert_complete([1, 2, 4], 2)
        lines = lines_of(self.file)
        self.assertEqual([line["sweep"]["round"] for line in lines], [1] * 6 + [2] * 6)
        validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
        for line in lines:
            self.assertEqual(list(validator.iter_errors(line)), [])
            self.assertTrue(line["result"]["verified"])
            self.assertEqual(line["result"]["repeats"]["count"], 1)
            # The machine is judged by the ranks that take part.
            ranks = line["configuration"]["ranks"]
            self.assertEqual(sum(node["ranks"] for node in line["environment"]["nodes"]), ranks)
            cores = line["environment"]["nodes"][0]["cores"]
            self.assertEqual(line["environment"]["waiting"], "yield" if ranks > cores else "spin")
        for ranks in (1, 2, 4):
            self.assertRegex(outcome.stdout, rf"(?m)^  P = {ranks}: best is ")
        shown = self.run_well(0, "sweep", "--show", self.file)
        self.assertEqual(shown.stdout, outcome.stdout)

    def test_a_killed_sweep_goes_on_where_it_was(self):
        arguments = ["sweep", "--class", "S", "--ranks", "1,2,3", "--repeat", "3", "--output", self.file]
        for runs in (2, 6):
            with BackgroundRun(3, *arguments) as run:
                run.wait_for(rf"cg2d: run {runs} of ")
                kill_all(run._process)
        # And a line that is cut off, as a kill within a write would leave it.
        text = self.file.read_text()
        lines = text.splitlines(keepends=True)
        self.assertGreaterEqual(len(lines), 8)
        self.file.write_text("".join(lines[:-1]) + lines[-1][:100])
        outcome = run_program(3, *arguments, "--progress")
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        self.assertIn("dropped a line that was cut off", outcome.stderr)
        self.assertTrue(self.file.read_text().startswith("".join(lines[:-1])))
        self.assert_complete([1, 2, 3], 3)
        before = self.file.read_text()
        self.assertEqual(run_program(3, *arguments).exit_code, SUCCESS)
        self.assertEqual(self.file.read_text(), before)

    def test_a_signal_ends_it_behind_the_run_under_way(self):
        with BackgroundRun(2, "sweep", "--class", "S", "--repeat", "5000", "--output", self.file) as run:
            run.wait_for(r"cg2d: run 3 of ")
            for process in run.ranks():
                os.kill(process, signal.SIGTERM)
            outcome = run.finish()
        self.assertEqual(outcome.exit_code, INTERRUPTED, outcome)
        self.assertIn(f"the same command goes on where {self.file} ends", outcome.stderr)
        for line in lines_of(self.file):
            self.assertEqual(line["status"], "success")

    def test_a_file_of_another_machine_is_refused_unless_fresh(self):
        self.assertEqual(self.sweep(1, "--repeat", "1").exit_code, SUCCESS)
        for change in (
            lambda line: line["program"].update(version="0.0.1"),
            lambda line: line["environment"]["nodes"][0].update(processor="Another one"),
        ):
            (line,) = lines_of(self.file)
            change(line)
            self.file.write_text(json.dumps(line) + "\n")
            before = self.file.read_text()
            outcome = self.sweep(2, "--repeat", "1")
            self.assertEqual(outcome.exit_code, USAGE, outcome)
            (error,) = outcome.error_lines()
            self.assertIn("--fresh", error)
            self.assertEqual(self.file.read_text(), before)
            self.assertEqual(self.sweep(1, "--repeat", "1", "--fresh").exit_code, SUCCESS)
            self.assert_complete([1], 1)

    def test_what_cannot_be_swept(self):
        for arguments, code, text in (
            (["--ranks", "4"], USAGE, "mpiexec -n 4"),
            (["--px", "3"], USAGE, "none divides the 2 ranks"),
            (["--kernel", "auto,none"], USAGE, "--kernel none: unknown"),
            (["--repeat", "0"], USAGE, "--repeat 0"),
            (["--output", self.folder / "no" / "file"], CANNOT_CREATE, "No such file"),
            (["--show", self.folder / "nothing"], USAGE, "there is no such file"),
        ):
            with self.subTest(arguments=arguments):
                outcome = run_program(2, "sweep", "--class", "S", *arguments)
                self.assertEqual(outcome.exit_code, code, outcome)
                (line,) = outcome.error_lines()
                self.assertIn(text, line)


if __name__ == "__main__":
    unittest.main()
