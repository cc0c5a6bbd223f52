"""--export-mtx: the matrix in the Matrix Market format, the same to the bit from every grid."""

import math

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
