"""Command lines that make no sense: one line that names the fault, the same exit code and line from all ranks, and no output."""

import pathlib
import shlex

from program_runner import THOROUGH, ProgramTest, run_program

MATRIX = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 2.0\n2 2 2.0\n"


def rows():
    """The rows of refused.txt: numbers of ranks, exit code, words, texts."""
    for line in pathlib.Path(__file__).with_name("refused.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            start, words, *texts = line.split(" | ")
            ranks, code = start.split()
            yield [int(rank) for rank in ranks.split(",")], int(code), shlex.split(words), texts


class RefusedTest(ProgramTest):
    def test_every_line(self):
        (self.folder / "A.mtx").write_text(MATRIX)
        self.run_well(0, "convert", "A.mtx", "A.cg2d", cwd=self.folder)
        for ranks, code, words, texts in rows():
            with self.subTest(words=words):
                outcomes = [run_program(count, *words, cwd=self.folder) for count in (*ranks, *((1, 3) if THOROUGH and len(ranks) > 1 else ()))]
                lines = {self.assert_refused(outcome, code, *texts) for outcome in outcomes}
                self.assertEqual(len(lines), 1, lines)
                self.assertTrue(lines.pop().startswith("cg2d: "))
                self.assertEqual("".join(outcome.stdout for outcome in outcomes), "")
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"A.mtx", "A.cg2d"})
