"""cg2d solve with several right-hand sides: the same x as one after the other, in one pass, each with its own end."""

import json
import math
import os
import signal

from program_runner import BAD_DATA, INTERRUPTED, NOT_CONVERGED, BackgroundRun, run_program
from solve_test import SolveTest, columns_of, columns_text

SIDE = 11
N = SIDE * SIDE
MATRIX = ("--operator", f"laplace2d:{SIDE}x{SIDE}", "--assembled")


class SeveralTest(SolveTest):
    def setUp(self):
        self.x = self.folder / "x.mtx"

    def columns_file(self, columns, name="b.mtx"):
        return self.file(name, columns_text(*columns))

    def solution_of(self, rank_count, *arguments):
        report = self.report_of(rank_count, *MATRIX, "-o", self.x, "--rtol", "1e-10", *arguments)
        columns = columns_of(self.x)
        self.x.unlink()
        return report, columns

    def expect_near(self, values, expected):
        # The residuals are at most 1e-10 of b; the condition number is below 100.
        self.assert_near(values, expected, 2e-8)


class Solutions(SeveralTest):
    def setUp(self):
        super().setUp()
        self.b = [[math.sin((number + 1) * k + number) for k in range(N)] for number in range(5)]
        self.rhs = self.columns_file(self.b)
        self.singles = []
        for column in self.b:
            report, x = self.solution_of(1, "--rhs", self.columns_file([column], "one.mtx"))
            self.singles.append((report["result"], x[0]))

    def expect_singles(self, report, columns):
        results = report["result"]["right_hand_sides"]
        self.assertEqual(len(results), len(self.singles))
        for result, x, (single, single_x) in zip(results, columns, self.singles, strict=True):
            self.assertEqual(result["end"], "converged")
            self.assert_close(result["right_hand_side_norm"], single["right_hand_side_norm"], 1e-13)
            self.assertEqual(len(result["history"]), result["iterations"] + 1)
            self.expect_near(x, single_x)

    def test_preconditioners_cuts_transports_and_threads(self):
        for options in (
            ("--preconditioner", "jacobi"),
            ("--preconditioner", "chebyshev"),
            ("--cut", "random:3"),
            ("--cut", "even", "--transport", "put"),
            ("--transport", "shared"),
            ("--transport", "shared", "--ranks-per-node", "2"),
            ("--transport", "native"),
            ("--threads", "2", "--kernel", "csr-simd"),
            ("--threads", "2", "--kernel", "symmetric"),
            ("--threads", "2", "--kernel", "blocks"),
            ("--kernel", "symmetric", "--transport", "shared"),
            ("--sum", "whole-block"),
            ("--x0", "ones"),
            ("--rhs-count", "5"),
        ):
            with self.subTest(options=options):
                self.expect_singles(*self.solution_of(4, "--rhs", self.rhs, "--grid", "2x2", *options))

    def test_random_ones_differ_and_the_first_is_that_of_a_single_solve(self):
        single, single_x = self.solution_of(2, "--rhs", "random:5")
        report, columns = self.solution_of(2, "--rhs", "random:5", "--rhs-count", "3")
        self.assertEqual(report["system"]["right_hand_side_count"], 3)
        self.expect_near(columns[0], single_x[0])
        norms = {round(result["right_hand_side_norm"], 9) for result in report["result"]["right_hand_sides"]}
        self.assertEqual(len(norms), 3)

    def test_text_has_a_row_for_each(self):
        outcome = self.run_well(2, "solve", *MATRIX, "--rhs", "random:1", "--rhs-count", "3", "--monitor")
        for number in (1, 2, 3):
            self.assertRegex(outcome.stdout, rf"\n +{number}  converged +\d+ ")
        self.assertIn("cg2d: right-hand side 3, iteration 1: residual ", outcome.stderr)


class Ends(SeveralTest):
    def test_each_ends_by_itself_and_the_worst_gives_the_code(self):
        smooth = [math.sin(math.pi * (k // SIDE + 1) / (SIDE + 1)) * math.sin(math.pi * (k % SIDE + 1) / (SIDE + 1)) for k in range(N)]
        rhs = self.columns_file([smooth, [0.0] * N, [math.sin(k * k) for k in range(N)]])
        report = self.report_of(4, *MATRIX, "--rhs", rhs, "--x0", "ones", "--max-iterations", "60", "-o", self.x, "--rtol", "1e-9")
        ends = [result["end"] for result in report["result"]["right_hand_sides"]]
        self.assertEqual(ends, ["converged", "zero_right_hand_side", "converged"])
        self.assertEqual(columns_of(self.x)[1], [0.0] * N)
        # An eigenvector from x = 0 takes one step; the others go on.
        report = self.report_of(4, *MATRIX, "--rhs", rhs, "--max-iterations", "3", code=NOT_CONVERGED)
        ends = [(result["end"], result["iterations"]) for result in report["result"]["right_hand_sides"]]
        self.assertEqual(ends, [("converged", 1), ("zero_right_hand_side", 0), ("step_limit", 3)])
        self.assertEqual(report["result"]["end"], "step_limit")
        self.assertRegex(report["reason"], "^right-hand side 3 of 3: iteration limit")

    def test_a_signal_ends_all_after_the_same_iteration(self):
        result = self.folder / "result"
        endless = ("--operator", "laplace3d:120x120x60", "--assembled", "--rtol", "1e-14", "--rhs", "random:1", "--rhs-count", "3", "--grid", "1x2", "--kernel", "csr-short")
        with BackgroundRun(2, "solve", *endless, "--progress", "--format", "json", "--output", result) as run:
            run.wait_for(r"iteration \d+: residual")
            os.kill(run.ranks()[-1], signal.SIGTERM)
            self.ends_with(INTERRUPTED, run.finish())
        report = json.loads(result.read_text())
        ends = {(end["end"], end["iterations"]) for end in report["result"]["right_hand_sides"]}
        self.assertEqual(ends, {("stopped", report["result"]["iterations"])})
        self.assertRegex(report["reason"], "^right-hand side 1 of 3, and 2 more without a solution: interrupted by a signal after")


class Refusals(SeveralTest):
    def expect_line(self, code, line, *arguments):
        outcome = self.ends_with(code, run_program(2, "solve", *arguments))
        self.assertRegex(outcome.stderr.splitlines()[0], f"^cg2d: (solve: )?{line}")
        self.assertEqual(outcome.stdout, "")

    def test_solutions_in_files_have_all_digits(self):
        self.report_of(1, *MATRIX, "--rhs", "random:1", "-o", self.x)
        values = [line for line in self.x.read_text().splitlines()[2:] if not line.startswith("%")]
        digits = [len(value.lstrip("-0.").split("e")[0].replace(".", "")) for value in values]
        # One double in ten has neighbours that 16 digits do not tell apart; nearly all have some that 15 do not.
        self.assertGreater(max(digits), 15)

    def test_files_with_another_number_of_columns(self):
        two = self.columns_file([[1.0] * N] * 2)
        many = self.columns_file([[1.0] * N] * 17, "many.mtx")
        found = f"found {N} rows and 2 columns, expected {N} rows and"
        self.expect_line(BAD_DATA, f".*b.mtx:2: {found} 3 columns", *MATRIX, "--rhs", two, "--rhs-count", "3")
        self.expect_line(BAD_DATA, f".*b.mtx:2: {found} 1 column,", *MATRIX, "--rhs", two, "--rhs-count", "1")
        self.expect_line(BAD_DATA, ".*many.mtx: found 17 columns, expected 1 to 16", *MATRIX, "--rhs", many)
