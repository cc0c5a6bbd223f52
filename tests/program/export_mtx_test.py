"""--export-mtx: the matrix in the Matrix Market format, the same to the bit from every grid."""

import fractions
import math
import unittest

from program_runner import ProgramTest


class MatrixMarketFile:
    """A "coordinate real symmetric" file, parsed strictly. Entries: {(row, column): text of the value}, from 0."""

    def __init__(self, path):
        header, *rest = path.read_text().splitlines()
        assert header == "%%MatrixMarket matrix coordinate real symmetric", header
        body = [line for line in rest if not line.startswith("%")]
        self.comments = rest[: len(rest) - len(body)]
        assert all(line.startswith("%") for line in self.comments), "comments only in front"
        self.row_count, self.column_count, self.entry_count = map(int, body[0].split(" "))
        self.entries = {}
        for line in body[1:]:
            row, column, value = line.split(" ")
            assert (int(row) - 1, int(column) - 1) not in self.entries, line
            self.entries[int(row) - 1, int(column) - 1] = value

    def full(self):
        """Entries of both triangles."""
        for (row, column), value in self.entries.items():
            yield row, column, float(value)
            if row != column:
                yield column, row, float(value)


def matrix_by_definition(n, nonzer, shift):
    """The NAS CG matrix straight from its definition (npb-cg: sum of w_i v_i v_i^T + (rcond - shift) I), exact in all but
    the weights: {(row, column): value}, both triangles."""
    modulus, multiplier, seed = 2**46, 5**13, 314159265
    rcond = 0.1

    def draw():
        nonlocal seed
        seed = multiplier * seed % modulus
        return fractions.Fraction(seed, modulus)

    draw()
    power = 1
    while power < n:
        power *= 2
    matrix = {(k, k): fractions.Fraction(rcond) - fractions.Fraction(shift) for k in range(n)}
    for i in range(n):
        vector = {}
        while len(vector) < nonzer:
            value, position = draw(), int(draw() * power)
            if position < n and position not in vector:
                vector[position] = value
        vector[i] = fractions.Fraction(1, 2)
        weight = fractions.Fraction(rcond ** (i / n))
        for row, left in vector.items():
            for column, right in vector.items():
                matrix[row, column] = matrix.get((row, column), 0) + weight * left * right
    return {place: float(value) for place, value in matrix.items()}


class Export(ProgramTest):
    CLASS_S = ("--class", "S")
    TINY = ("--n", "7", "--nonzer", "3", "--niter", "1", "--shift", "2.5")

    def export(self, rank_count, grid, *problem):
        target = self.folder / f"{grid}.mtx"
        self.run_well(rank_count, "run", *problem, "--grid", grid, "--export-mtx", target)
        self.assertEqual([path.name for path in self.folder.glob(f"{grid}*")], [target.name])
        file = MatrixMarketFile(target)
        self.assertEqual(len(file.entries), file.entry_count)
        self.assertEqual(file.row_count, file.column_count)
        for row, column in file.entries:
            self.assertTrue(0 <= column <= row < file.row_count, "lower triangle only")
        return file

    def test_class_s_has_its_official_figures(self):
        file = self.export(1, "1x1", *self.CLASS_S)
        self.assertEqual(file.comments, ["% NAS CG class S: n 1400, nonzer 7, rcond 0.1, shift 10 (shift included)"])
        self.assertEqual(file.row_count, 1400)
        # 78148 nonzeros in both triangles, and all of the diagonal.
        self.assertEqual(file.entry_count, (78148 + 1400) // 2)
        values = [value for _, _, value in file.full()]
        self.assertEqual(len(values), 78148)
        # 1e-12: the facts come from another generator, which adds in another order.
        self.assert_close(math.fsum(values), -4796.559321013352, 1e-12)
        self.assert_close(math.sqrt(math.fsum(value * value for value in values)), 335.94017389091596, 1e-12)
        trace = math.fsum(value for row, column, value in file.full() if row == column)
        self.assert_close(trace, -12446.071917984282, 1e-12)
        self.assert_close(float(file.entries[0, 0]), -8.827405531242736, 1e-12)
        lengths = [0] * 1400
        for row, _, _ in file.full():
            lengths[row] += 1
        self.assertEqual((min(lengths), max(lengths)), (8, 127))

    def test_symmetric_storage_writes_the_whole_matrix(self):
        whole = self.export(1, "1x1", *self.CLASS_S, "--kernel", "scalar").entries
        for rank_count, grid in ((1, "1x1"), (4, "2x2")):
            self.assertEqual(self.export(rank_count, grid, *self.CLASS_S, "--kernel", "symmetric").entries, whole, grid)

    def test_a_tiny_matrix_is_the_one_of_the_definition(self):
        expected = matrix_by_definition(n=7, nonzer=3, shift=2.5)
        texts = []
        # 7 rows on 8 ranks: an empty piece.
        for rank_count, grid in ((1, "1x1"), (6, "3x2"), (8, "2x4")):
            with self.subTest(grid=grid):
                file = self.export(rank_count, grid, *self.TINY)
                actual = {(row, column): value for row, column, value in file.full()}
                self.assertEqual(sorted(actual), sorted(expected))
                for place, value in expected.items():
                    # A handful of products of up to 0.3 each, beside a diagonal of 2.4: absolute rounding errors.
                    self.assertAlmostEqual(actual[place], value, delta=1e-15 * 10, msg=str(place))
                texts.append(file.entries)
        self.assertTrue(all(entries == texts[0] for entries in texts))


if __name__ == "__main__":
    unittest.main(verbosity=2)
