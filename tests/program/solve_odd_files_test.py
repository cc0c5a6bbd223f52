"""cg2d solve and convert with files that are no matrix or vector, odd ones that are, and outputs that cannot be: the right
code and one line, from any number of ranks."""

import gzip
import os
import stat

from program_runner import BAD_DATA, CANNOT_CREATE, CANNOT_WRITE, MPIEXEC, PROGRAM, THOROUGH, USAGE, run_command
from solve_test import SolveTest, columns_text

SYMMETRIC = "%%MatrixMarket matrix coordinate real symmetric\n"
ENTRIES = "1 1 2\n2 1 -1\n2 2 2\n"
MATRIX = SYMMETRIC + "2 2 3\n" + ENTRIES
BANNER_LINE = 'expected a line such as "%%MatrixMarket matrix coordinate real symmetric"'
PACKED = gzip.compress(MATRIX.encode(), mtime=0)

# A few kinds of faults: tests/matrix/malformed_files_test.cpp has every one. Name, content, message.
MALFORMED_MATRICES = (
    ("wrong banner", MATRIX[1:], f':1: found "{SYMMETRIC[1:41]}...", {BANNER_LINE}'),
    ("fewer entries", SYMMETRIC + "2 2 4\n" + ENTRIES, ":6: found the end of the file after 3 entries, expected the 4 that are announced"),
    ("index 0", MATRIX.replace("2 1 -1", "2 0 -1"), ':4: found "0", expected a column (1 to 2)'),
    ("not square", SYMMETRIC + "2 3 3\n" + ENTRIES, ":2: found 2 rows and 3 columns, expected a square matrix, since the file is symmetric"),
    ("binary junk", bytes(range(128, 256)), ':1: found "' + "".join(f"\\x{byte:02x}" for byte in range(128, 168)) + f'...", {BANNER_LINE}'),
    ("truncated gzip", PACKED[:-5], ": found a gzip file that ends too early, expected a whole one"),
    ("gzip with a tail", PACKED + b"\0" * 600, ": found damaged gzip data (incorrect header check), expected a whole gzip file"),
    ("gzip in gzip", gzip.compress(b"\x1f\x8b\x08\x00"), f':1: found "\\x1f\\x8b\\x08\\x00", {BANNER_LINE}'),
)  # fmt: skip


class OddFilesTest(SolveTest):
    RANK_COUNTS = (1, 3) if THOROUGH else (2,)


class Malformed(OddFilesTest):
    def test_matrices(self):
        for name, content, message in MALFORMED_MATRICES:
            with self.subTest(name):
                path = self.file("bad.mtx", content)
                self.expect_line(BAD_DATA, f"{path}{message}", "solve", path)
                self.expect_line(BAD_DATA, f"{path}{message}", "convert", path, self.folder / "A.cg2d", rank_counts=(2,))
                self.assertEqual([file.name for file in self.folder.iterdir()], ["bad.mtx"])

    def test_no_files_at_all(self):
        matrix = self.file("A.mtx", MATRIX)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path, found in (
            (self.folder / "none", "no such file"),
            (self.folder, "found a directory, expected a file"),
            (pipe, "found a pipe or a device, expected a file, which every rank can open"),
        ):
            for arguments in (["solve", path], ["solve", matrix, "--rhs", path], ["convert", path, self.folder / "A.cg2d"]):
                self.expect_line(BAD_DATA, f"{path}: {found}", *arguments)

    def test_ranks_that_find_different_files(self):
        for name, content in (("mine", MATRIX), ("other", MATRIX.replace("2 2 3\n", "3 3 3\n"))):
            (self.folder / name).mkdir()
            (self.folder / name / "A.mtx").write_text(content)
        words = [PROGRAM, "solve", "A.mtx"]
        parts = [["-n", str(count), "-wdir", self.folder / name, *words] for count, name in ((1, "mine"), (2, "other"))]
        line = self.assert_refused(run_command([MPIEXEC, *parts[0], ":", *parts[1]]), BAD_DATA)
        self.assertEqual(line, "cg2d: A.mtx: found another content on rank 1 than on rank 0, expected the same file on every node")


class Outputs(OddFilesTest):
    def setUp(self):
        self.matrix = self.file("A.mtx", MATRIX)

    def test_a_full_disk(self):
        line = "cannot write /dev/full: No space left on device"
        for option in ("--solution", "--output"):
            self.expect_line(CANNOT_WRITE, line, "solve", self.matrix, option, "/dev/full")

    def test_pipes_and_folders_are_not_replaced_by_a_cache(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        link = self.folder / "link"
        link.symlink_to(pipe)
        for target in (pipe, link, self.folder):
            self.expect_line(
                CANNOT_CREATE,
                f"cannot create {target}: it cannot be replaced (a folder, a pipe, a device, a mount point, or another user's file in a folder "
                "with the sticky bit); name another file",
                *("convert", self.matrix, target),
            )
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))

    def test_inputs_are_not_overwritten(self):
        b = self.file("b.mtx", columns_text([1.0, 2.0]))
        link = self.folder / "link"
        link.symlink_to(b)
        for arguments, pair in (
            (["solve", self.matrix, "-o", self.matrix], f"--solution and FILE name the same file, {self.matrix}"),
            (["solve", self.matrix, "--rhs", b, "-o", b], f"--solution and --rhs name the same file, {b}"),
            (["solve", self.matrix, "--rhs", b, "-o", link], f"--solution and --rhs name the same file, {link}"),
            (["solve", self.matrix, "--rhs", b, "--output", b], f"--output and --rhs name the same file, {b}"),
            (["solve", self.matrix, "--x0", b, "--output", b], f"--output and --x0 name the same file, {b}"),
            (["convert", self.matrix, self.matrix], f"TARGET and FILE name the same file, {self.matrix}"),
        ):
            self.expect_line(USAGE, f"{pair}: give each its own", *arguments)
        self.assertEqual(b.read_text(), columns_text([1.0, 2.0]))
        self.assertEqual(self.matrix.read_text(), MATRIX)
