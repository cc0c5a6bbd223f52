"""cg2d sweep of a user's own system: every grid of a file, every cut of a Laplacian, its matrix beside it, and the report's page."""

import re
import itertools
import json
import signal
import time

from program_runner import INTERRUPTED, SUCCESS, USAGE, BackgroundRun, ProgramTest, factorizations, run_program
from solve_test import matrix_text

LAPLACIAN = "laplace3d:9x8x7"


def triples(rank_count):
    return {
        f"{x}x{y}x{rank_count // x // y}"
        for x, y in itertools.product(range(1, rank_count + 1), repeat=2)
        if rank_count % (x * y) == 0
    }


def arrow_text(n):
    """A symmetric matrix whose first row is full, so that even pieces have uneven numbers of nonzeros."""
    below = {(k, 0): -1.0 for k in range(1, n)} | {(k, k - 1): -0.25 for k in range(2, n)}
    return matrix_text(n, {(k, k): 2.0 if k else float(n) for k in range(n)} | below)


class SystemSweepTest(ProgramTest):
    def setUp(self):
        self.matrix = self.file("arrow.mtx", arrow_text(120))
        self.results = self.folder / "sweep.jsonl"

    def sweep(self, rank_count, *arguments):
        # Without repetitions of disturbed runs the number of lines is known.
        return run_program(rank_count, "sweep", *arguments, "--retries", "0", "--output", self.results)

    def lines(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def verdicts(self):
        return self.valid_document_of(0, "sweep", "--show", self.results)

    def test_a_signal_leaves_no_half_of_a_run(self):
        """The run under way ends; before, it was kept as one that failed for ever."""
        words = ("--operator", "laplace3d:80x80x80", "--iterations", "600", "--repeat", "50", "--retries", "0")
        with BackgroundRun(2, "sweep", *words, "--output", self.results) as run:
            run.wait_for(r"run 2 of ")
            time.sleep(0.15)  # a third of the next run
            run.send(signal.SIGTERM)
            self.ends_with(INTERRUPTED, run.finish())
        self.assertEqual({line["status"] for line in self.lines()}, {"success"})

    def test_a_file_on_every_grid(self):
        words = (self.matrix, "--ranks", "4,6", "--cut", "nonzeros,even,random:3", "--iterations", "6", "--repeat", "2")
        outcome = self.ends_with(SUCCESS, self.sweep(6, *words))
        lines = self.lines()
        found = sorted(
            (*(line["sweep"]["configuration"][key] for key in ("columns", "rows", "cut")), line["sweep"]["round"]) for line in lines
        )
        grids = [*factorizations(4), *factorizations(6)]
        self.assertEqual(found, sorted((*grid, cut, r) for grid in grids for cut in ("nonzeros", "even", "random:3") for r in (1, 2)))
        for line in lines:
            self.assert_valid(line, "solve")
            self.assertEqual((line["result"]["end"], line["result"]["iterations"]), ("step_limit", 6))
            # Each cut has its own figures beside those of the other one.
            cut = line["configuration"]["cut"]
            self.assertEqual(cut, line["sweep"]["configuration"]["cut"])
            other = "balance_of_even_pieces" if cut == "nonzeros" else "balance_by_nonzeros"
            self.assertEqual(sum(key.startswith("balance_") for key in line["setup"]), 1)
            self.assertGreaterEqual(line["setup"][other]["mean"], 1)
        # The same system in the same order of rows: the same residuals but for rounding.
        norms = [line["result"]["residual_norm"] for line in lines]
        self.assertLess(max(norms) - min(norms), 1e-9 * lines[0]["result"]["right_hand_side_norm"])
        self.assertRegex(outcome.stdout, rf"(?m)^{re.escape(str(self.matrix))}, 6 iterations, .* 1 thread \(")
        self.assertRegex(outcome.stdout, r"(?m)^  P = 4: no clear winner: \dx\d \(median .* s, .* ms per iteration\) was faster than .* in \d of \d.*; (at least \d rounds are needed|too noisy to decide)")
        self.assertNotIn("official", outcome.stdout)
        for row in self.verdicts()["grids"]:
            for cell in row["cells"]:
                self.assertAlmostEqual(cell["times"]["iteration_s"], cell["times"]["median_s"] / 6)
                self.assertEqual((cell["form"], row["form"], cell["is_official"]), ("matrix", "matrix", False))

    def test_every_cut_of_a_laplacian_and_its_matrix(self):
        words = ("--operator", LAPLACIAN, "--assembled", "--ranks", "4,6", "--iterations", "10", "--repeat", "1")
        outcome = self.ends_with(SUCCESS, self.sweep(6, *words))
        verdicts = self.verdicts()
        cells = {(row["ranks"], row["form"]): {cell["grid"] for cell in row["cells"]} for row in verdicts["grids"]}
        expected = {(ranks, "domain"): triples(ranks) for ranks in (4, 6)}
        expected |= {(ranks, "matrix"): {f"{x}x{y}" for x, y in factorizations(ranks)} for ranks in (4, 6)}
        self.assertEqual(cells, expected)
        for line in self.lines():
            self.assert_valid(line, "solve")
            self.assertEqual(line["system"]["is_assembled"], line["sweep"]["configuration"]["form"] == "matrix")
        # Both forms answer one question.
        for choice in verdicts["choices"]:
            count = len(triples(choice["ranks"])) + len(factorizations(choice["ranks"]))
            self.assertEqual(len(choice["alternatives"]), count)
        norms = [line["result"]["residual_norm"] for line in self.lines()]
        self.assertLess(max(norms) - min(norms), 1e-12 * self.lines()[0]["result"]["right_hand_side_norm"])
        self.assertIn("All tables of the same ranks together", outcome.stdout)

    def test_chosen_cuts_only_and_no_more_parts_than_points(self):
        words = ("--operator", "laplace2d:3x40", "--iterations", "5", "--repeat", "1", "--ranks")
        self.assertEqual(self.sweep(6, *words, "6").exit_code, SUCCESS)
        self.assertEqual({line["configuration"]["matrix_free_arrangement"] for line in self.lines()}, {f"domain {x}x{6 // x}x1" for x in (1, 2, 3)})
        self.assertEqual(self.sweep(6, *words, "4,6", "--domain", "2x3x1,1x4x1", "--fresh").exit_code, SUCCESS)
        self.assertEqual([line["sweep"]["configuration"]["form"] for line in self.lines()], ["domain 1x4x1", "domain 2x3x1"])

    def test_a_system_that_is_solved_earlier_is_refused(self):
        self.ends_with(USAGE, self.sweep(2, "--operator", "laplace2d:4x4", "--iterations", "100", "--repeat", "1"))
        for line in self.lines():
            self.assert_valid(line, "solve")
            self.assertRegex(line["reason"], r"^--iterations 100: the system is solved to rounding after \d+ iterations?; take no more")
