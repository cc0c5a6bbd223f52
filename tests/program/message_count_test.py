"""The messages column of cg2d run and cg2d solve is what MPI's profiling interface counts."""

import os

from program_runner import ProgramTest, run_program, some_of

COUNTER = os.environ.get("CG2D_MESSAGE_COUNTER", "")
# Every transport, as on one host; and with hosts pretended, where those that tell nodes apart send by MPI.
WAYS = (
    ("two-sided", ()),
    ("native", ()),
    ("shared", ()),
    ("shared", ("--ranks-per-node", "1")),
    ("shared", ("--ranks-per-node", "2")),
    ("put", ("--ranks-per-node", "1")),
)
# Full and half storage; reproducible sums have their own loops for a kernel that has them.
STORAGES = (("--kernel", "scalar"), ("--kernel", "scalar", "--reproducible"), ("--kernel", "symmetric"))
CASES = [("--transport", transport, *nodes, *storage) for transport, nodes in WAYS for storage in STORAGES]


class MessageCount(ProgramTest):
    def counted(self, rank_count, *arguments):
        """Of one run, on each rank: what MPI has seen, and the sum of the messages column."""
        environment = {**os.environ, "LD_PRELOAD": COUNTER, "CG2D_MESSAGE_COUNTS": self.folder}
        outcome = run_program(rank_count, *arguments, "--format", "json", env=environment)
        self.assertIn(outcome.exit_code, (0, 81, 82), outcome)
        seen = [int((self.folder / str(rank)).read_text()) for rank in range(rank_count)]
        ranks = outcome.document()["phases"]["ranks"]
        reported = [sum(phase["messages"] for phase in rank["phases"].values()) for rank in ranks]
        return seen, reported

    def expect_equal(self, rank_count, command, steps, *arguments):
        """Set-up and end send the same in runs of few and of many steps: the difference is what the steps send. But each 0.1 s
        the ranks of a solve ask each other, outside of all phases, whether a signal has come: where the machine is so busy that
        this happens between these steps, the solves are made again."""
        for _ in range(20):
            few, many = (self.counted(rank_count, *command, *arguments, *steps(count)) for count in (1, 3))
            seen, reported = ([m - f for m, f in zip(of_many, of_few)] for of_many, of_few in zip(many, few))
            if reported == seen or command[0] == "run":
                break
        self.assertEqual(reported, seen)

    def test_run(self):
        for rank_count, grid, step in ((2, "2x1", 11), (4, "2x2", 7)):
            for case in some_of(CASES, step):
                with self.subTest(ranks=rank_count, case=case):
                    self.expect_equal(rank_count, ("run", "--class", "S"), lambda count: ("--niter", count), "--grid", grid, *case)

    def test_solve(self):
        system = ("solve", "--operator", "laplace2d:12x10", "--assembled", "--rtol", "1e-300")
        for rank_count, grid, step in ((2, "2x1", 11), (4, "2x2", 7)):
            for case in some_of(reversed(CASES), step):
                with self.subTest(ranks=rank_count, case=case):
                    self.expect_equal(rank_count, system, lambda count: ("--max-iterations", count + 4), "--grid", grid, *case)
