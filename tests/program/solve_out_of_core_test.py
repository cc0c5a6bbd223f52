"""cg2d solve --out-of-core: the bits of a solve in memory, files that the next solve takes, and every trouble with them."""

import functools
import re

from out_of_core_test import StreamingTest
from program_runner import MEMORY, bytes_of, process_bytes, run_program, some_of

RESULTS = ("iterations", "history", "residual_norm", "recursive_residual_norm", "spectrum", "end", "right_hand_sides")
SIDE = 44


@functools.cache
def mesh_text(side):
    """A matrix of 27 entries per row, with values that no source of the library has."""
    entries = []
    for z in range(side):
        for y in range(side):
            for x in range(side):
                row = x + side * (y + side * z)
                entries.append(f"{row + 1} {row + 1} {30 + row % 7 / 8}")
                for dz in (-1, 0):
                    for dy in (-1, 0, 1):
                        for dx in (-1, 0, 1):
                            step = dx + side * (dy + side * dz)
                            if step >= 0 or not (0 <= x + dx < side and 0 <= y + dy < side and 0 <= z + dz < side):
                                continue
                            entries.append(f"{row + 1} {row + step + 1} {-1 + (row + step) % 5 / 16}")
    header = f"%%MatrixMarket matrix coordinate real symmetric\n{side**3} {side**3} {len(entries)}\n"
    return header + "\n".join(entries) + "\n"


class SolveOutOfCoreTest(StreamingTest):
    command = ("solve",)

    def setUp(self):
        super().setUp()
        self.x = self.folder / "x.mtx"

    def document(self, rank_count, *arguments):
        return self.valid_document_of(rank_count, "solve", *arguments, "-o", self.x, "--no-profile")

    @staticmethod
    def figures_of(document):
        return document["result"]["history"]

    def converted(self, side=SIDE):
        """A binary file, and the text that it is made from."""
        text = self.folder / "A.mtx"
        binary = self.folder / "A.cg2d"
        text.write_text(mesh_text(side))
        self.run_well(2, "convert", text, binary)
        return binary, text

    def least_limit(self, rank_count, arguments):
        """The least --memory-limit that is not refused, but for some 0.1 MB: what refusals recommend is rounded up to three digits, and a MB more may
        be room for all panels. The process itself takes more with a sanitizer."""
        limits = [int(rank_count * (process_bytes(rank_count) + 3e6))]
        for _ in range(16):
            limit = str(limits.pop(0))
            outcome = run_program(rank_count, "solve", *arguments, "--no-profile", "--memory-limit", limit, "--out-of-core", self.store)
            if outcome.exit_code != MEMORY:
                break
            would_do = int(bytes_of(re.search(r"--memory-limit of ([\d.]+ [kMG]?B) would do", outcome.stderr)[1]))
            limits = limits or [would_do - less for less in (900_000, 600_000, 300_000, 0)]
        self.clear_store()
        return limit

    def expect_same(self, document, x, whole, whole_x):
        for key in RESULTS:
            self.assertEqual(document["result"].get(key), whole["result"].get(key), key)
        self.assertEqual(x, whole_x)
        self.assertEqual(document["setup"]["nonzero_count"], whole["setup"]["nonzero_count"])
        self.assertEqual(document["setup"]["balance"], whole["setup"]["balance"])
        self.assertEqual(*([rank["nonzeros"] for rank in one["setup"]["ranks"]] for one in (document, whole)))

    def expect_bits_of_memory(self, rank_count, arguments, *more):
        """Also from the files that the first solve has left. `more`: for the streamed ones alone."""
        whole = self.document(rank_count, *arguments)
        whole_x = self.x.read_text()
        documents = []
        for is_reused in (False, True):
            document = self.streamed(rank_count, *arguments, *more)
            self.expect_same(document, self.x.read_text(), whole, whole_x)
            self.assertEqual({rank["reused"] for rank in document["out_of_core"]["ranks"]}, {is_reused})
            documents.append(document)
        self.clear_store()
        return documents


class Converting(SolveOutOfCoreTest):
    def test_scratch_files_change_no_byte_and_leave_nothing(self):
        binary, text = self.converted(20)
        content = binary.read_bytes()
        scratch = [self.folder / "one", self.folder / "two"]
        for folder in scratch:
            folder.mkdir()
        for rank_count in (1, 3):
            self.run_well(rank_count, "convert", text, binary, "--scratch", ",".join(map(str, scratch)))
            self.assertEqual(binary.read_bytes(), content)
        self.assertEqual([list(folder.iterdir()) for folder in scratch], [[], []])


class Streaming(SolveOutOfCoreTest):
    def test_the_bits_are_those_of_a_solve_in_memory(self):
        binary, text = self.converted(12)
        npb = ("--operator", "npb:S", "--assembled", "--rtol", "1e-10")
        laplace = ("--operator", "laplace3d:20x20x20", "--assembled", "--rhs", "random:3")
        for source, rank_count, grid, kernel, options in (
            (npb, 1, "1x1", "sell", ()),
            (npb, 3, "3x1", "symmetric-distinct", ("--preconditioner", "jacobi")),
            (npb, 4, "2x2", "symmetric", ("--cut", "even")),
            (laplace, 2, "1x2", "symmetric", ("--preconditioner", "chebyshev")),
            (laplace, 4, "2x2", "sell", ("--variant", "pipelined")),
            ((binary,), 2, "2x1", "symmetric", ("--x0", "ones")),
            ((binary,), 2, "1x2", "symmetric-distinct", ("--preconditioner", "jacobi")),
            ((binary,), 3, "1x3", "sell", ("--cut", "even")),
        ):
            with self.subTest(source=source, grid=grid, kernel=kernel):
                self.expect_bits_of_memory(rank_count, (*source, "--grid", grid, "--kernel", kernel, *options))
        with self.subTest("the text in memory, the binary form streamed"):
            arguments = ("--grid", "2x2", "--kernel", "symmetric")
            whole = self.document(4, text, *arguments)
            whole_x = self.x.read_text().splitlines()[2:]  # without its name
            self.assertEqual(self.streamed(4, binary, *arguments)["result"]["history"], whole["result"]["history"])
            self.assertEqual(self.x.read_text().splitlines()[2:], whole_x)

    def test_little_memory_is_streamed_and_much_keeps_all(self):
        binary, _ = self.converted()
        large = ("--operator", "laplace3d:46x46x46:27", "--assembled", "--rtol", "1e-3")
        for source, grid in some_of(((large, "1x2"), (large, "2x1"), ((binary,), "2x1"), ((binary,), "1x2")), 4):
            with self.subTest(source=source, grid=grid):
                arguments = (*source, "--grid", grid, "--kernel", "sell")
                limit = self.least_limit(2, arguments)
                for document in self.expect_bits_of_memory(2, arguments, "--memory-limit", limit):
                    self.assertEqual(document["out_of_core"]["memory_limit_bytes"], int(limit))
                    for rank in document["out_of_core"]["ranks"]:
                        self.assertGreater(rank["panels"] - rank["resident_panels"], 0)
                        self.assertGreater(rank["buffers"], 1)
                        self.assertGreater(rank["read_bytes"], 0)
        much = self.streamed(2, *large, "--grid", "1x2")["out_of_core"]
        self.assertIsNone(much["memory_limit_bytes"])
        for rank in much["ranks"]:
            self.assertEqual((rank["buffers"], rank["read_bytes"], rank["resident_panels"]), (0, 0, rank["panels"]))

    def test_several_right_hand_sides_take_each_panel_once(self):
        binary, _ = self.converted(50)  # of smaller ones all panels fit where one was made
        for grid, count in some_of((("1x2", 8), ("2x1", 3)), 2):
            with self.subTest(grid=grid):
                arguments = (binary, "--grid", grid, "--rhs", "random:1", "--rhs-count", count, "--kernel", "symmetric")
                limit = self.least_limit(2, arguments)
                for document in self.expect_bits_of_memory(2, arguments, "--memory-limit", limit):
                    self.assertEqual(len(document["result"]["right_hand_sides"]), count)
                    for rank in document["out_of_core"]["ranks"]:
                        streamed = rank["panels"] - rank["resident_panels"]
                        self.assertGreater(streamed, 0)
                        # Iterations, and the residual that is recomputed, now and then once more.
                        self.assertLess(rank["products"], 2 * document["result"]["iterations"])
                        self.assertLessEqual(rank["read_bytes"], rank["products"] * rank["most_panel_bytes"] * streamed)

    def test_the_text_says_so(self):
        self.expect_text("--operator", "laplace2d:30x30", "--assembled")


class Trouble(SolveOutOfCoreTest):
    def test_damage_is_named_or_mended(self):
        binary, _ = self.converted(12)
        self.expect_damage_named_or_mended(binary, "--grid", "1x2")

    def test_another_matrix_under_the_same_name_is_written_anew(self):
        binary, text = self.converted(12)
        self.streamed(2, binary, "--grid", "1x2")
        text.write_text(mesh_text(12).replace(" 30.125\n", " 30.25\n", 1))
        self.run_well(2, "convert", text, binary)
        document = self.streamed(2, binary, "--grid", "1x2")
        self.assertEqual({rank["reused"] for rank in document["out_of_core"]["ranks"]}, {False})
        x = self.x.read_text()
        whole = self.document(2, binary, "--grid", "1x2", "--kernel", "symmetric")
        self.expect_same(document, x, whole, self.x.read_text())

    def test_a_file_that_fails_under_way_ends_the_solve_on_all_ranks(self):
        endless = ("--operator", "laplace3d:60x60x60:27", "--assembled", "--grid", "1x2", "--kernel", "sell", "--rtol", "0", "--rhs", "random:1")
        limit = self.least_limit(2, (*endless, "--max-iterations", "1"))
        self.expect_end_on_all_ranks(*endless, "--max-iterations", "1000000", "--memory-limit", limit, at=r"iteration \d+: residual")
