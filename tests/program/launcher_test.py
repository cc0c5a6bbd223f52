"""Ranks that the launcher of another MPI has started: one error instead of as many runs."""

import os
import unittest

from program_runner import SUCCESS, UNAVAILABLE, ProgramTest, run_program

VARIABLES = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


class ForeignLauncher(ProgramTest):
    def run_as(self, rank_variable, size_variable, rank, size):
        """One of the single ranks: MPI itself finds no launcher."""
        environment = {**os.environ, rank_variable: str(rank), size_variable: str(size)}
        return run_program(0, "run", "--class", "S", "--no-profile", env=environment)

    def test_the_first_rank_says_it_and_the_others_are_silent(self):
        for variables in VARIABLES:
            first = self.run_as(*variables, 0, 4)
            self.assertEqual((first.exit_code, first.stdout), (UNAVAILABLE, ""), first)
            self.assertEqual(len(first.error_lines()), 1, first)
            self.assertIn("the launcher has started 4 ranks, but MPI knows one", first.stderr)
            other = self.run_as(*variables, 3, 4)
            self.assertEqual((other.exit_code, other.stdout, other.error_lines()), (UNAVAILABLE, "", []), other)

    def test_a_launcher_of_one_rank_may_be_any(self):
        outcome = self.run_as(*VARIABLES[1], 0, 1)
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)

    def test_the_right_launcher_is_no_foreign_one(self):
        environment = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
        outcome = run_program(2, "run", "--class", "S", "--no-profile", env=environment)
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)


if __name__ == "__main__":
    unittest.main()
