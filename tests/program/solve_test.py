"""cg2d solve: a user's own system, from files to a solution, on every grid; how it ends, always with a name."""

import gzip
import itertools
import math
import re

from program_runner import (
    BAD_DATA, CANNOT_CREATE, MEMORY, NOT_CONVERGED, NOT_POSITIVE_DEFINITE, SUCCESS, THOROUGH, USAGE, ProgramTest, bytes_of,
    factorizations, run_program, some_of,
)  # fmt: skip


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


def grids_of(*rank_counts):
    return [grid for rank_count in rank_counts for grid in factorizations(rank_count)]


def matrix_text(n, entries, symmetry="symmetric"):
    lines = [f"{row + 1} {column + 1} {value!r}" for (row, column), value in entries.items()]
    return "\n".join([f"%%MatrixMarket matrix coordinate real {symmetry}", f"{n} {n} {len(lines)}", *lines]) + "\n"


def columns_text(*columns):
    values = [repr(value) for column in columns for value in column]
    return "\n".join(["%%MatrixMarket matrix array real general", f"{len(columns[0])} {len(columns)}", *values]) + "\n"


def columns_of(path):
    header, *rest = path.read_text().splitlines()
    assert header == "%%MatrixMarket matrix array real general", header
    sizes, *values = [line for line in rest if not line.startswith("%")]
    row_count, column_count = map(int, sizes.split())
    assert len(values) == row_count * column_count, sizes
    return [list(map(float, values[k * row_count : (k + 1) * row_count])) for k in range(column_count)]


def values_of(path):
    (values,) = columns_of(path)
    return values


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

    def solve(self, rank_count, *arguments):
        return run_program(rank_count, "solve", *arguments)

    def expect_line(self, code, line, *words, rank_counts=()):
        """From any number of ranks."""
        for rank_count in rank_counts or self.RANK_COUNTS:
            self.assertEqual(self.assert_refused(run_program(rank_count, *words), code), f"cg2d: {line}", words)

    def report_of(self, rank_count, *arguments, code=SUCCESS):
        return self.valid_document_of(rank_count, "solve", *arguments, code=code)


class Solutions(SolveTest):
    SIDE = 12

    def setUp(self):
        self.entries = poisson(self.SIDE)
        self.n = self.SIDE**2
        self.matrix = self.file("A.mtx", matrix_text(self.n, self.entries))
        self.b = [math.sin(k) for k in range(self.n)]
        self.rhs = self.file("b.mtx", columns_text(self.b))
        self.x = self.folder / "x.mtx"

    def expect_solution(self, tolerance):
        norm = math.sqrt(math.fsum(value * value for value in self.b))
        # The program's own residual met the tolerance; another order of additions changes the last digits.
        self.assertLessEqual(residual_norm(self.entries, values_of(self.x), self.b), 1.001 * tolerance * norm)

    def test_a_residual_that_is_no_number_is_no_figure(self):
        b = self.file("huge.mtx", columns_text([1e300] * self.n))
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

    def test_the_same_iterations_from_any_spelling_of_the_matrix(self):
        plain = self.report_of(2, self.matrix, "--grid", "1x2")["result"]
        both = {**self.entries, **{(column, row): value for (row, column), value in self.entries.items()}}
        general = self.file("general.mtx", matrix_text(self.n, both, "general"))
        packed = self.file("A.mtx.gz", gzip.compress(self.matrix.read_bytes()))
        for path in (general, packed):
            with self.subTest(path=path.name):
                self.assertEqual(self.report_of(2, path, "--grid", "1x2")["result"]["history"], plain["history"], "the same bits")

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

    def test_text_says_the_end_and_has_the_phase_table(self):
        outcome = self.ends_with(SUCCESS, self.solve(2, self.matrix, "--monitor", "--verbose"))
        self.assertRegex(outcome.stdout, r"(?m)^ Result  converged after \d+ iterations: ")
        self.assertRegex(outcome.stdout, r"\n cut +=  *nonzeros\n")
        self.assertRegex(outcome.stdout, r"\n Spectrum +=  *smallest=\S+, largest=\S+, condition_number=\S+, predicted_iterations=")
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

    def test_vectors_in_files_keep_the_order_of_the_rows(self):
        text = "laplace3d:5x4x3"
        b = self.file("b.mtx", columns_text([math.sin(k) for k in range(60)]))
        _, expected = self.solution_of(1, text, "--assembled", "--rhs", b)
        for domain in ("4x1x1", "2x2x1", "1x2x2"):
            with self.subTest(domain=domain):
                guess = self.file("guess.mtx", columns_text(expected))
                _, values = self.solution_of(4, text, "--rhs", b, "--domain", domain)
                self.assert_near(values, expected, 2e-8)
                report = self.report_of(4, "--operator", text, "--rhs", b, "--domain", domain, "--x0", guess)
                self.assertEqual(report["result"]["iterations"], 0, "the solution is a perfect initial guess")

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
        b = self.file("b.mtx", columns_text([0.0] * 4))
        self.expect_end("zero_right_hand_side", SUCCESS, poisson(2), 4, "--rhs", b)

    def test_iteration_limit(self):
        self.expect_end(
            "step_limit", NOT_CONVERGED, poisson(9), 81, "--max-iterations", "3", "--rhs", "random:1",
            pattern="^iteration limit: after 3 iterations .* recomputed( \\(condition number: \\S+ or more, estimated\\))?; raise --max-iterations, or take a --preconditioner or a larger --rtol or --atol(; x is .*)?$",
        )

    def test_the_first_screen_says_that_it_is_not_solved(self):
        text = self.solve(1, self.file("A.mtx", matrix_text(81, poisson(9))), "--max-iterations", "3", "--rhs", "random:1").stdout
        self.assertRegex(text, r"(?m)^ Result  NOT CONVERGED: step limit after 3 iterations: relative residual \S+ \(true(, x is .*)?\), \S+ \(recurrence\); tolerance 1.00e-\d+$")

    def test_indefinite_with_a_positive_diagonal(self):
        self.expect_end(
            "not_positive_definite", NOT_POSITIVE_DEFINITE, {(0, 0): 1.0, (1, 0): 3.0, (1, 1): 1.0, (2, 2): 1.0}, 3,
            "--rhs", "random:3", pattern="^not positive definite: p . A p is -.* in iteration [123]; ",
        )


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
        return bytes_of(re.search(r"the run needs ([0-9.]+ [kM]B) there", outcome.stderr)[1])

    def test_a_solution_that_cannot_be_written_is_known_before_the_solve(self):
        self.ends_with(CANNOT_CREATE, self.solve(2, self.file("A.mtx", matrix_text(4, poisson(2))), "-o", self.folder / "no" / "x.mtx"))
