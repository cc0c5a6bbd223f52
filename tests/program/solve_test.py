"""cg2d solve: a user's own system, from files to a solution, on every grid; how it ends, always with a name."""

import gzip
import itertools
import math
import re
import unittest

from program_runner import (
    BAD_DATA, CANNOT_CREATE, MEMORY, NOT_CONVERGED, NOT_FINITE, NOT_POSITIVE_DEFINITE, SUCCESS, THOROUGH, USAGE, ProgramTest,
    factorizations, run_program, some_of,
)  # fmt: skip

SYMMETRIC_BANNER = "%%MatrixMarket matrix coordinate real symmetric"


def poisson(side):
    """The 5-point Laplacian on side x side points: {(row, column): value}, lower triangle, from 0."""
    entries = {}
    for row in range(side * side):
        entries[row, row] = 4.0
        if row % side:
            entries[row, row - 1] = -1.0
        if row >= side:
            entries[row, row - side] = -1.0
    return entries


def mesh(side, unknowns):
    """Nodes on side x side points with the neighbours around them, and so many unknowns each: {(row, column): value}, lower triangle, from 0."""
    entries = {}
    for y, x, line, place in itertools.product(range(side), range(side), (-1, 0, 1), (-1, 0, 1)):
        if not (0 <= y + line < side and 0 <= x + place < side):
            continue
        for row, column in itertools.product(range(unknowns), repeat=2):
            row += unknowns * (y * side + x)
            column += unknowns * ((y + line) * side + x + place)
            if row >= column:
                entries[row, column] = 9.0 * unknowns if row == column else -0.5
    return entries


def grids_of(*rank_counts):
    return [grid for rank_count in rank_counts for grid in factorizations(rank_count)]


def matrix_text(n, entries, symmetry="symmetric"):
    lines = [f"{row + 1} {column + 1} {value!r}" for (row, column), value in entries.items()]
    return "\n".join([f"%%MatrixMarket matrix coordinate real {symmetry}", f"{n} {n} {len(lines)}", *lines]) + "\n"


def vector_text(values):
    return "\n".join(["%%MatrixMarket matrix array real general", f"{len(values)} 1", *map(repr, values)]) + "\n"


def values_of(path):
    header, *rest = path.read_text().splitlines()
    assert header == "%%MatrixMarket matrix array real general", header
    sizes, *values = [line for line in rest if not line.startswith("%")]
    assert sizes == f"{len(values)} 1", sizes
    return [float(value) for value in values]


def residual_norm(entries, x, b):
    """|| b - A x || for a lower triangle."""
    rest = list(b)
    for (row, column), value in entries.items():
        rest[row] -= value * x[column]
        if row != column:
            rest[column] -= value * x[row]
    return math.sqrt(math.fsum(value * value for value in rest))


class SolveTest(ProgramTest):
    RANK_COUNTS = (1, 2, 3) if THOROUGH else (1, 3)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def solve(self, rank_count, *arguments):
        return run_program(rank_count, "solve", *arguments)

    def expect_line(self, code, line, *words, rank_counts=()):
        """From any number of ranks."""
        for rank_count in rank_counts or self.RANK_COUNTS:
            self.assertEqual(self.assert_refused(run_program(rank_count, *words), code), f"cg2d: {line}", words)

    def report_of(self, rank_count, *arguments, code=SUCCESS):
        document = self.valid_document_of(rank_count, "solve", *arguments, code=code)
        self.assertEqual(document["exit_code"], code)
        return document


class Solutions(SolveTest):
    SIDE = 12

    def setUp(self):
        self.entries = poisson(self.SIDE)
        self.n = self.SIDE**2
        self.matrix = self.file("A.mtx", matrix_text(self.n, self.entries))
        self.b = [math.sin(k) for k in range(self.n)]
        self.rhs = self.file("b.mtx", vector_text(self.b))
        self.x = self.folder / "x.mtx"

    def expect_solution(self, tolerance):
        norm = math.sqrt(math.fsum(value * value for value in self.b))
        # The program's own residual met the tolerance; another order of additions changes the last digits.
        self.assertLessEqual(residual_norm(self.entries, values_of(self.x), self.b), 1.001 * tolerance * norm)

    def test_other_work_on_the_machine_is_watched(self):
        quiet = self.report_of(2, self.matrix)["quiet"]
        self.assertEqual(quiet["disturbed"], quiet["reason"] != "")
        self.assertRegex(self.solve(2, self.matrix).stdout, r"(?m)^ Quiet +(yes|no: timing unreliable|unknown: .* ms are too short to tell)")

    def test_a_residual_that_is_no_number_is_no_figure(self):
        b = self.file("huge.mtx", vector_text([1e300] * self.n))
        outcome = self.ends_with(NOT_CONVERGED, self.solve(2, self.matrix, "--rhs", b, "--verbose"))
        self.assertRegex(outcome.stdout, r"(?m)^ Result .*residual not finite")
        self.assertNotRegex(outcome.stdout, r"\bnan\b|residual (-?inf)")

    def test_x_solves_the_system_on_every_grid_cut_and_preconditioner(self):
        cases = itertools.product(
            grids_of(1, 2, 3, 4), ("nonzeros", "even", "random:7"), ("none", "jacobi", "block-jacobi", "chebyshev")
        )
        for (columns, rows), cut, name in some_of(cases, 5):
            with self.subTest(grid=f"{columns}x{rows}", cut=cut, preconditioner=name):
                report = self.report_of(
                    columns * rows, self.matrix, "--rhs", self.rhs, "-o", self.x, "--grid", f"{columns}x{rows}",
                    "--cut", cut, "--preconditioner", name, "--rtol", "1e-10"
                )
                self.assertEqual(report["result"]["end"], "converged")
                self.assertEqual(report["setup"]["nonzero_count"], 2 * len(self.entries) - self.n)
                self.expect_solution(1e-10)
                self.x.unlink()

    def test_kernels_transports_overlap_and_threads(self):
        for options in (
            ["--kernel", "symmetric"],
            ["--kernel", "sell"],
            ["--transport", "put"],
            ["--transport", "shared"],
            ["--overlap", "on"],
            ["--threads", "2"],
            ["--sum", "whole-block"],
        ):
            with self.subTest(options=options):
                self.report_of(4, self.matrix, "--rhs", self.rhs, "-o", self.x, "--grid", "2x2", *options)
                self.expect_solution(1e-8)

    def test_every_form_of_cg_solves_and_estimates_the_spectrum(self):
        # 5-point Laplacian: eigenvalues 4 - 2 cos(i h) - 2 cos(j h), h = pi / (side + 1).
        h = math.pi / (self.SIDE + 1)
        for variant in ("classic", "chronopoulos-gear", "pipelined"):
            with self.subTest(variant=variant):
                report = self.report_of(2, self.matrix, "--rhs", self.rhs, "-o", self.x, "--variant", variant, "--rtol", "1e-10")
                self.expect_solution(1e-10)
                self.assertEqual(report["system"]["variant"], variant)
                spectrum = report["result"]["spectrum"]
                self.assert_close(spectrum["smallest"], 4 - 4 * math.cos(h), 0.01)
                self.assert_close(spectrum["largest"], 4 + 4 * math.cos(h), 0.01)
                self.assertGreaterEqual(spectrum["predicted_iterations"], report["result"]["iterations"])

    def test_the_grid_is_found_by_trial(self):
        report = self.report_of(4, self.matrix)
        self.assertTrue(report["configuration"]["grid"]["automatic"])
        self.assertIn("trial", report["configuration"]["grid"])

    def test_dense_blocks_are_tried_where_nodes_have_several_unknowns(self):
        for side, unknowns, is_tried in ((45, 3, True), (120, 1, False)):
            with self.subTest(unknowns=unknowns):
                matrix = self.file(f"mesh{unknowns}.mtx", matrix_text(unknowns * side**2, mesh(side, unknowns)))
                trial = self.report_of(1, matrix, "--rtol", "1e-10")["configuration"]["kernel_trial"]
                tried = [one["kernel"] for one in trial["tried"]]
                self.assertIn("symmetric", tried)
                self.assertEqual("blocks" in tried, is_tried, trial)

    def test_the_same_iterations_from_any_spelling_of_the_matrix(self):
        plain = self.report_of(2, self.matrix, "--grid", "1x2")["result"]
        both = {**self.entries, **{(column, row): value for (row, column), value in self.entries.items()}}
        general = self.file("general.mtx", matrix_text(self.n, both, "general"))
        packed = self.file("A.mtx.gz", gzip.compress(self.matrix.read_bytes()))
        for path in (general, packed):
            with self.subTest(path=path.name):
                self.assertEqual(self.report_of(2, path, "--grid", "1x2")["result"]["history"], plain["history"], "the same bits")

    def test_the_default_right_hand_side_is_no_eigenvector(self):
        """As ones are of this matrix, of a graph's Laplacian, of elasticity: CG then takes one iteration, and shows nothing."""
        matrix = self.file("two.mtx", matrix_text(2, {(0, 0): 2.0, (1, 0): 1.0, (1, 1): 2.0}))
        for options, iterations in (((), 2), (("--rhs", "ones"), 1)):
            report = self.report_of(1, matrix, *options)
            self.assertEqual(report["system"]["right_hand_side"], "ones" if options else "random:1")
            self.assertEqual(report["result"]["iterations"], iterations)
        several = self.report_of(1, self.matrix, "--rhs-count", "2")["result"]["right_hand_sides"]
        self.assertNotEqual(several[0]["history"], several[1]["history"])

    def test_chebyshev_scales_by_the_diagonal_and_takes_a_degree_and_bounds(self):
        """The iterations are those of the matrix before its rows and columns were scaled, give or take what rounding moves."""
        scales = [10.0 ** (3 * math.sin(7 * k)) for k in range(self.n)]
        scaled = self.file("scaled.mtx", matrix_text(self.n, {(i, k): scales[i] * value * scales[k] for (i, k), value in self.entries.items()}))
        b = self.file("scaled_b.mtx", vector_text([scale * value for scale, value in zip(scales, self.b)]))
        for name, remark in (
            ("chebyshev", r"degree 6, for eigenvalues from \S+ to \S+ of the matrix over its diagonal"),
            ("chebyshev:4", r"degree 4, for eigenvalues from \S+ to \S+ of the matrix over its diagonal"),
            ("chebyshev:4:0.01:2", "degree 4, for eigenvalues from 0.01 to 2 of the matrix over its diagonal"),
        ):
            with self.subTest(name=name):
                counts = []
                for matrix, rhs in ((self.matrix, self.rhs), (scaled, b)):
                    report = self.report_of(2, matrix, "--rhs", rhs, "--preconditioner", name)
                    self.assertRegex(report["result"]["preconditioner_remark"], f"^{remark}$")
                    self.assertEqual(report["system"]["preconditioner"], name)
                    counts.append(report["result"]["iterations"])
                # Residuals are weighed in another way: with rtol 1e-8 some iterations more, by six decades of scales.
                self.assertLessEqual(counts[1], 2 * counts[0] + 2)

    def test_a_solve_that_fails_says_its_best_iterate_and_writes_it(self):
        """Scales over six decades: without a preconditioner residuals rise far above the first one."""
        scales = [10.0 ** (3 * math.sin(7 * k)) for k in range(self.n)]
        self.entries = {(i, k): scales[i] * value * scales[k] for (i, k), value in self.entries.items()}
        matrix = self.file("scaled.mtx", matrix_text(self.n, self.entries))
        for options in ((), ("--variant", "chronopoulos-gear"), ("--guard", "--kernel", "csr-simd")):
            with self.subTest(options=options):
                report = self.report_of(2, matrix, "--rhs", self.rhs, "--max-iterations", "250", "-o", self.x, *options, code=NOT_CONVERGED)
                result = report["result"]
                self.assertLess(result["solution_iteration"], result["iterations"])
                self.assertLess(result["residual_norm"], result["last_residual_norm"])
                self.assertLessEqual(result["residual_norm"], 2.001 * min(result["history"]))
                self.assert_close(residual_norm(self.entries, values_of(self.x), self.b), result["residual_norm"], 1e-6)
                self.assertRegex(report["reason"], r"; x is (the initial guess|that of iteration \d+), the best that was kept: \|\| b - A x \|\| is \S+, and \S+ after the last$")
                self.x.unlink()

    def test_an_initial_guess_is_used(self):
        first = self.report_of(2, self.matrix, "--rhs", self.rhs, "-o", self.x, "--rtol", "1e-9")["result"]
        again = self.report_of(2, self.matrix, "--rhs", self.rhs, "--x0", self.x, "--rtol", "1e-8")["result"]
        self.assertGreater(first["iterations"], 5)
        self.assertEqual(again["iterations"], 0)
        self.assertEqual(again["end"], "converged")

    def test_random_right_hand_sides_do_not_depend_on_the_grid(self):
        norms = set()
        for rank_count, grid in ((1, "1x1"), (3, "3x1"), (4, "2x2")):
            result = self.report_of(rank_count, self.matrix, "--rhs", "random:5", "--grid", grid)["result"]
            norms.add(round(result["right_hand_side_norm"], 12))
        self.assertEqual(len(norms), 1)
        # n numbers evenly spread over (-1, 1): about sqrt(n / 3), here within 20 %.
        self.assertAlmostEqual(norms.pop() / math.sqrt(self.n / 3), 1.0, delta=0.2)

    def test_the_history_begins_before_the_first_iteration(self):
        result = self.report_of(1, self.matrix)["result"]
        self.assertEqual(len(result["history"]), result["iterations"] + 1)
        self.assertEqual(result["history"][0], result["first_residual_norm"])
        self.assert_close(result["history"][-1], result["recursive_residual_norm"], 1e-15)

    def test_text_says_the_end_and_has_the_phase_table(self):
        outcome = self.ends_with(SUCCESS, self.solve(2, self.matrix, "--monitor", "--verbose"))
        self.assertRegex(outcome.stdout, r"(?m)^ 1 +converged +\d+ ")
        self.assertRegex(outcome.stdout, r"\n cut +=  *nonzeros\n")
        self.assertRegex(outcome.stdout, r"\n Balance +=  *largest=\d+, mean=[\d.]+, imbalance=")
        self.assertIn(" Phases: time per CG step", outcome.stdout)
        self.assertIn("cg2d: iteration 1: residual ", outcome.stderr)

    def test_six_lines_say_what_matters(self):
        lines = [line for line in self.solve(2, self.matrix, "--preconditioner", "jacobi").stdout.split("\n") if line][1:7]
        self.assertEqual([line.split()[0] for line in lines], ["Result", "Time", "Grid", "Kernel", "Limit", "Quiet"])
        self.assertRegex(lines[0], r"^ Result  converged after \d+ iterations?: relative residual \S+ \(true\), \S+ \(recurrence\); tolerance 1.00e-\d+$")
        self.assertRegex(lines[1], r"^ Time    \S+ s, [\d.]+ us per iteration; set-up \S+ s before$")
        self.assertRegex(lines[3], r"; classic CG, preconditioner jacobi$")
        self.assertRegex(lines[4], r"; multiply: [\d.]+ GB/s, [\d.]+ Gflop/s$")


class Operators(SolveTest):
    def solution_of(self, rank_count, text, *options):
        x = self.folder / "x.mtx"
        report = self.report_of(rank_count, "--operator", text, "--rtol", "1e-10", "-o", x, *options)
        values = values_of(x)
        x.unlink()
        return report, values

    def test_matrix_free_laplacians_solve_as_the_assembled_ones_on_every_cut(self):
        for text, cuts in (
            ("laplace2d:13x11", {1: ["1x1x1"], 2: ["2x1x1", "1x2x1"], 4: ["2x2x1", "4x1x1"]}),
            ("laplace3d:7x6x5", {3: ["3x1x1", "1x1x3"], 4: ["2x1x2"], 6: ["1x2x3"]}),
            ("laplace3d:5x6x7:27", {2: ["1x1x2"], 4: ["1x2x2"]}),
        ):
            rhs = ("--rhs", "random:9")
            assembled, expected = self.solution_of(2, text, "--assembled", *rhs)
            self.assertTrue(assembled["system"]["is_assembled"])
            # Both errors are at most the condition number, below 100, times rtol.
            for rank_count, domains in cuts.items():
                for domain in domains:
                    with self.subTest(text=text, domain=domain):
                        report, values = self.solution_of(rank_count, text, "--domain", domain, "--transport", "two-sided", *rhs)
                        self.assertEqual(report["configuration"]["matrix_free_arrangement"], f"domain {domain}")
                        self.assertLessEqual(abs(report["result"]["iterations"] - assembled["result"]["iterations"]), 1)
                        self.assert_near(values, expected, 2e-8)
                        phases = report["phases"]["ranks"][0]["phases"]
                        products = phases["interior"]["calls"]
                        # One per iteration, and one for the recomputed residual.
                        self.assertEqual(products, report["result"]["iterations"] + 1)
                        self.assertGreaterEqual(phases["boundary"]["calls"], products)
                        self.assertEqual(phases["multiply"]["calls"], 0)
                        self.assertEqual(phases["halo"]["messages"] > 0, rank_count > 1)

    def test_vectors_in_files_keep_the_order_of_the_rows(self):
        text = "laplace3d:5x4x3"
        b = self.file("b.mtx", vector_text([math.sin(k) for k in range(60)]))
        _, expected = self.solution_of(1, text, "--assembled", "--rhs", b)
        for domain in ("4x1x1", "2x2x1", "1x2x2"):
            with self.subTest(domain=domain):
                guess = self.file("guess.mtx", vector_text(expected))
                _, values = self.solution_of(4, text, "--rhs", b, "--domain", domain)
                self.assert_near(values, expected, 2e-8)
                report = self.report_of(4, "--operator", text, "--rhs", b, "--domain", domain, "--x0", guess)
                self.assertEqual(report["result"]["iterations"], 0, "the solution is a perfect initial guess")

    def test_preconditioners_and_variants_without_a_matrix(self):
        _, expected = self.solution_of(1, "laplace2d:20x20", "--assembled")
        for options in (
            ["--preconditioner", "jacobi"],
            ["--preconditioner", "chebyshev"],
            ["--variant", "pipelined"],
            ["--variant", "chronopoulos-gear"],
            ["--transport", "shared"],
            ["--threads", "2"],
        ):
            with self.subTest(options=options):
                _, values = self.solution_of(2, "laplace2d:20x20", *options)
                # The condition number is 178.
                self.assert_near(values, expected, 4e-8)

    def test_the_factored_matrix_is_labelled_everywhere(self):
        label = "this is no result of the benchmark: "
        assembled, expected = self.solution_of(2, "npb:S", "--assembled")
        self.assertTrue(assembled["warnings"][0].startswith(label))
        for rank_count, grid in ((1, "1x1"), (4, "2x2"), (6, "3x2")):
            with self.subTest(grid=grid):
                report, values = self.solution_of(rank_count, "npb-factored:S", "--grid", grid)
                self.assertEqual(report["warnings"], [label + "the matrix is applied as two sparse products, and never assembled"])
                self.assertEqual(report["configuration"]["matrix_free_arrangement"], f"grid {grid}")
                self.assert_near(values, expected, 1e-8)
        outcome = self.solve(2, "--operator", "npb-factored:S")
        self.assertIn(f" Warning: {label}the matrix is applied as two sparse products", outcome.stdout)

    def test_text_has_the_phases_of_the_operator(self):
        outcome = self.solve(2, "--operator", "laplace3d:9x8x7", "--verbose")
        self.assertRegex(outcome.stdout, r"\n Arrangement += domain [12]x[12]x[12]\n")
        self.assertRegex(outcome.stdout, r"\n Matrix += laplace3d:9x8x7\n Order += 504\n Nonzeros += 0\n")
        self.assertRegex(outcome.stdout, r"\n halo +.*\n interior +.*\n boundary +.*\n dot +.*\n vector_updates ")
        self.assertNotIn("\n multiply ", outcome.stdout)

    def test_refusals(self):
        matrix = self.file("A.mtx", matrix_text(4, poisson(2)))
        text = "laplace2d:9x9"
        for arguments, message in (
            ([], "cg2d solve takes a matrix: FILE, or --operator, and not both"),
            ([matrix, "--operator", text], "cg2d solve takes a matrix: FILE, or --operator, and not both"),
            ([matrix, "--assembled"], "--assembled: only with --operator"),
            ([matrix, "--domain", "1x1x1"], "--domain: only with --operator, and without --assembled"),
            (["--operator", text, "--domain", "2x1"], "--domain 2x1: must be three positive numbers, as in 1x2x4"),
            (["--operator", text, "--domain", "1x2x1"], "laplace2d:9x9: the cut 1x2x1 is of 2 ranks, there are 1"),
            (["--operator", text, "--grid", "1x1"], "--grid: laplace2d without a matrix has neither process columns nor a kernel"),
            (["--operator", text, "--kernel", "sell"], "--kernel: laplace2d without a matrix"),
            (["--operator", text, "--cut", "even"], "--cut: laplace2d without a matrix is cut into equal parts"),
            (["--operator", text, "--preconditioner", "block-jacobi"], "--preconditioner block-jacobi: needs the entries of a matrix; take --assembled"),
            (["--operator", "npb-factored:S", "--preconditioner", "jacobi"], "--preconditioner jacobi: the diagonal of npb-factored:S is not known"),
            (["--operator", "npb-factored:S", "--domain", "1x1x1"], "--domain: npb-factored is cut by --grid"),
            (["--operator", "npb:S"], "--operator npb:S: no such operator without a matrix; there are laplace2d:NXxNY, "),
            (["--operator", "npb-factored:S", "--assembled"], "--operator npb-factored:S: no such matrix; there are npb:CLASS, "),
            (["--operator", "laplace3d:3x3"], "--operator laplace3d:3x3: after 'laplace3d:' expected "),
        ):
            self.assertIn(f"cg2d: {message}", self.ends_with(USAGE, self.solve(1, *arguments)).stderr)

    def test_more_points_than_memory_are_refused(self):
        self.ends_with(MEMORY, self.solve(2, "--operator", "laplace3d:90000x90000x90000"))


class BinaryForm(SolveTest):
    def setUp(self):
        self.matrix = self.file("A.mtx", matrix_text(144, poisson(12)))
        self.cache = self.folder / "A.cg2d"

    def test_it_gives_the_same_bits_on_every_grid(self):
        caches = [self.folder / f"of{writers}.cg2d" for writers in (1, 3)]
        for writers, cache in zip((1, 3), caches):
            self.run_well(writers, "convert", self.matrix, cache)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.cg2d*")), ["of1.cg2d", "of3.cg2d"])
        for (columns, rows), cut in some_of(itertools.product(grids_of(1, 2, 4), ("nonzeros", "random:3")), 3):
            options = ("--grid", f"{columns}x{rows}", "--cut", cut, "--rhs", "random:1")
            text = self.report_of(columns * rows, self.matrix, *options)
            for cache in caches:
                with self.subTest(cache=cache.name, grid=f"{columns}x{rows}", cut=cut):
                    binary = self.report_of(columns * rows, cache, *options)
                    self.assertEqual(binary["result"]["history"], text["result"]["history"])
                    self.assertEqual(binary["setup"]["balance"], text["setup"]["balance"])

    def test_it_is_converted_back_with_all_digits(self):
        """Files and rows are told each time; a second binary file has the bytes of the first."""
        for rank_count in (1, 3):
            back, again = self.folder / "back.mtx", self.folder / "again.cg2d"
            for source, target in ((self.matrix, self.cache), (self.cache, back), (back, again)):
                outcome = self.run_well(rank_count, "convert", source, target)
                files = rf"{re.escape(str(source))} to {re.escape(str(target))}"
                self.assertRegex(outcome.stdout, rf"\A {files}: 144 rows, 672 nonzeros; read in \S+ s, written in \S+ s\n\Z")
            self.assertEqual(again.read_bytes(), self.cache.read_bytes())
        self.assert_refused(run_program(1, "convert", self.cache, self.folder / "back.mtx", "--scratch", self.folder), USAGE)

    def test_unsymmetric_matrices_are_not_converted(self):
        matrix = self.file("U.mtx", matrix_text(2, {(0, 0): 1.0, (1, 1): 1.0, (1, 0): 0.5}, "general"))
        self.assertEqual(
            self.ends_with(BAD_DATA, run_program(2, "convert", matrix, self.cache)).error_lines(),
            ["cg2d: U.mtx: not symmetric: entry (2, 1) is 0.5, entry (1, 2) is 0; conjugate gradients need equal ones; its upper triangle "
             "is empty: where the other one stands for both, --mirror of cg2d solve and convert mirrors it"],
        )
        self.assertFalse(self.cache.exists())

    def test_a_damaged_file_ends_with_one_line(self):
        self.run_well(1, "convert", self.matrix, self.cache)
        content = bytearray(self.cache.read_bytes())
        content[5000] ^= 1
        self.cache.write_bytes(content)
        outcome = self.ends_with(BAD_DATA, self.solve(3, self.cache))
        self.assertRegex("\n".join(outcome.error_lines()), r"^cg2d: .*A\.cg2d: found damaged data in bytes 4096 to \d+, expected .*$")


class Ends(SolveTest):
    def expect_end(self, end, code, entries, n, *options, pattern="^$"):
        matrix = self.file("A.mtx", matrix_text(n, entries))
        for rank_count in (1, 2, 3):
            with self.subTest(ranks=rank_count):
                report = self.report_of(rank_count, matrix, *options, code=code)
                self.assertEqual(report["result"]["end"], end)
                self.assertRegex(report["reason"], pattern)
                outcome = self.ends_with(code, self.solve(rank_count, matrix, *options))
                self.assertEqual(outcome.error_lines(), [f"cg2d: {report['reason']}"] if code else [])

    def test_right_hand_side_of_zeros(self):
        b = self.file("b.mtx", vector_text([0.0] * 4))
        self.expect_end("zero_right_hand_side", SUCCESS, poisson(2), 4, "--rhs", b)

    def test_iteration_limit(self):
        self.expect_end(
            "step_limit", NOT_CONVERGED, poisson(9), 81, "--max-iterations", "3", "--rhs", "random:1",
            pattern="^iteration limit: after 3 iterations .* recomputed( \\(condition number: \\S+ or more, estimated\\))?; raise --max-iterations, or take a --preconditioner or a larger --rtol or --atol(; x is .*)?$",
        )

    def test_the_first_screen_says_that_it_is_not_solved(self):
        text = self.solve(1, self.file("A.mtx", matrix_text(81, poisson(9))), "--max-iterations", "3", "--rhs", "random:1").stdout
        self.assertRegex(text, r"(?m)^ Result  NOT CONVERGED: step limit after 3 iterations: relative residual \S+ \(true(, x is .*)?\), \S+ \(recurrence\); tolerance 1.00e-\d+$")
        self.assertRegex(text, r"(?m)^ Spectrum \S+ to \S+, condition number at least \S+: if no more, at most \d+ iterations to tolerance 1.00e-08$")

    def test_stagnation_names_both_residuals(self):
        # Rounding alone leaves a residual of about 1e-16 of the product's terms.
        self.expect_end(
            "stagnated", NOT_CONVERGED, poisson(20), 400, "--rtol", "1e-18", "--rhs", "random:1", "--px", "1",
            pattern="^stagnated after .* by the recurrence and .* recomputed, which no further iterations improve; the tolerance is below .*: take a larger --rtol or --atol, or scale the matrix, as --preconditioner jacobi does(; x is .*)?$",
        )

    def test_indefinite_with_a_positive_diagonal(self):
        self.expect_end(
            "not_positive_definite", NOT_POSITIVE_DEFINITE, {(0, 0): 1.0, (1, 0): 3.0, (1, 1): 1.0, (2, 2): 1.0}, 3,
            "--rhs", "random:3", pattern="^not positive definite: p . A p is -.* in iteration [123]; ",
        )

    def test_singular_in_the_first_step(self):
        b = self.file("b.mtx", vector_text([1.0, -1.0]))
        self.expect_end(
            "stagnated", NOT_CONVERGED, {(0, 0): 1.0, (1, 0): 1.0, (1, 1): 1.0}, 2, "--rhs", b,
            pattern="in iteration 1, .*: the matrix is singular to double precision, and b has a part that no A x reaches: ",
        )

    def test_numbers_beyond_double_precision(self):
        self.expect_end(
            "stagnated", NOT_CONVERGED, {(0, 0): 1e308, (1, 0): 1e307, (1, 1): 1e308}, 2, "--rhs", "ones",
            pattern="^stagnated after 0 iterations: .* is inf .*leave the range of double precision, .*--preconditioner jacobi",
        )

    def test_magnitudes_that_jacobi_removes(self):
        entries = {(k, k): 10.0 ** (300 - 30 * k) for k in range(20)}
        self.expect_end(
            "stagnated", NOT_CONVERGED, entries, 20,
            pattern="^stagnated after .*condition number: .* estimated.*--preconditioner jacobi",
        )
        matrix = self.file("magnitudes.mtx", matrix_text(20, entries))
        for rank_count in (1, 3):
            self.assertEqual(self.report_of(rank_count, matrix, "--preconditioner", "jacobi")["result"]["end"], "converged")


class Refusals(SolveTest):
    def expect_refused(self, code, line, *arguments):
        self.expect_line(code, line, "solve", *arguments)
        self.assertEqual(self.report_of(2, *arguments, code=code)["reason"], line)

    def test_unsymmetric(self):
        matrix = self.file("A.mtx", matrix_text(3, {(0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0, (2, 0): 0.5, (0, 2): 0.25}, "general"))
        self.expect_refused(
            BAD_DATA,
            "A.mtx: not symmetric: entry (3, 1) is 0.5, entry (1, 3) is 0.25; conjugate gradients need equal ones",
            matrix,
        )

    def test_diagonal_that_is_not_positive(self):
        self.expect_refused(
            NOT_POSITIVE_DEFINITE,
            "A.mtx: not positive definite: the diagonal entry of row 2 is -2; it must be greater than 0 (if -A is meant, "
            "change the sign of A and b)",
            self.file("A.mtx", matrix_text(3, {(0, 0): 1.0, (1, 1): -2.0, (2, 2): 1.0})),
        )

    def test_sums_of_duplicates_that_overflow(self):
        lines = [SYMMETRIC_BANNER, "2 2 4", "1 1 1", "2 2 1.5e308", "2 2 1.5e308", "2 1 0.5"]
        matrix = self.file("A.mtx", "\n".join(lines) + "\n")
        line = (
            "A.mtx: not finite: the sum of the duplicates at entry (2, 2) is inf: it leaves the range of double precision; "
            "scale the matrix and b"
        )
        self.expect_refused(NOT_FINITE, line, matrix)
        self.expect_refused(NOT_FINITE, line, matrix, "--cut", "random:1")
        converted = self.folder / "A.cg2d"
        self.expect_line(NOT_FINITE, line, "convert", matrix, converted, rank_counts=(2,))
        self.assertFalse(converted.exists())

    def test_files_that_are_no_matrix_or_vector(self):
        matrix = self.file("A.mtx", matrix_text(4, poisson(2)))
        bad = self.file("bad.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 1 x\n")
        self.expect_refused(BAD_DATA, f'{bad}:3: found "x", expected a finite number', bad)
        vector = self.file("b.mtx", "%%MatrixMarket matrix array real general\n% a\n4 1\n1\n2\n3\nz\n")
        self.expect_refused(BAD_DATA, f'{vector}:7: found "z", expected a finite number', matrix, "--rhs", vector, "--rhs-count", 1)

    def test_options(self):
        matrix = self.file("A.mtx", matrix_text(4, poisson(2)))
        for arguments, message in (
            (["--preconditioner", "ilu"], "--preconditioner ilu: unknown; valid: "),
            (["--preconditioner", "chebyshev:5"], "--preconditioner chebyshev:5: degree 5 of a Chebyshev polynomial: must be 2, 4, 6 or 8"),
            (["--preconditioner", "jacobi:5"], "--preconditioner jacobi:5: takes no numbers"),
            (["--variant", "fast"], "--variant fast: unknown; valid: classic, chronopoulos-gear, pipelined"),
            (["--cut", "half"], "--cut half: unknown; valid: auto, nonzeros, even, speed, random:SEED, file:FILE"),
            (["--rhs", "random:x"], "--rhs random:x: the seed must be a whole number up to 18446744073709551615, as in random:1"),
            (["--rtol", "-1"], "--rtol -1: must not be negative"),
            (["--max-iterations", "0"], "--max-iterations 0: "),
            (["--grid", "3x3"], "--grid 3x3: "),
        ):
            self.assertIn(f"cg2d: {message}", self.ends_with(USAGE, self.solve(1, matrix, *arguments)).stderr)

    def test_the_memory_check_counts_the_preconditioner(self):
        # 400 rows, 1920 nonzeros: block-jacobi needs 88 bytes for each row and 36 for each nonzero, so 104 kB more.
        matrix = self.file("A.mtx", matrix_text(400, poisson(20)))
        needed = {name: self.needed_bytes(matrix, "--preconditioner", name) for name in ("none", "block-jacobi")}
        self.assertAlmostEqual(needed["block-jacobi"] - needed["none"], 88 * 400 + 36 * 1920, delta=1e4)

    def test_the_memory_check_counts_the_vectors_of_other_forms(self):
        matrix = self.file("A.mtx", matrix_text(10000, poisson(100)))
        needed = {variant: self.needed_bytes(matrix, "--variant", variant) for variant in ("classic", "pipelined")}
        self.assertAlmostEqual(needed["pipelined"] - needed["classic"], 8 * 8 * 10000, delta=2e5)

    def needed_bytes(self, matrix, *arguments):
        """Of three digits, as the refusal says it."""
        outcome = self.ends_with(MEMORY, self.solve(1, matrix, *arguments, "--memory-limit", "1kB"))
        number, unit = re.search(r"the run needs ([0-9.]+) (kB|MB) there", outcome.stderr).groups()
        return float(number) * {"kB": 1e3, "MB": 1e6}[unit]

    def test_a_solution_that_cannot_be_written_is_known_before_the_solve(self):
        self.ends_with(CANNOT_CREATE, self.solve(2, self.file("A.mtx", matrix_text(4, poisson(2))), "-o", self.folder / "no" / "x.mtx"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
