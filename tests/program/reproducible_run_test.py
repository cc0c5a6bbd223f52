"""--reproducible: the same figures from every grid, kernel and way to start, and what is refused."""

import unittest

from program_runner import USAGE, ProgramTest, run_program

RUN = ("run", "--class", "S", "--niter", "3", "--no-profile")
KERNELS = ("scalar", "csr-simd", "sell", "sell-rows")


class Reproducible(ProgramTest):
    def steps_with(self, rank_count, *arguments):
        """Zeta and residual of each outer iteration: JSON has all digits that tell doubles apart."""
        document = self.valid_document_of(rank_count, *RUN, *arguments)
        self.assertIs(document["configuration"]["reproducible"], True)
        return document["outer_steps"]

    def test_alone_it_is_on(self):
        expected = self.steps_with(0, "--reproducible")
        self.assertEqual(len(expected), 3)
        self.assertEqual(self.steps_with(4, "--reproducible", "--grid", "2x2"), expected)
        self.assertEqual(self.steps_with(2, "--reproducible", "on", "--grid", "2x1"), expected)
        self.assertEqual(self.steps_with(3, "--grid", "1x3", "--overlap", "--reproducible"), expected)
        self.assertIs(self.document_of(0, *RUN, "--reproducible", "off")["configuration"]["reproducible"], False)

    def test_every_kernel_with_the_form(self):
        expected = self.steps_with(0, "--reproducible", "--kernel", KERNELS[0])
        for kernel in KERNELS[1:]:
            self.assertEqual(self.steps_with(2, "--reproducible", "--kernel", kernel, "--grid", "2x1"), expected, kernel)

    def test_resumed_on_another_grid(self):
        state = self.folder / "state"
        expected = self.steps_with(2, "--reproducible", "--grid", "1x2", "--checkpoint", state, "--checkpoint-interval", "0s")
        for rank_count, grid in ((0, "1x1"), (4, "4x1")):
            self.assertEqual(self.steps_with(rank_count, "--reproducible", "--grid", grid, "--restart", state), expected, grid)

    def test_other_kernels_are_refused(self):
        for kernel in ("symmetric", "csr-short"):
            outcome = run_program(2, *RUN, "--reproducible", "--kernel", kernel)
            self.assert_refused(outcome, USAGE, f"the kernel {kernel} has no such form; valid: auto, {', '.join(KERNELS)}")

    def test_before_the_file_of_a_solve(self):
        path = self.folder / "a.mtx"
        n = 60
        entries = [(k, k, 2.5 + 1.0 / k) for k in range(1, n + 1)] + [(k + 1, k, -1.0 - 0.1 / k) for k in range(1, n)]
        lines = ["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {len(entries)}"]
        path.write_text("\n".join(lines + [f"{row} {column} {value!r}" for row, column, value in entries]) + "\n")
        solutions = []
        for rank_count, arguments in ((0, ()), (2, ("--grid", "2x1")), (2, ("--grid", "1x2", "--kernel", "sell"))):
            solution = self.folder / f"x{len(solutions)}.mtx"
            options = ("--rhs", "random:1", "--no-profile", "--preconditioner", "jacobi", "--solution", solution)
            self.run_well(rank_count, "solve", *arguments, *options, "--reproducible", path)
            solutions.append(solution.read_text())
        self.assertEqual(solutions[1:], solutions[:1] * 2)


if __name__ == "__main__":
    unittest.main()
