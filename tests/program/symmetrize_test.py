"""--symmetrize TOL: a matrix that is one rounding from symmetric, as assembled finite elements are, is solved as the mean of both
triangles, and the largest difference is reported."""

import math
import random
import re

from program_runner import BAD_DATA, run_program
from solve_test import SolveTest, matrix_text, values_of


def assembled(side):
    """Elements of four nodes on a grid of side x side: {(row, column): value}, both triangles, from 0. Each entry of an element is
    rounded in an order of its own."""
    generator = random.Random(1)
    entries = {(node, node): 0.5 for node in range(side * side)}
    for corner in (row * side + column for row in range(side - 1) for column in range(side - 1)):
        nodes = (corner, corner + 1, corner + side, corner + side + 1)
        stiffness, gradients = generator.uniform(0.5, 2.0), [generator.uniform(-1.0, 1.0) for _ in nodes]
        for node, gradient in zip(nodes, gradients):
            for other, other_gradient in zip(nodes, gradients):
                entries[node, other] = entries.get((node, other), 0.0) + (stiffness * gradient) * other_gradient
    return entries


def symmetrized(entries):
    places = {*entries, *((column, row) for row, column in entries)}
    return {(row, column): (entries.get((row, column), 0.0) + entries.get((column, row), 0.0)) / 2 for row, column in sorted(places)}


def difference(entries, row, column):
    scale = math.sqrt(abs(entries[row, row])) * math.sqrt(abs(entries[column, column]))
    return abs(entries.get((row, column), 0.0) - entries.get((column, row), 0.0)) / scale


def largest_difference(entries):
    """Of all pairs, and the first pair with it, from 1."""
    pairs = sorted({(max(place), min(place)) for place in entries})
    row, column = max(pairs, key=lambda pair: difference(entries, *pair))
    return {"largest_difference": difference(entries, row, column), "row": row + 1, "column": column + 1}


class Symmetrize(SolveTest):
    SIDE = 9

    def setUp(self):
        self.n = self.SIDE**2
        self.entries = assembled(self.SIDE)
        self.matrix = self.write("A.mtx", self.entries)

    def write(self, name, entries):
        return self.file(name, matrix_text(self.n, entries, "general"))

    def solution(self, rank_count, *words):
        """The report, and x with the same bits from any number of ranks."""
        path = self.folder / "x.mtx"
        report = self.report_of(rank_count, *words, "--rhs", "random:3", "-o", path, "--reproducible", "--no-profile")
        return report, values_of(path)

    def expect_solved(self, matrix, entries, tolerance):
        """As the mean that is made here, bit for bit, from any number of ranks; with the true difference."""
        expected, expected_x = self.solution(1, self.write("mean.mtx", symmetrized(entries)))
        self.assertNotIn("symmetrization", expected["setup"])
        for rank_count in (1, 2, 3):
            with self.subTest(ranks=rank_count):
                report, x = self.solution(rank_count, matrix, "--symmetrize", tolerance)
                self.assertEqual(report["setup"]["symmetrization"], largest_difference(entries))
                self.assertEqual(report["system"]["symmetrize"], float(tolerance))
                self.assertEqual(x, expected_x)
                self.assertEqual(report["setup"]["nonzero_count"], expected["setup"]["nonzero_count"])

    def test_the_refusal_names_a_tolerance_that_helps(self):
        refusal = self.assert_refused(self.solve(2, self.matrix), BAD_DATA)
        largest = largest_difference(self.entries)["largest_difference"]
        line = rf"need equal ones; no pair differs by more than {largest:.3g} of sqrt\(a_ii a_jj\): --symmetrize (1e-\d+) of cg2d solve and convert takes the means$"
        self.assertRegex(refusal, line)
        self.expect_solved(self.matrix, self.entries, re.search(line, refusal)[1])

    def test_a_file_of_one_triangle_is_named_and_mirrored(self):
        mean = symmetrized(self.entries)
        expected, expected_x = self.solution(1, self.write("mean.mtx", mean))
        for triangle, other in (("lower", "upper"), ("upper", "lower")):
            entries = {(i, k): value for (i, k), value in mean.items() if (i >= k) == (triangle == "lower") or i == k}
            matrix = self.write(f"{triangle}.mtx", entries)
            hint = f"; its {other} triangle is empty: where the other one stands for both, --mirror of cg2d solve and convert mirrors it"
            for words in (("solve", matrix), ("solve", matrix, "--symmetrize", "0.9"), ("solve", matrix, "--cut", "random:2"),
                          ("convert", matrix, self.folder / "A.cg2d")):
                line = self.assert_refused(run_program(2, *words), BAD_DATA)
                self.assertTrue(line.endswith(hint), line)
            for rank_count in (1, 3):
                report, x = self.solution(rank_count, matrix, "--mirror")
                self.assertEqual((x, report["setup"]["nonzero_count"]), (expected_x, expected["setup"]["nonzero_count"]))
                self.assertTrue(report["system"]["mirrored"])
            binary = self.folder / f"{triangle}.cg2d"
            self.run_well(2, "convert", matrix, binary, "--mirror", "--scratch", self.folder)
            self.assertEqual(self.solution(2, binary)[1], expected_x)
        self.expect_line(
            BAD_DATA,
            f"{self.matrix}: found {sum(i > k for i, k in self.entries)} entries below the diagonal and "
            f"{sum(i < k for i, k in self.entries)} above it, expected one triangle, which --mirror mirrors; leave it out",
            "solve", self.matrix, "--mirror",
        )
