"""bench/regression: the table that it writes, and the comparison of two tables."""

import copy
import functools
import json
import pathlib
import re
import subprocess
import sys
import unittest

import jsonschema

from markdown_files import documents
from program_runner import (
    BAD_DATA, CANNOT_CREATE, MPIEXEC, NO_INPUT, PROGRAM, PROJECT, SUCCESS, UNAVAILABLE, USAGE, ProgramTest, comes_true, run_command,
    temporary_folder,
)  # fmt: skip

SLOWER = 1

BENCH = PROJECT / "bench"
PROGRAMS = ("--build-dir", pathlib.Path(PROGRAM).parent, "--mpiexec", MPIEXEC)
KERNELS = ("scalar", "auto", "sell")
SHAPES = ((1, 1), (2, 1))  # ranks, threads of each
ROUNDS = 2
NITER = 3
REPETITIONS = 2
SETTINGS = (
    "--classes", "S", "--threads", "1", "--shapes", ",".join(f"{ranks}x{threads}" for ranks, threads in SHAPES),
    "--kernels", ",".join(KERNELS), "--rounds", ROUNDS, "--niter", NITER, "--repetitions", REPETITIONS, "--min-time", "0.0001",
)  # fmt: skip
# Of class S: nonzeros, and products of the timed region (25 CG steps and a residual in each outer step).
NONZEROS, PRODUCTS = 78148, 26 * NITER


def regression(*words):
    return run_command([sys.executable, BENCH / "regression", *words])


def keys_of(schema):
    """All keys that a schema of objects names, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(keys_of, schema.values()))


@functools.cache
def measured_table():
    """A file, in a folder for others; measured once, so nothing may change it."""
    path = temporary_folder(unittest.addModuleCleanup) / "results" / "measured.json"
    outcome = regression(*PROGRAMS, *SETTINGS, "--output", path)
    assert outcome.exit_code == SUCCESS and not outcome.stdout, f"no table: {outcome}"
    return path


class RegressionTest(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.measured = measured_table()
        cls.folder = cls.measured.parent.parent
        cls.table = json.loads(cls.measured.read_text())
        cls.schema = json.loads((BENCH / "regression.schema.json").read_text())

    def steady(self, name="steady.json", change=lambda table: None):
        """A file with the measured cells, all of 1 ns with quartiles 1 % apart, after change(table)."""
        table = copy.deepcopy(self.table)
        for cell in table["products"] + table["runs"]:
            cell["ns_per_nonzero"] = {"median": 1.0, "minimum": 0.98, "lower_quartile": 0.99, "upper_quartile": 1.01}
        for cell in table["runs"]:
            cell.update(disturbed=0)
        change(table)
        path = self.folder / name
        path.write_text(json.dumps(table))
        return path

    def compare(self, new, *words, exit_code=SUCCESS):
        outcome = regression("--compare", self.steady(), "--new", new, *words)
        self.assertEqual((outcome.exit_code, outcome.stderr), (exit_code, ""), outcome)
        return outcome.stdout.splitlines()

    def assert_refused(self, exit_code, pattern, *words):
        outcome = regression(*words)
        self.assertEqual((outcome.exit_code, outcome.stdout), (exit_code, ""), outcome)
        self.assertRegex(outcome.stderr, rf"\Aregression: [^\n]*{pattern}[^\n]*\n\Z")


class Table(RegressionTest):
    def test_the_keys_are_those_of_the_schema_and_of_the_manual(self):
        jsonschema.Draft202012Validator.check_schema(self.schema)
        jsonschema.Draft202012Validator(self.schema).validate(self.table)
        tables = [table for table in documents()["bench/README.md"].tables if "bench/regression" in " ".join(table.headings)]
        described = set(re.findall(r"`(\w+)`", " ".join(row[0] for table in tables for row in table.body())))
        self.assertEqual(described, keys_of(self.schema))

    def test_every_cell_is_measured(self):
        products = {(cell["kernel"], cell["threads"]) for cell in self.table["products"] if cell["is_preferred"]}
        self.assertLessEqual({("scalar", 1), ("sell", 1), ("symmetric", 1), ("symmetric-distinct", 1)}, products)
        self.assertIn(("sell", "portable"), {(cell["kernel"], cell["instruction_set"]) for cell in self.table["products"]})
        runs = [(cell["ranks"], cell["threads"], cell["kernel"]) for cell in self.table["runs"]]
        self.assertEqual(runs, [(*shape, kernel) for shape in SHAPES for kernel in KERNELS])

    def test_runs_have_their_rounds(self):
        for cell in self.table["runs"]:
            with self.subTest(kernel=cell["kernel"], ranks=cell["ranks"]):
                self.assertEqual(len(cell["rounds"]), ROUNDS)
                self.assertEqual(cell["disturbed"], sum(one["disturbed"] for one in cell["rounds"]))
                shortest_s = min(one["time_s"] for one in cell["rounds"])
                self.assert_close(cell["time_s"]["minimum"], shortest_s, 1e-4)  # five digits are kept
                self.assert_close(cell["ns_per_nonzero"]["minimum"] * 1e-9 * NONZEROS * PRODUCTS, shortest_s, 1e-4)

    def test_a_measurement_that_is_killed_keeps_its_rounds(self):
        path = self.folder / "killed.json"
        partial = self.folder / "killed.json.partial"
        words = [*PROGRAMS, *SETTINGS, "--repetitions", 0, "--shapes", "1x1", "--rounds", 9999, "--output", path]
        command = [sys.executable, BENCH / "regression", *words]
        with subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL) as measurement:
            comes_true(partial.exists)
            measurement.kill()
        table = json.loads(partial.read_text())
        jsonschema.Draft202012Validator(self.schema).validate(table)
        self.assertGreaterEqual(len(table["runs"][0]["rounds"]), 1)
        self.assertFalse(path.exists())


class Comparison(RegressionTest):
    def test_equal_tables(self):
        lines = self.compare(self.steady("same.json"))
        cell_count = len(self.table["products"]) + len(self.table["runs"])
        self.assertEqual(len([line for line in lines if " 1.000" in line]), cell_count)
        self.assertEqual(lines[-1], "0 slower by more than 5 % and the spread")

    def slow_down(self, factor, lower_quartile=0.0):
        """A table in which the runs of `sell` on two ranks take longer, their lower quartile as given."""

        def change(table):
            (cell,) = [one for one in table["runs"] if (one["ranks"], one["kernel"]) == (2, "sell")]
            cell["ns_per_nonzero"] = {key: factor * value for key, value in cell["ns_per_nonzero"].items()}
            if lower_quartile:
                cell["ns_per_nonzero"]["lower_quartile"] = lower_quartile

        return self.steady("slower.json", change)

    def test_a_planted_slowdown_is_named(self):
        slower = self.slow_down(1.1)
        lines = self.compare(slower, exit_code=SLOWER)
        (line,) = [line for line in lines if " slower " in line and "and the spread" not in line]
        self.assertRegex(line, r"^run S, 2 x 1, sell +1\.0000 +1\.1000 +1\.100  slower +sell:")
        self.assertEqual(lines[-1], "1 slower by more than 5 % and the spread")
        self.compare(slower, "--within", "12")

    def test_a_slowdown_within_the_limit_or_the_spread_is_none(self):
        self.compare(self.slow_down(1.04))
        self.compare(self.slow_down(1.1, lower_quartile=1.005))  # the old upper quartile is 1.01

    def test_a_new_measurement_takes_the_settings_of_the_table(self):
        path = self.folder / "again.json"
        outcome = self.ends_with(SUCCESS, regression(*PROGRAMS, "--compare", self.measured, "--output", path, "--within", "100000"))
        self.assertEqual(json.loads(path.read_text())["measurement"]["settings"], self.table["measurement"]["settings"])
        self.assertNotIn("only in", outcome.stdout)


class Refusals(RegressionTest):
    def test_wrong_usage(self):
        self.assert_refused(USAGE, "unrecognized arguments: --nope", "--nope")
        self.assert_refused(USAGE, "unrecognized arguments: --class S", "--class", "S")
        self.assert_refused(USAGE, "--new needs --compare", "--new", self.measured)
        self.assert_refused(USAGE, "--within needs --compare", "--within", "3")
        for option, value in (("--output", "new.json"), ("--min-time", "1"), ("--build-dir", ".")):
            pattern = f"{option} has no meaning with --new"
            self.assert_refused(USAGE, pattern, option, value, "--compare", self.measured, "--new", self.measured)
        self.assert_refused(USAGE, "--classes: must be letters", "--classes", "X")
        self.assert_refused(USAGE, "--shapes: must be ranks x threads", "--shapes", "2")
        self.assert_refused(USAGE, "--within: must be a number > 0", "--within", "nan")
        unknown = ("--classes", "S", "--kernels", "nope", "--output", self.folder / "none.json")
        self.assert_refused(USAGE, "nope: unknown", *PROGRAMS, *unknown)

    def test_files_that_are_no_tables(self):
        text = self.folder / "text.json"
        self.assert_refused(NO_INPUT, "No such file", "--compare", self.folder / "none.json")
        for content in ("class S took long", "[]", "{}", '{"schema_version": 2}', '{"products": [], "runs": []}'):
            text.write_text(content)
            self.assert_refused(BAD_DATA, "text.json: (not JSON|no table)", "--compare", text, "--new", self.measured)
            self.assert_refused(BAD_DATA, "text.json: (not JSON|no table)", "--compare", self.measured, "--new", text)

        def zero(table):
            table["runs"][0]["ns_per_nonzero"]["median"] = 0

        self.assert_refused(BAD_DATA, "median is out of range", "--compare", self.steady("zero.json", zero), "--new", self.measured)

    def test_programs_and_folders_that_are_not_there(self):
        self.assert_refused(UNAVAILABLE, "no such program", "--build-dir", self.folder)
        below_a_file = self.measured / "x" / "table.json"
        self.assert_refused(CANNOT_CREATE, "Not a directory|File exists", *PROGRAMS, *SETTINGS, "--output", below_a_file)
        launcher = ("--mpiexec", "no-such-launcher", "--output", self.folder / "none.json")
        self.assert_refused(UNAVAILABLE, "no-such-launcher: No such file", *PROGRAMS, *SETTINGS, *launcher)
