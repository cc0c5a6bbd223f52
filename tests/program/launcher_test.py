"""Ranks that the launcher of another MPI has started: one error instead of as many runs."""

import os

from program_runner import SUCCESS, UNAVAILABLE, ProgramTest, run_program

VARIABLES = (
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class ForeignLauncher(ProgramTest):
    def run_with(self, **variables):
        """One of the single ranks: MPI itself finds no launcher."""
        return run_program(0, "run", "--class", "S", "--no-profile", env={**os.environ, **variables})

    def run_as(self, rank_variable, size_variable, rank, size):
        return self.run_with(**{rank_variable: str(rank), size_variable: str(size)})

    def test_the_first_rank_says_it_and_the_others_are_silent(self):
        for variables in VARIABLES:
            first = self.run_as(*variables, 0, 4)
            self.assert_refused(first, UNAVAILABLE, "the launcher has started 4 ranks, but MPI knows one")
            self.assertEqual(first.stdout, "", first)
            other = self.run_as(*variables, 3, 4)
            self.assertEqual((other.exit_code, other.stdout, other.error_lines()), (UNAVAILABLE, "", []), other)

    def test_a_launcher_of_one_rank_may_be_any(self):
        for variables in VARIABLES[1:]:  # MPICH takes PMI_SIZE for its own launcher's
            self.ends_with(SUCCESS, self.run_as(*variables, 0, 1))

    def test_a_launcher_that_tells_no_number_of_ranks(self):
        """PMIx: neither the first rank nor another one runs by itself."""
        first = self.run_with(PMIX_RANK="0")
        self.assert_refused(first, UNAVAILABLE, "PMIX_RANK", "but MPI knows one")
        self.assertEqual(first.stdout, "", first)
        other = self.run_with(PMIX_RANK="2")
        self.assertEqual((other.exit_code, other.stdout, other.error_lines()), (UNAVAILABLE, "", []), other)
        # The MPI of one rank that its launcher has started is no stray.
        self.run_well(1, "run", "--class", "S", "--no-profile", env={**os.environ, "PMIX_RANK": "0"})

    def test_a_batch_step_runs(self):
        """Slurm starts the script with a rank, and with the number of tasks of the job: no task of a step."""
        self.ends_with(SUCCESS, self.run_with(SLURM_PROCID="0", SLURM_NTASKS="4", SLURM_JOB_ID="7"))

    def test_the_innermost_launcher_counts(self):
        """mpiexec -n 1 in each task of a step."""
        environment = {**os.environ, "SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"}
        self.assertEqual(run_program(1, "run", "--class", "S", "--no-profile", env=environment).exit_code, SUCCESS)

    def test_the_right_launcher_is_no_foreign_one(self):
        environment = {**os.environ, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
        self.run_well(2, "run", "--class", "S", "--no-profile", env=environment)
