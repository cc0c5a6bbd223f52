"""cg2d sweep: every configuration exactly once, whatever ends it; its tables; cg2d compare and cg2d export."""

import collections
import csv
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
REGRESSION = 1


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


class ReadersTest(ProgramTest):
    """What is done with results once they are there."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.sweep = pathlib.Path(cls.folder.name) / "sweep.jsonl"
        cls.slow = pathlib.Path(cls.folder.name) / "slow.jsonl"
        cls.single = pathlib.Path(cls.folder.name) / "run.json"
        outcome = run_program(2, "sweep", "--class", "S", "--repeat", "2", "--output", cls.sweep)
        assert outcome.exit_code == SUCCESS, outcome
        lines = lines_of(cls.sweep)
        for line in lines:
            line["result"]["repeats"]["times_s"] = [100.0 * time for time in line["result"]["repeats"]["times_s"]]
        cls.slow.write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]))
        arguments = ["run", "--class", "S", "--grid", "1x2", "--format", "json", "--output", cls.single]
        outcome = run_program(2, *arguments)
        assert outcome.exit_code == SUCCESS, outcome

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_compare_ends_with_1_on_a_regression_only(self):
        for words, code in (
            ([self.sweep, self.sweep], SUCCESS),
            ([self.sweep, self.slow], REGRESSION),
            ([self.slow, self.sweep], SUCCESS),
            ([self.sweep, self.slow, "--threshold", "1000000%"], SUCCESS),
            ([self.single, self.slow], REGRESSION),
            ([self.single, self.single], SUCCESS),
        ):
            outcome = run_program(0, "compare", *words)
            self.assertEqual(outcome.exit_code, code, outcome)
            self.assertEqual(outcome.stdout.count("REGRESSION") > 0, code == REGRESSION, outcome)
        outcome = run_program(0, "compare", self.sweep, self.single)
        self.assertIn("Only in A: S 2x1 auto two-sided 1 thread", outcome.stdout)

    def test_what_cannot_be_compared(self):
        broken = pathlib.Path(self.folder.name) / "broken.json"
        broken.write_text('{"schema_version": 1}')
        one = pathlib.Path(self.folder.name) / "one.json"
        self.run_well(1, "run", "--class", "S", "--format", "json", "--output", one)
        for words, text in (
            ([self.sweep, "/no/such/file"], "/no/such/file: there is no such file"),
            ([broken, self.sweep], f"{broken}: no result of cg2d"),
            ([self.sweep, one], "no configuration is in both"),
            ([self.sweep, self.slow, "--threshold", "some"], "--threshold some"),
        ):
            outcome = run_program(2, "compare", *words)
            self.assertEqual(outcome.exit_code, USAGE, outcome)
            (line,) = outcome.error_lines()
            self.assertIn(text, line)

    def test_export(self):
        lines = [json.loads(line) for line in self.run_well(0, "export", self.sweep, "--format", "extra-p").stdout.splitlines()]
        self.assertEqual({tuple(line["params"].items()) for line in lines}, {(("p", 2), ("px", 1)), (("p", 2), ("px", 2))})
        self.assertEqual(len(lines), 4 * 7)
        self.assertEqual({line["metric"] for line in lines}, {"time"})
        (total, *phases) = [line["value"] for line in lines[:7]]
        self.assertEqual([line["callpath"] for line in lines[:2]], ["total", "collection"])
        self.assertLess(sum(phases), 1.01 * total)
        path = pathlib.Path(self.folder.name) / "export.csv"
        self.run_well(2, "export", self.sweep, self.single, "--format", "csv", "--output", path)
        rows = list(csv.DictReader(path.read_text().splitlines()))
        self.assertEqual([(row["px"], row["py"], row["round"]) for row in rows[:2]], [("1", "2", "1"), ("2", "1", "1")])
        self.assertEqual(len(rows), 5)
        times = [line["result"]["time_s"] for line in lines_of(self.sweep)]
        for row, time_s in zip(rows, times):
            self.assert_close(float(row["time_s"]), time_s, 1e-8)


if __name__ == "__main__":
    unittest.main()
