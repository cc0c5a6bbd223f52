"""cg2d solve on generated systems that have no solution by CG: none is reported as converged, each end has its name."""

import math
import random
import unittest

from program_runner import BAD_DATA, NOT_CONVERGED, NOT_FINITE, NOT_POSITIVE_DEFINITE, SUCCESS
from solve_test import SolveTest, matrix_text

SYSTEM_COUNT = 250  # of each of the four kinds


def random_graph(generator, n):
    """A diagonally dominant matrix, so a positive definite one: the lower triangle, {(row, column): value}."""
    entries = {}
    for _ in range(3 * n):
        row, column = sorted((generator.randrange(n), generator.randrange(n)), reverse=True)
        if row != column:
            entries[row, column] = generator.uniform(-1.0, 1.0)
    sums = [10.0 ** generator.uniform(-2.0, 0.0) for _ in range(n)]
    for (row, column), value in entries.items():
        sums[row] += abs(value)
        sums[column] += abs(value)
    entries.update({(row, row): sums[row] for row in range(n)})
    return entries


def indefinite(generator, n, entries):
    """A 2 x 2 block of negative determinant, or a diagonal entry that is not positive."""
    row, column = generator.sample(range(n), 2)
    row, column = max(row, column), min(row, column)
    if generator.random() < 0.5:
        entries[row, column] = 2.0 * math.sqrt(entries[row, row] * entries[column, column])
    else:
        entries[row, row] = generator.choice((0.0, -1.0)) * entries[row, row]


def singular(generator, n, entries):
    """A graph's Laplacian: its kernel are vectors that are constant on each part of the graph."""
    for place in entries:
        entries[place] = -abs(entries[place])
    for row in range(n):
        entries[row, row] = 0.0
    for row in range(1, n):
        entries.setdefault((row, row - 1), -1.0)
    for (row, column), value in list(entries.items()):
        if row != column:
            entries[row, row] -= value
            entries[column, column] -= value


def damaged(generator, text):
    """A text that is no matrix: the damage is one that every reader must see."""
    banner, sizes, *lines = text.splitlines()
    n = int(sizes.split()[0])
    k = generator.randrange(len(lines))
    row, column, value = lines[k].split()
    damages = (
        lambda: lines.pop(k),
        lambda: lines.insert(k, lines[k]),
        lambda: lines.__setitem__(k, f"0 {column} {value}"),
        lambda: lines.__setitem__(k, f"{n + 1} {column} {value}"),
        lambda: lines.__setitem__(k, f"{row} {column}"),
        lambda: lines.__setitem__(k, f"{row} {column} {value}x"),
        lambda: lines.__setitem__(k, f"{row} {column} nan"),
        lambda: lines.__setitem__(k, f"{row} {column} 1e999"),
        lambda: lines.__setitem__(k, f"{row} {column} {value} 1"),
        lambda: lines.__setitem__(k, f"% {row} {column} {value}"),
        lambda: lines.__setitem__(k, f"1 2 {value}"),
    )
    generator.choice(damages)()
    return "\n".join([banner, sizes, *lines]) + "\n"


class Refused(SolveTest):
    """The numbers of ranks, preconditioners and forms of CG take turns."""

    def end_of(self, generator, number, path, codes):
        rank_count = (1, 1, 1, 2, 1, 1, 3)[number % 7]
        options = (
            "--preconditioner", generator.choice(("none", "jacobi", "block-jacobi", "chebyshev")),
            "--variant", generator.choice(("classic", "chronopoulos-gear", "pipelined")),
            "--rhs", f"random:{number}", "--max-iterations", "3000", "--grid", "rule",
        )  # fmt: skip
        outcome = self.solve(rank_count, path, *options, "--format", "json")
        self.assertNotEqual(outcome.exit_code, SUCCESS, (options, path.read_text()))
        self.assertIn(outcome.exit_code, codes, outcome)
        report = outcome.document()
        self.assertEqual(outcome.error_lines(), [f"cg2d: {report['reason']}"])
        self.assertEqual(report["exit_code"], outcome.exit_code)
        return report

    def systems(self, kind):
        for number in range(SYSTEM_COUNT):
            generator = random.Random(f"{kind} {number}")
            n = generator.randrange(4, 60)
            with self.subTest(kind=kind, number=number):
                yield generator, number, n, random_graph(generator, n)

    def test_indefinite(self):
        for generator, number, n, entries in self.systems("indefinite"):
            indefinite(generator, n, entries)
            report = self.end_of(generator, number, self.file("A.mtx", matrix_text(n, entries)), (NOT_POSITIVE_DEFINITE,))
            self.assertRegex(report["reason"], "not positive definite: ")

    def test_singular(self):
        # b has a part in the kernel: no x makes the residual small.
        for generator, number, n, entries in self.systems("singular"):
            singular(generator, n, entries)
            path = self.file("A.mtx", matrix_text(n, entries))
            report = self.end_of(generator, number, path, (NOT_POSITIVE_DEFINITE, NOT_CONVERGED, NOT_FINITE))
            self.assertNotEqual(report["result"] and report["result"]["end"], "converged")

    def test_unsymmetric(self):
        for generator, number, n, entries in self.systems("unsymmetric"):
            both = {**entries, **{(column, row): value for (row, column), value in entries.items()}}
            place = generator.choice([place for place in both if place[0] != place[1]])
            both[place] *= generator.choice((1.0 + 2.0**-52, -1.0, 0.0, 2.0))
            report = self.end_of(generator, number, self.file("A.mtx", matrix_text(n, both, "general")), (BAD_DATA,))
            low, high = sorted((place[0] + 1, place[1] + 1))
            self.assertIn(f"A.mtx: not symmetric: entry ({high}, {low}) is ", report["reason"])

    def test_malformed(self):
        for generator, number, n, entries in self.systems("malformed"):
            path = self.file("A.mtx", damaged(generator, matrix_text(n, entries)))
            self.assertRegex(self.end_of(generator, number, path, (BAD_DATA,))["reason"], rf"^{path}:\d+: found .*, expected ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
